"""Tiny models on disk, cut by the real splitter, and the budgets that put them through every residency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from engine.backends.base import Backend
from engine.backends.simulated import SimulatedBackend
from engine.backends.torch_backend import CpuBackend
from engine.cancel import CancelToken
from engine.generation.kv_cache import KvCache
from engine.generation.torch_runner import TorchRunner
from engine.store.manifest import read_manifest
from engine.store.model_store import ModelStore
from engine.store.open_source import open_source
from engine.store.splitter import split_source
from engine.streaming.block_roles import block_sizes, expert_sizes
from engine.streaming.loaded_model import LoadedModel, open_model
from engine.streaming.residency import Budgets, ExpertSizes, Role
from tests.helpers.families import make_checkpoint, write_tiny_tokenizer

RESIDENCIES = (
    "all resident",
    "one slot",
    "two slots",
    "half resident",
    "device, one slot",
    "device, from host",
    "device, three tiers",
)

PROMPT = [3, 5, 7, 11, 13, 17, 19, 23, 29, 31]


def make_split(family: str, folder: Path, *, with_tokenizer: bool = False, **options: object) -> tuple[Path, Path]:
    """(checkpoint, split) of one family, below ``folder``."""
    checkpoint = make_checkpoint(family, folder / "checkpoint", **options)  # pyright: ignore[reportArgumentType]
    if with_tokenizer:
        write_tiny_tokenizer(checkpoint, 288)
    return checkpoint, cut(checkpoint, folder)


def cut(checkpoint: Path, folder: Path) -> Path:
    """Cuts a checkpoint into a store below ``folder`` and returns the split."""
    store = ModelStore(folder / "data")
    source = open_source(checkpoint)
    for _ in split_source(source, store, floor_bytes=0):
        pass
    return store.folder_for(source.record)


def residency(split: Path, name: str) -> tuple[Backend, Budgets]:
    """A backend and budgets for one of ``RESIDENCIES``, from one block at a time to the whole model resident."""
    manifest = read_manifest(split)
    sizes = block_sizes(manifest)
    experts = expert_sizes(manifest.experts) or ExpertSizes(0, 0, 0, 0)
    routed = experts.floor_nbytes
    total = sum(block.nbytes for block in sizes) + experts.count * experts.slot_nbytes + experts.scratch_nbytes
    always = sum(block.nbytes for block in sizes if block.role is Role.ALWAYS) + routed
    block = max(block.nbytes for block in sizes if block.role.is_whole)
    half = max(total // 2, always + block)
    if name in ("all resident", "one slot", "two slots", "half resident"):
        room = {"all resident": total, "one slot": always + block, "two slots": always + 2 * block}.get(name, half)
        return CpuBackend(), Budgets(room, 0)
    if name == "device, one slot":
        return SimulatedBackend(always + block), Budgets(always + block, 2 * block + routed)
    if name == "device, from host":
        return SimulatedBackend(always + 2 * block), Budgets(always + 2 * block, total)
    assert name == "device, three tiers"
    return SimulatedBackend(half, bytes_per_second=2e9), Budgets(half, max(total // 4, 2 * block + routed))


def load(split: Path, backend: Backend, budgets: Budgets) -> LoadedModel:
    return open_model(split, backend, budgets, cancel=CancelToken())


def streamed_outputs(
    loaded: LoadedModel, prompt: Sequence[int], new_tokens: int, image_inputs: Mapping[str, Any] | None = None
) -> tuple[torch.Tensor, list[int]]:
    """Prompt logits (float32 [tokens, vocabulary]) and greedy tokens of a loaded model."""
    runner = TorchRunner(loaded)
    logits = runner.prompt_logits(prompt, image_inputs=image_inputs, emit=lambda event: None, cancel=CancelToken())
    return logits, greedy_tokens(loaded, prompt, new_tokens, image_inputs=image_inputs)


def greedy_tokens(
    loaded: LoadedModel,
    prompt: Sequence[int],
    new_tokens: int,
    cache: KvCache | None = None,
    image_inputs: Mapping[str, Any] | None = None,
) -> list[int]:
    if cache is None:
        cache = KvCache(loaded.model)
        cache.reset()
    passes = TorchRunner(loaded).decode(
        prompt,
        cache,
        {"do_sample": False},
        image_inputs=image_inputs,
        seed=0,
        emit=lambda event: None,
        cancel=CancelToken(),
    )
    tokens = [next(passes) for _ in range(new_tokens)]
    passes.close()
    return tokens
