"""The room a split takes, simulated block by block."""

from __future__ import annotations

import pytest

from engine.store.disk_plan import BlockDemand, order_for_freeing, plan_disk

SHARDS = {"one": 100, "two": 100, "three": 100}
BLOCKS = [
    BlockDemand("embed", 40, frozenset({"one"})),
    BlockDemand("layer-000", 60, frozenset({"one"})),
    BlockDemand("layer-001", 60, frozenset({"one", "two"})),
    BlockDemand("layer-002", 60, frozenset({"two"})),
    BlockDemand("layer-003", 60, frozenset({"three"})),
    BlockDemand("norm", 1, frozenset({"three"})),
    BlockDemand("head", 19, frozenset({"three"})),
]
TOTAL = sum(block.nbytes for block in BLOCKS)


def test_without_deleting_the_peak_is_the_whole_split() -> None:
    plan = plan_disk(BLOCKS, SHARDS, delete_original=False, is_same_drive=True, other_bytes=7)
    assert (plan.first_bytes, plan.peak_bytes, plan.after_bytes) == (47, TOTAL + 7, TOTAL + 7)
    assert plan.order == tuple(block.name for block in BLOCKS)
    assert (plan.last_use, plan.freed_bytes) == ({}, 0)


def test_deleting_keeps_the_peak_near_one_shard() -> None:
    plan = plan_disk(BLOCKS, SHARDS, delete_original=True, is_same_drive=True)
    assert plan.peak_bytes <= max(SHARDS.values()) + max(block.nbytes for block in BLOCKS)
    assert plan.after_bytes == TOTAL - sum(SHARDS.values())
    assert plan.freed_bytes == 300
    assert sorted(plan.order) == sorted(block.name for block in BLOCKS)


def test_on_another_drive_nothing_is_freed_for_the_split() -> None:
    plan = plan_disk(BLOCKS, SHARDS, delete_original=True, is_same_drive=False)
    assert (plan.peak_bytes, plan.after_bytes, plan.freed_bytes) == (TOTAL, TOTAL, 300)


def test_a_shard_is_last_used_by_the_last_of_its_blocks() -> None:
    plan = plan_disk(BLOCKS, SHARDS, delete_original=True, is_same_drive=True)
    users = {shard: {b.name for b in BLOCKS if shard in b.shards} for shard in SHARDS}
    for block, shards in plan.last_use.items():
        for shard in shards:
            done = plan.order[: plan.order.index(block) + 1]
            assert users[shard] <= set(done)
    assert sorted(shard for shards in plan.last_use.values() for shard in shards) == sorted(SHARDS)


def test_shards_that_are_gone_already_free_nothing() -> None:
    plan = plan_disk(BLOCKS[4:], {"three": 100}, delete_original=True, is_same_drive=True)
    assert plan.freed_bytes == 100


def test_blocks_of_the_cheapest_shard_come_first() -> None:
    assert [block.name for block in order_for_freeing(BLOCKS)][:3] == ["layer-003", "norm", "head"]


@pytest.mark.parametrize("delete_original", [True, False])
def test_nothing_left_to_cut_needs_no_room(delete_original: bool) -> None:
    plan = plan_disk([], SHARDS, delete_original=delete_original, is_same_drive=True)
    assert (plan.first_bytes, plan.peak_bytes, plan.order) == (0, 0, ())
