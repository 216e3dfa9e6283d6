"""The device budgets are real: layers at the dimensions of the largest models, streamed on a device that has no more.

One in the middle always; all of them with ``-m real_size``, which writes up to 16 GB at a time and takes some minutes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from engine.backends.simulated import SimulatedBackend
from engine.generation.context_size import DEFAULT_CONTEXT_TOKENS, cache_bytes
from engine.store.manifest import read_manifest
from engine.store.source_plan import plan_source
from engine.streaming.block_roles import block_sizes, expert_sizes
from engine.streaming.residency import Budgets, floor_bytes
from tests.helpers.published_models import MOST_BYTES, published_config, published_source
from tests.helpers.random_splits import write_random_split
from tests.helpers.splits import load, streamed_outputs

EXPERTS_KEPT = 32
"""Of each layer, which is more than one token uses and less than a disk minds."""


@pytest.mark.slow
def test_a_layer_of_qwen3_30b_streams_within_its_budget(tmp_path: Path) -> None:
    config = published_config("Qwen3-30B-A3B", layers=1) | {"num_experts": 16, "vocab_size": 32_768}
    stream_within_budget("Qwen3-30B-A3B", config, tmp_path)


@pytest.mark.real_size
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", sorted(MOST_BYTES))
def test_layers_of_a_published_model_stream_within_its_budget(name: str, tmp_path: Path) -> None:
    layers = {"DeepSeek-V3": 4, "Qwen3.8-27B": 4, "Qwen3.8-Flash-Next": 4, "Kimi-K3": 2}.get(name, 1)
    config = published_config(name, layers=layers)
    text = config.get("text_config", config)
    for key in ("num_experts", "n_routed_experts", "num_local_experts"):
        if key in text:
            text[key] = min(text[key], EXPERTS_KEPT)
    if "ngram_vocab_size_base" in text:
        text["ngram_vocab_size_base"] = 10_000  # a table of 100 GB is never in memory anyway
    stream_within_budget(name, config, tmp_path)


def stream_within_budget(name: str, config: dict[str, Any], folder: Path) -> None:
    """Prefill and two tokens on a device of exactly the least budget; the table's budget holds it and the cache."""
    plan = plan_source(published_source(config, folder / "published"), untied=frozenset())
    split = write_random_split(plan, folder / "split")
    manifest = read_manifest(split)
    blocks, experts = block_sizes(manifest), expert_sizes(manifest.experts)
    least = floor_bytes(blocks, experts, is_unified=False)
    assert least + cache_bytes(published_config(name), DEFAULT_CONTEXT_TOKENS, 2) <= MOST_BYTES[name]
    backend = SimulatedBackend(least)
    largest = max(block.nbytes for block in blocks)
    loaded = load(split, backend, Budgets(least, min(2 * largest, 4 << 30) + (1 << 30)))
    try:
        logits, tokens = streamed_outputs(loaded, [3, 5, 7, 11], 2)
        slots = loaded.plan.slot_bytes
    finally:
        loaded.close()
    assert bool(torch.isfinite(logits).all())
    assert len(tokens) == 2
    assert slots <= backend.peak_bytes <= least
