"""The residency plan: budgets are kept, filled, and spent where they save most."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from engine.errors import BudgetTooSmall
from engine.streaming.hit_rate import expected_hit_rate
from engine.streaming.prediction import EXPANSION_COST, Speeds, predict_pass_s
from engine.streaming.residency import BlockSize, Budgets, ExpertSizes, ResidencyPlan, Role, Tier, plan_residency

GB = 10**9


def llama_like(layers: int = 80, layer: int = 1711, head: int = 2101) -> list[BlockSize]:
    return [
        BlockSize("embed", Role.LOOKUP, head),
        *(BlockSize(f"layer-{i:03d}", Role.ONCE, layer, is_layer=True) for i in range(layers)),
        BlockSize("norm", Role.ALWAYS, 1),
        BlockSize("head", Role.ONCE, head),
    ]


def in_tier(plan: ResidencyPlan, tier: Tier) -> list[str]:
    return [name for name, where in plan.tiers if where is tier]


def random_model(rng: random.Random) -> list[BlockSize]:
    blocks = [BlockSize("norm", Role.ALWAYS, rng.randrange(1, 50))]
    blocks += [BlockSize("embed", rng.choice([Role.LOOKUP, Role.ONCE]), rng.randrange(100, 4000))]
    blocks += [
        BlockSize(f"layer-{i:03d}", Role.ONCE, rng.choice([rng.randrange(500, 700), 1000]), is_layer=True)
        for i in range(rng.randrange(1, 40))
    ]
    blocks += [BlockSize(f"tower-{i:03d}", Role.TOWER, rng.randrange(50, 900)) for i in range(rng.choice([0, 0, 3]))]
    return [*blocks, BlockSize("head", Role.ONCE, rng.randrange(100, 4000))]


@pytest.mark.parametrize("seed", range(40))
def test_no_plan_exceeds_its_budgets(seed: int) -> None:
    rng = random.Random(seed)
    blocks = random_model(rng)
    total = sum(block.nbytes for block in blocks)
    for is_unified in (True, False):
        budgets = Budgets(rng.randrange(1, total * 2), 0 if is_unified else rng.randrange(1, total * 2))
        try:
            plan = plan_residency(blocks, budgets, is_unified=is_unified)
        except BudgetTooSmall:
            continue
        host_slots = sum(
            slots.nbytes * count for slots, count in zip(plan.device_slots, plan.host_slot_counts, strict=True)
        )
        assert plan.device_bytes + plan.slot_bytes <= budgets.device_bytes
        assert plan.host_bytes + host_slots <= budgets.host_bytes or is_unified


@pytest.mark.parametrize("seed", range(40))
def test_every_streamed_block_has_a_slot_it_fits_into(seed: int) -> None:
    rng = random.Random(seed)
    blocks = random_model(rng)
    total = sum(block.nbytes for block in blocks)
    sizes = {block.name: block for block in blocks}
    for share, is_unified in itertools.product((0.3, 0.5, 0.9), (True, False)):
        try:
            plan = plan_residency(blocks, Budgets(int(total * share), total), is_unified=is_unified)
        except BudgetTooSmall:
            continue
        slot_of = {name: slots for slots in plan.device_slots for name in slots.blocks}
        away = {name for name, tier in plan.tiers if tier is not Tier.DEVICE and sizes[name].role.is_whole}
        assert set(slot_of) == away
        assert all(sizes[name].nbytes <= slots.nbytes for name, slots in slot_of.items())
        assert all(slots.count >= 1 for slots in plan.device_slots)


def test_what_is_needed_all_the_time_always_stays() -> None:
    blocks = llama_like()
    plan = plan_residency(blocks, Budgets(4000, 0), is_unified=True)
    assert plan.tier("norm") is Tier.DEVICE


def test_a_model_that_fits_stays_whole_without_slots() -> None:
    blocks = llama_like()
    plan = plan_residency(blocks, Budgets(sum(block.nbytes for block in blocks), 0), is_unified=True)
    assert in_tier(plan, Tier.DISK) == []
    assert plan.slot_bytes == plan.streamed_bytes == 0


def test_a_budget_well_above_the_slots_is_filled_to_eighty_percent() -> None:
    blocks = llama_like()
    for budget in range(10_000, 140_000, 7_000):
        plan = plan_residency(blocks, Budgets(budget, 0), is_unified=True)
        assert plan.device_bytes + plan.slot_bytes >= 0.8 * budget


def test_resident_layers_are_spread_evenly_over_the_depth() -> None:
    plan = plan_residency(llama_like(), Budgets(60_000, 0), is_unified=True)
    kept = [int(name[6:]) for name in in_tier(plan, Tier.DEVICE) if name.startswith("layer")]
    gaps = [later - earlier for earlier, later in itertools.pairwise(kept)]
    assert len(kept) == 30
    assert max(gaps) - min(gaps) <= 1


def test_a_lookup_table_is_kept_last_because_rows_cost_almost_nothing() -> None:
    blocks = llama_like()
    whole = sum(block.nbytes for block in blocks)
    plan = plan_residency(blocks, Budgets(whole - 1, 0), is_unified=True)
    assert in_tier(plan, Tier.DISK) == ["embed"]
    assert plan.streamed_bytes == 0


def test_a_head_far_larger_than_a_layer_does_not_enlarge_every_slot() -> None:
    plan = plan_residency(llama_like(layer=1000, head=5000), Budgets(9_000, 0), is_unified=True)
    assert max(slots.nbytes for slots in plan.device_slots) == 1000
    assert plan.tier("head") is Tier.DEVICE


def test_seventy_billion_parameters_run_in_four_gigabytes() -> None:
    layer, head = 1_711_300_608, 2_101_346_304
    plan = plan_residency(llama_like(80, layer, head), Budgets(4 * GB, 8 * GB), is_unified=False)
    assert plan.device_bytes + plan.slot_bytes <= 4 * GB
    assert plan.host_slot_counts


def test_a_budget_below_one_block_is_refused_with_both_numbers() -> None:
    with pytest.raises(BudgetTooSmall) as caught:
        plan_residency(llama_like(), Budgets(2101, 0), is_unified=True)
    assert (caught.value.need, caught.value.have) == (2102, 2101)


def test_one_block_at_a_time_is_enough() -> None:
    plan = plan_residency(llama_like(), Budgets(2102, 0), is_unified=True)
    assert [slots.count for slots in plan.device_slots] == [1]


def test_host_memory_holds_what_the_device_cannot() -> None:
    blocks = llama_like()
    plan = plan_residency(blocks, Budgets(20_000, 1_000_000), is_unified=False)
    assert in_tier(plan, Tier.DISK) == []
    assert plan.streamed_bytes == 0
    assert plan.copied_bytes == sum(b.nbytes for b in blocks if plan.tier(b.name) is Tier.HOST and b.role is Role.ONCE)


def test_the_slowest_of_disk_bus_and_memory_decides_the_prediction() -> None:
    plan = plan_residency(llama_like(), Budgets(20_000, 10_000), is_unified=False)
    assert predict_pass_s(plan, Speeds(disk=1, memory=1e9, bus=1e9)) == plan.streamed_bytes
    assert predict_pass_s(plan, Speeds(disk=1e9, memory=1e9, bus=1)) == plan.copied_bytes
    assert predict_pass_s(plan, Speeds(disk=1e9, memory=1, bus=1e9)) == plan.used_bytes


@pytest.mark.parametrize("share", [0.15, 0.25, 0.4, 0.6, 0.8])
def test_layers_of_unequal_size_leave_no_room_that_another_one_would_fit_into(share: float) -> None:
    sizes = [1000 if index % 2 else 100 for index in range(32)]
    blocks = [BlockSize("norm", Role.ALWAYS, 1)]
    blocks += [BlockSize(f"layer-{i:03d}", Role.ONCE, size, is_layer=True) for i, size in enumerate(sizes)]
    budget = int(sum(sizes) * share) + 3000
    plan = plan_residency(blocks, Budgets(budget, 0), is_unified=True)
    left = budget - plan.device_bytes - plan.slot_bytes
    streamed = [block.nbytes for block in blocks if plan.tier(block.name) is Tier.DISK]
    assert left < min(streamed)
    assert plan.device_bytes + plan.slot_bytes >= 0.8 * budget


@pytest.mark.parametrize("seed", range(60))
def test_what_is_left_of_a_budget_holds_no_streamed_layer(seed: int) -> None:
    rng = random.Random(seed)
    blocks = random_model(rng)
    budget = int(sum(block.nbytes for block in blocks) * rng.uniform(0.3, 0.95))
    try:
        plan = plan_residency(blocks, Budgets(budget, 0), is_unified=True)
    except BudgetTooSmall:
        return
    if plan.slot_bytes == 0 or max(slots.count for slots in plan.device_slots) < 3:
        return  # so little room that the number of slots gave way first
    left = budget - plan.device_bytes - plan.slot_bytes
    streamed = [block.nbytes for block in blocks if block.is_layer and plan.tier(block.name) is Tier.DISK]
    assert all(nbytes > left for nbytes in streamed)


# Experts

QWEN3_30B = ExpertSizes(slot_nbytes=9_437_184, count=48 * 128, floor_slots=8, routed_slots=48 * 8)


def moe_like(layers: int = 48, layer: int = 40 * 10**6) -> list[BlockSize]:
    return llama_like(layers, layer, 622 * 10**6)


@pytest.mark.parametrize("seed", range(40))
def test_the_expert_cache_takes_what_blocks_leave_and_never_more(seed: int) -> None:
    rng = random.Random(seed)
    blocks = random_model(rng)
    scratch = rng.choice((0, rng.randrange(1, 2000)))
    experts = ExpertSizes(rng.randrange(1, 300), rng.randrange(8, 400), 8, rng.randrange(8, 80), scratch)
    every = sum(block.nbytes for block in blocks) + experts.count * experts.slot_nbytes
    for is_unified in (True, False):
        budgets = Budgets(rng.randrange(1, every * 2), 0 if is_unified else rng.randrange(1, every * 2))
        try:
            plan = plan_residency(blocks, budgets, is_unified=is_unified, experts=experts)
        except BudgetTooSmall:
            continue
        assert plan.experts is not None
        assert 8 <= plan.experts.count <= experts.count
        assert plan.slot_bytes >= 8 * experts.slot_nbytes + scratch
        assert plan.device_bytes + plan.slot_bytes <= budgets.device_bytes
        staging = plan.experts.host * experts.slot_nbytes
        host_slots = sum(s.nbytes * n for s, n in zip(plan.device_slots, plan.host_slot_counts, strict=True))
        assert plan.host_bytes + host_slots + staging <= budgets.host_bytes or is_unified
        assert (plan.experts.host == 0) == is_unified
        left = budgets.device_bytes - plan.device_bytes - plan.slot_bytes
        assert left < experts.slot_nbytes or plan.experts.count == experts.count
        host_left = budgets.host_bytes - plan.host_bytes - host_slots - staging
        if plan.experts.count == experts.count:
            assert plan.experts.host <= experts.floor_slots
        else:
            assert is_unified or host_left < experts.slot_nbytes or plan.experts.host == experts.count


def test_blocks_that_every_pass_uses_come_before_any_more_experts_than_one_token_needs() -> None:
    blocks = moe_like()
    once = sum(block.nbytes for block in blocks if block.role is not Role.LOOKUP)
    floor = QWEN3_30B.floor_slots * QWEN3_30B.slot_nbytes
    plan = plan_residency(blocks, Budgets(once + floor, 0), is_unified=True, experts=QWEN3_30B)
    assert in_tier(plan, Tier.DISK) == ["embed"]
    assert plan.experts is not None
    assert plan.experts.count == 8
    less = plan_residency(blocks, Budgets(once + floor - 1, 0), is_unified=True, experts=QWEN3_30B)
    assert less.experts is not None
    assert less.experts.count >= 8
    assert less.streamed_bytes > 0


def test_experts_the_card_has_no_room_for_are_read_once_where_main_memory_has() -> None:
    blocks = moe_like()
    every = QWEN3_30B.count * QWEN3_30B.slot_nbytes
    plan = plan_residency(blocks, Budgets(4 * GB, every + 2 * GB), is_unified=False, experts=QWEN3_30B)
    assert plan.experts is not None
    assert plan.experts.host == QWEN3_30B.count
    assert plan.read_bytes == 0
    speeds = Speeds(disk=1, memory=300 * GB, bus=12 * GB)
    hits = expected_hit_rate(plan.experts.count / QWEN3_30B.count)
    assert predict_pass_s(plan, speeds) >= 384 * 9_437_184 * (1 - hits) / (12 * GB)
    assert predict_pass_s(plan, speeds) < 1


def test_what_the_card_holds_whole_does_not_stay_in_main_memory_too() -> None:
    plan = plan_residency(moe_like(), Budgets(100 * GB, 100 * GB), is_unified=False, experts=QWEN3_30B)
    assert plan.experts is not None
    assert plan.experts.count == QWEN3_30B.count
    assert 1 <= plan.experts.host <= QWEN3_30B.floor_slots


def test_with_room_for_everything_everything_stays() -> None:
    blocks = moe_like()
    every = sum(block.nbytes for block in blocks) + QWEN3_30B.count * QWEN3_30B.slot_nbytes
    plan = plan_residency(blocks, Budgets(every, 0), is_unified=True, experts=QWEN3_30B)
    assert in_tier(plan, Tier.DISK) == []
    assert plan.experts is not None
    assert plan.experts.count == QWEN3_30B.count
    speeds = Speeds(disk=2 * GB, memory=30 * GB)
    once = sum(block.nbytes for block in blocks if block.role is Role.ONCE)
    assert predict_pass_s(plan, speeds) == pytest.approx((once + 384 * 9_437_184) / (30 * GB))


def test_what_a_product_takes_beyond_its_bytes_is_in_the_prediction() -> None:
    blocks = moe_like()
    plan = plan_residency(blocks, Budgets(100 * GB, 0), is_unified=True, experts=QWEN3_30B)
    speeds = Speeds(disk=2 * GB, memory=30 * GB)
    more = predict_pass_s(plan, replace(speeds, product_s=1e-4)) - predict_pass_s(plan, speeds)
    assert more == pytest.approx((48 * 7 + 384 * 2) * 1e-4)


def test_experts_that_arrive_overlap_with_computing_experts_only() -> None:
    blocks = moe_like()
    once = sum(block.nbytes for block in blocks if block.role is Role.ONCE)
    plan = plan_residency(blocks, Budgets(once + 2 * GB, 0), is_unified=True, experts=QWEN3_30B)
    speeds = Speeds(disk=2 * GB, memory=30 * GB)
    routed = 384 * 9_437_184
    assert plan.streamed_bytes == 0
    assert predict_pass_s(plan, speeds, lambda _: 0.0) == pytest.approx(once / (30 * GB) + routed / (2 * GB))
    assert predict_pass_s(plan, speeds, lambda _: 1.0) == pytest.approx((once + routed) / (30 * GB))


def test_the_expected_hit_rate_follows_the_published_points() -> None:
    assert expected_hit_rate(0.11) == pytest.approx(0.59)
    assert expected_hit_rate(0.165) == pytest.approx((0.59 + 0.74) / 2)
    assert (expected_hit_rate(0), expected_hit_rate(1)) == (0, 1)


def test_thirty_billion_run_in_two_gigabytes() -> None:
    budget = 2 * GB + 500_000_000
    plan = plan_residency(moe_like(), Budgets(budget, GB), is_unified=False, experts=QWEN3_30B)
    assert plan.device_bytes + plan.slot_bytes <= budget
    assert plan.experts is not None
    assert plan.experts.count >= 8


def with_tower(blocks: list[BlockSize], *, count: int = 20, nbytes: int = 40) -> list[BlockSize]:
    return [*blocks, *(BlockSize(f"tower-{i:03d}", Role.TOWER, nbytes) for i in range(count))]


def test_a_tower_passes_through_the_slots_of_layers_and_costs_a_token_nothing() -> None:
    without = plan_residency(llama_like(), Budgets(30_000, 0), is_unified=True)
    plan = plan_residency(with_tower(llama_like(), nbytes=1700), Budgets(30_000, 0), is_unified=True)
    assert [name for name in in_tier(plan, Tier.DEVICE) if name.startswith("tower")] == []
    assert (plan.streamed_bytes, plan.used_bytes) == (without.streamed_bytes, without.used_bytes)
    assert plan.slot_bytes == without.slot_bytes
    (slots,) = plan.device_slots
    assert slots.blocks >= {f"tower-{i:03d}" for i in range(20)}


def test_a_tower_stays_once_all_layers_do() -> None:
    blocks = with_tower(llama_like(layers=4), count=3)
    plan = plan_residency(blocks, Budgets(4 * 1711 + 2101 + 1 + 3 * 40, 0), is_unified=True)
    assert set(in_tier(plan, Tier.DISK)) == {"embed"}


def test_a_cached_expert_comes_before_a_tower() -> None:
    blocks = with_tower(llama_like(layers=4), count=20)
    experts = ExpertSizes(slot_nbytes=10, count=1000, floor_slots=4, routed_slots=16)
    used = 4 * 1711 + 2101 + 1
    plan = plan_residency(blocks, Budgets(used + 2 * 40 + 900, 0), is_unified=True, experts=experts)
    assert [tier for name, tier in plan.tiers if name.startswith("tower")] == [Tier.DISK] * 20
    assert plan.experts is not None
    assert plan.experts.count == 90


def test_what_packed_experts_cost_to_expand_is_in_the_prediction() -> None:
    plain = ExpertSizes(slot_nbytes=4096, count=64, floor_slots=4, routed_slots=32)
    packed = replace(plain, scratch_nbytes=32768, expanded_nbytes=16384)
    speeds = Speeds(disk=1e12, memory=1e6)
    blocks = [BlockSize("norm", Role.ONCE, 4096)]
    quick, slow = (
        predict_pass_s(plan_residency(blocks, Budgets(1 << 20, 0), is_unified=True, experts=sizes), speeds)
        for sizes in (plain, packed)
    )
    assert slow - quick == pytest.approx(32 * EXPANSION_COST * 16384 / 1e6)
