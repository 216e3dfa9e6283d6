"""A head larger than a device slot comes in ranges of its rows: the same bits, within the budget of a layer."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from itertools import accumulate
from pathlib import Path

import pytest
import torch
from torch.nn import functional

from engine.backends.simulated import SimulatedBackend
from engine.errors import BudgetTooSmall
from engine.store.manifest import read_manifest
from engine.store.model_store import ModelStore
from engine.streaming.block_roles import block_sizes
from engine.streaming.ranged_weight import RangedWeight
from engine.streaming.residency import BlockSize, Budgets, Role, Tier, floor_bytes, plan_residency
from engine.streaming.row_ranges import PAGE_BYTES, ROWS_TOGETHER, divide_rows
from tests.helpers.checkpoints import cut, make_checkpoint
from tests.helpers.families import plain_outputs
from tests.helpers.splits import PROMPT, load, streamed_outputs

MB = 1 << 20


@pytest.mark.parametrize(("family", "is_tied"), [("llama", False), ("qwen3", True)])
@pytest.mark.parametrize("spare_layers", [0, 1, 2])
def test_a_large_head_streams_in_ranges_bit_for_bit(
    family: str, is_tied: bool, spare_layers: int, tmp_path: Path
) -> None:
    checkpoint = make_checkpoint(family, tmp_path / "tiny", vocab_size=2000)
    split = Path(cut(checkpoint, ModelStore(tmp_path / "data")).path)
    sizes = block_sizes(read_manifest(split))
    layer = max(block.nbytes for block in sizes if block.is_layer)
    head = next(block for block in sizes if block.rows)
    assert head.name == ("embed" if is_tied else "head")
    budget = floor_bytes(sizes, is_unified=False) + spare_layers * layer
    assert budget < head.nbytes
    backend = SimulatedBackend(budget)
    loaded = load(split, backend, Budgets(budget, 4 * layer))
    try:
        assert len(loaded.plan.ranges) > 2
        logits, tokens = streamed_outputs(loaded, PROMPT, 8)
        read = loaded.streamer.bytes_moved()
    finally:
        loaded.close()
    plain = plain_outputs(checkpoint, PROMPT, 8)
    assert torch.equal(logits, plain.logits)
    assert tuple(tokens) == plain.token_ids
    assert backend.peak_bytes <= budget
    once = [block for block in read_manifest(split).blocks if block.kind == "layer" or block.name == head.name]
    looked_up = sum(len(set(ids)) for ids in (PROMPT, PROMPT, *([token] for token in tokens[:-1])))
    used = 9 * sum(block.data_nbytes for block in once)
    assert used <= read.device + read.host + read.disk <= used + looked_up * head.row_nbytes


def test_a_bias_is_rounded_once() -> None:
    torch.manual_seed(0)
    states, whole, bias = (torch.randn(shape, dtype=torch.bfloat16) for shape in ((5, 64), (96, 64), (96,)))
    ranges = [partial(nullcontext, rows) for rows in whole.split(32)]
    weight = RangedWeight.of("head.weight", whole.to("meta"), torch.device("cpu")).served_by(ranges)
    assert torch.equal(functional.linear(states, weight, bias), functional.linear(states, whole, bias))


def test_the_processor_gets_its_head_whole() -> None:
    blocks = model(head=8 * MB)
    with pytest.raises(BudgetTooSmall):
        plan_residency(blocks, Budgets(4 * MB, 0), is_unified=True)
    assert floor_bytes(blocks, is_unified=True) == 8 * MB
    assert floor_bytes(blocks, is_unified=False) == MB


def test_a_head_that_leaves_room_to_read_ahead_is_not_divided() -> None:
    blocks = model(head=8 * MB)
    assert plan_residency(blocks, Budgets(12 * MB, 1 << 30), is_unified=False).ranges == ()
    divided = plan_residency(blocks, Budgets(3 * MB, 1 << 30), is_unified=False)
    assert divided.fewest_slots >= 2
    assert {name for name, _ in divided.tiers} == {"layer-0", "layer-1", *(rows.name for rows in divided.ranges)}


def test_some_ranges_stay_where_not_all_can() -> None:
    blocks = [*model(head=8 * MB), *(BlockSize(f"layer-{n}", Role.ONCE, MB, is_layer=True) for n in range(2, 40))]
    plan = plan_residency(blocks, Budgets(6 * MB, 3 * MB), is_unified=False)
    tiers = {plan.tier(rows.name) for rows in plan.ranges}
    assert tiers == {Tier.DEVICE, Tier.DISK}


@pytest.mark.parametrize("row_nbytes", [128, 1000, 5120, 14336])
def test_ranges_cover_all_rows_and_start_at_pages(row_nbytes: int) -> None:
    rows = 50_257
    ranges = divide_rows("head", rows, row_nbytes, 2 * MB)
    assert [each.first_row for each in ranges] == [0, *accumulate(each.row_count for each in ranges)][:-1]
    assert sum(each.row_count for each in ranges) == rows
    assert all(each.first_row * row_nbytes % PAGE_BYTES == 0 for each in ranges)
    assert all(each.row_count % ROWS_TOGETHER == 0 for each in ranges[:-1])
    assert all(each.nbytes <= max(2 * MB, PAGE_BYTES * row_nbytes) for each in ranges)
    assert divide_rows("head", ROWS_TOGETHER, row_nbytes, 2 * MB) == ()


def model(head: int) -> list[BlockSize]:
    layers = [BlockSize(f"layer-{n}", Role.ONCE, MB, is_layer=True) for n in range(2)]
    return [*layers, BlockSize("head", Role.ONCE, head, rows=head // 1024, row_nbytes=1024)]
