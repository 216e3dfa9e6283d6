"""Every model of the mission's table at its published dimensions, planned as the engine plans it, without its weights.

Four layers show every kind a model has; the least device budget is that of its largest block, however many there are.
The whole depth, and layers really streamed within these budgets, are behind ``-m real_size``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import BudgetTooSmall
from engine.generation.context_size import DEFAULT_CONTEXT_TOKENS, cache_bytes
from engine.planning import planned_block_sizes, planned_expert_sizes
from engine.store.source_plan import plan_source
from engine.streaming.residency import BlockSize, Budgets, ExpertSizes, floor_bytes, plan_residency
from tests.helpers.published_models import MOST_BYTES, published_config, published_names, published_source

GB = 1_000_000_000


def test_every_published_config_has_its_budget() -> None:
    assert published_names() == sorted(MOST_BYTES)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MOST_BYTES))
def test_a_published_model_runs_in_its_budget(name: str, tmp_path: Path) -> None:
    blocks, experts = plan_blocks_of(name, tmp_path, layers=4)
    require_budget(name, blocks, experts)


@pytest.mark.real_size
@pytest.mark.parametrize("name", sorted(MOST_BYTES))
def test_a_published_model_runs_in_its_budget_at_full_depth(name: str, tmp_path: Path) -> None:
    whole, experts = plan_blocks_of(name, tmp_path / "whole")
    require_budget(name, whole, experts)
    few, few_experts = plan_blocks_of(name, tmp_path / "few", layers=4)
    spare = 16 << 20  # what always stays grows with the layers
    assert floor_bytes(few, few_experts, is_unified=False) <= floor_bytes(whole, experts, is_unified=False)
    assert (
        floor_bytes(whole, experts, is_unified=False) <= 1.01 * floor_bytes(few, few_experts, is_unified=False) + spare
    )


def plan_blocks_of(name: str, folder: Path, *, layers: int | None = None) -> tuple[list[BlockSize], ExpertSizes | None]:
    split = plan_source(published_source(published_config(name, layers=layers), folder), untied=frozenset())
    return planned_block_sizes(split), planned_expert_sizes(split)


def require_budget(name: str, blocks: list[BlockSize], experts: ExpertSizes | None) -> None:
    least = floor_bytes(blocks, experts, is_unified=False)
    cache = cache_bytes(published_config(name), DEFAULT_CONTEXT_TOKENS, 2)
    assert least + cache <= MOST_BYTES[name]
    host = 16 * GB
    plan = plan_residency(blocks, Budgets(least, host, cache), is_unified=False, experts=experts)
    assert plan.device_bytes + plan.slot_bytes <= least
    with pytest.raises(BudgetTooSmall):
        plan_residency(blocks, Budgets(least - 1, host, cache), is_unified=False, experts=experts)
