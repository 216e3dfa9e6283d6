"""Which expert makes room: the policy alone, with numbers for experts."""

from __future__ import annotations

import random

import pytest

from engine.streaming.expert_cache import ExpertCache, ExpertKey


def fetch(cache: ExpertCache, key: ExpertKey) -> bool:
    """One use, as a layer makes it; whether it was a hit."""
    cache.use(key)
    if cache.slot_of(key) is not None:
        return True
    assert cache.claim(key, pinned={key}) is not None
    return False


def test_free_slots_are_filled_before_anything_goes() -> None:
    cache = ExpertCache(3)
    slots = {cache.claim((0, expert), pinned=()) for expert in range(3)}
    assert slots == {0, 1, 2}
    assert all(cache.slot_of((0, expert)) is not None for expert in range(3))


def test_what_is_used_often_outlives_what_was_used_once_and_later() -> None:
    cache = ExpertCache(2)
    for _ in range(5):
        cache.begin_pass()
        fetch(cache, (0, 0))
    for stranger in range(1, 5):
        cache.begin_pass()
        fetch(cache, (0, stranger))
    assert cache.slot_of((0, 0)) is not None


def test_what_was_used_often_long_ago_goes() -> None:
    cache = ExpertCache(2, half_life=2)
    for _ in range(5):
        cache.begin_pass()
        fetch(cache, (0, 0))
    for _ in range(30):
        cache.begin_pass()
    for fresh in (1, 2):
        cache.begin_pass()
        fetch(cache, (0, fresh))
    assert cache.slot_of((0, 0)) is None
    assert cache.slot_of((0, 1)) is not None


def test_of_equals_the_least_recent_goes() -> None:
    cache = ExpertCache(2)
    for expert in (0, 1, 2):
        cache.begin_pass()
        fetch(cache, (0, expert))
    assert [cache.slot_of((0, expert)) is not None for expert in range(3)] == [False, True, True]


def test_pinned_experts_stay_and_there_may_be_no_room() -> None:
    cache = ExpertCache(2)
    fetch(cache, (0, 0))
    fetch(cache, (0, 1))
    assert cache.claim((0, 2), pinned={(0, 0), (0, 1)}) is None
    kept = cache.slot_of((0, 0))
    assert cache.claim((0, 2), pinned={(0, 0)}) is not None
    assert cache.slot_of((0, 0)) == kept
    assert cache.slot_of((0, 1)) is None


def test_uses_are_remembered_while_an_expert_is_away() -> None:
    cache = ExpertCache(2)
    for _ in range(8):
        cache.begin_pass()
        fetch(cache, (0, 0))
    cache.drop((0, 0))
    for expert in (0, 1, 2):
        cache.begin_pass()
        fetch(cache, (0, expert))
    assert cache.slot_of((0, 0)) is not None


def test_a_dropped_expert_leaves_a_free_slot() -> None:
    cache = ExpertCache(1)
    fetch(cache, (0, 0))
    cache.drop((0, 0))
    assert len(cache) == 0
    assert cache.claim((0, 1), pinned=()) == 0


def test_no_two_experts_ever_share_a_slot_and_no_slot_is_lost() -> None:
    rng = random.Random(0)
    cache = ExpertCache(7)
    for _ in range(3000):
        cache.begin_pass()
        key = (rng.randrange(3), rng.randrange(8))
        if rng.random() < 0.05:
            cache.drop(key)
        else:
            fetch(cache, key)
        held = [slot for layer in range(3) for e in range(8) if (slot := cache.slot_of((layer, e))) is not None]
        assert len(held) == len(set(held)) == len(cache) <= 7
    assert len(cache) == 7


def test_a_few_favourites_among_many_are_mostly_hits() -> None:
    """Zipf-like routing, a cache of 22 %: published policies get 74 %, and always missing would be 0."""
    rng = random.Random(1)
    cache = ExpertCache(28)
    weights = [1 / (rank + 1) for rank in range(128)]
    hits = uses = 0
    for number in range(2000):
        cache.begin_pass()
        for expert in set(rng.choices(range(128), weights, k=4)):
            is_hit = fetch(cache, (0, expert))
            hits += is_hit and number > 200
            uses += number > 200
    assert hits / uses > 0.6


def test_what_was_used_often_before_stays_longer_in_the_next_run() -> None:
    before = ExpertCache(4)
    for _ in range(20):
        before.begin_pass()
        before.use((0, 1))
    before.use((0, 2))
    after = ExpertCache(2)
    after.restore(before.uses())
    assert after.uses() == pytest.approx(before.uses())
    after.begin_pass()
    for key in ((0, 1), (0, 2), (0, 3)):
        after.use(key)
        after.claim(key, pinned={key})
    assert after.slot_of((0, 1)) is not None
    assert after.slot_of((0, 2)) is None


def test_the_share_of_the_most_used_is_what_a_cache_of_that_size_would_hit() -> None:
    cache = ExpertCache(2)
    assert cache.most_used_share(2) is None
    for key, uses in {(0, 0): 6, (0, 1): 3, (0, 2): 2}.items():
        for _ in range(uses):
            cache.use(key)
    assert cache.most_used_share(2) == pytest.approx(9 / 11)
    assert cache.most_used_share(3) == 1


def test_experts_seen_only_once_say_that_others_are_to_come() -> None:
    cache = ExpertCache(8)
    for expert in range(8):
        cache.use((0, expert))
    assert cache.most_used_share(8) == 0
    for _ in range(12):
        cache.use((0, 0))
    assert cache.most_used_share(8) == pytest.approx(1 - 7 / 20)
