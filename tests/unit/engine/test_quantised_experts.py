"""Checkpoints with packed weights: packed in their records, expanded when used, the bits of plain transformers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from engine.backends.simulated import SimulatedBackend
from engine.backends.torch_backend import CpuBackend
from engine.errors import BudgetTooSmall, DamagedFile, UnsupportedModel
from engine.store.manifest import Manifest, manifest_from_json, read_manifest
from engine.store.open_source import open_source
from engine.store.source_plan import plan_source
from engine.store.verifier import verify
from engine.streaming.block_roles import WORKSPACE_BYTES, block_sizes, expert_sizes
from engine.streaming.residency import Budgets, ExpertSizes, Role
from engine.weights.packed import Expander, expanded
from tests.helpers.checkpoints import files_of, stored_tensors
from tests.helpers.families import PlainOutputs, make_checkpoint, plain_outputs
from tests.helpers.quantised_checkpoints import (
    load_expanded,
    make_compressed,
    make_fp8,
    make_mxfp4,
    pack_fp8,
    quantise,
)
from tests.helpers.splits import PROMPT, cut, load, streamed_outputs

MAKERS: Mapping[str, Callable[[Path], Path]] = {
    "fp8": make_fp8,
    "mxfp4": make_mxfp4,
    "compressed int4": partial(make_compressed, kind="int4"),
    "compressed mxfp4": partial(make_compressed, kind="mxfp4", family="qwen3_moe"),
    "compressed fp8": partial(make_compressed, kind="fp8", family="mixtral"),
}
NEW_TOKENS = 16


class Cut:
    """One checkpoint, its split, and what plain transformers says once it has expanded everything."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.checkpoint = MAKERS[kind](folder / "checkpoint")
        self.split = cut(self.checkpoint, folder)
        self.plain: PlainOutputs = plain_outputs(self.checkpoint, PROMPT, NEW_TOKENS, load=load_expanded)
        self.manifest: Manifest = read_manifest(self.split)
        sizes = expert_sizes(self.manifest.experts)
        assert sizes is not None
        self.sizes: ExpertSizes = sizes
        self.blocks = sum(block.nbytes for block in block_sizes(self.manifest) if block.role is not Role.LOOKUP)

    def budget(self, slots: int) -> int:
        return self.blocks + slots * self.sizes.slot_nbytes + self.sizes.scratch_nbytes


@pytest.fixture(scope="module", params=list(MAKERS))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Cut:
    return Cut(request.param, tmp_path_factory.mktemp("quantised"))


@pytest.fixture(scope="module")
def fp8(tmp_path_factory: pytest.TempPathFactory) -> Cut:
    return Cut("fp8", tmp_path_factory.mktemp("fp8"))


def checkpoint_tensors(folder: Path) -> dict[str, torch.Tensor]:
    return {name: tensor for shard in folder.glob("*.safetensors") for name, tensor in load_file(shard).items()}


# On disk


def test_records_are_packed_and_all_else_is_what_plain_transformers_loads(made: Cut) -> None:
    plain = load_expanded(made.checkpoint).state_dict()
    stored = stored_tensors(made.split)
    packed = {f"{entry.module}.{tensor.name}" for entry in made.manifest.experts for tensor in entry.packed}
    assert packed
    for name in plain.keys() - packed:
        assert stored[name].dtype == plain[name].dtype, name
        assert torch.equal(stored[name], plain[name]), name
    for entry in made.manifest.experts:
        assert sum(tensor.nbytes for tensor in entry.tensors) < 0.55 * entry.expanded_nbytes + 1024
        for tensor in entry.packed:
            whole = plain[f"{entry.module}.{tensor.name}"]
            assert (tensor.shape, tensor.dtype) == (whole.shape[1:], "BF16")
            for expert in range(entry.count):
                parts = {
                    part: stored[f"{entry.module}.{name}"][expert] for part, name in entry.parts_of(tensor).items()
                }
                out = torch.empty(tensor.shape, dtype=torch.bfloat16)
                Expander(torch.empty(WORKSPACE_BYTES, dtype=torch.uint8)).expand(tensor.encoding, parts, out)
                assert torch.equal(out, whole[expert])


def test_the_manifest_says_how_experts_are_packed(made: Cut) -> None:
    assert manifest_from_json(made.manifest.to_json()) == made.manifest
    assert {tensor.encoding for entry in made.manifest.experts for tensor in entry.packed} <= {"scaled", "int", "mxfp4"}


def test_a_flipped_byte_is_found_and_cut_again(fp8: Cut, tmp_path: Path) -> None:
    split = tmp_path / "models" / fp8.split.name
    shutil.copytree(fp8.split, split)
    before = files_of(split)
    entry = fp8.manifest.experts[0]
    damaged = bytearray(before[entry.file])
    damaged[entry.record_offset(3) + entry.tensors[1].offset] ^= 1
    (split / entry.file).write_bytes(damaged)
    with pytest.raises(DamagedFile):
        list(verify(split))
    list(verify(split, repair=True))
    assert files_of(split) == before


# Computing


def test_logits_and_tokens_are_those_of_plain_transformers_whatever_is_cached(made: Cut) -> None:
    floor, every = made.sizes.floor_slots, made.sizes.count
    for slots in sorted({floor, floor + 1, every // 2, every}):
        loaded = load(made.split, CpuBackend(), Budgets(made.budget(slots), 0))
        try:
            assert loaded.plan.experts is not None
            assert loaded.plan.experts.count == slots
            for _ in range(2):
                logits, tokens = streamed_outputs(loaded, PROMPT, NEW_TOKENS)
                assert torch.equal(logits, made.plain.logits)
                assert tuple(tokens) == made.plain.token_ids
        finally:
            loaded.close()


def test_a_simulated_device_gives_the_same_within_its_budget(made: Cut) -> None:
    slots = made.sizes.floor_slots + 1
    budget = made.budget(slots)
    device = SimulatedBackend(budget, bytes_per_second=2e9)
    host = 2 * made.sizes.slot_nbytes + sum(block.nbytes for block in block_sizes(made.manifest))
    loaded = load(made.split, device, Budgets(budget, host))
    try:
        logits, tokens = streamed_outputs(loaded, PROMPT, NEW_TOKENS)
    finally:
        loaded.close()
    assert torch.equal(logits, made.plain.logits)
    assert tuple(tokens) == made.plain.token_ids
    assert made.blocks + slots * made.sizes.slot_nbytes < device.peak_bytes <= budget


def test_the_memory_experts_are_expanded_in_counts_in_the_floor(fp8: Cut) -> None:
    always = sum(block.nbytes for block in block_sizes(fp8.manifest) if block.role is Role.ALWAYS)
    block = max(block.nbytes for block in block_sizes(fp8.manifest) if block.role is Role.ONCE)
    expanded_nbytes = max(entry.expanded_nbytes for entry in fp8.manifest.experts)
    need = always + block + fp8.sizes.floor_slots * fp8.sizes.slot_nbytes + expanded_nbytes + WORKSPACE_BYTES
    with pytest.raises(BudgetTooSmall) as caught:
        load(fp8.split, CpuBackend(), Budgets(need - 1, 0))
    assert caught.value.need == need
    load(fp8.split, CpuBackend(), Budgets(need, 0)).close()
