"""Does this installation compute what plain transformers computes? A tiny model of one family, both ways, bit for bit
on the processor; on a device as near as its rounding allows.

Owns the tiny models an installed program checks itself with, and the comparison. Writes only into a temporary folder.
The tests of every family are another matter (``tests/parity``).
"""

# pyright: reportPrivateImportUsage=false

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig

from engine.backends.base import Backend
from engine.backends.torch_backend import CpuBackend, open_backend
from engine.cancel import CancelToken
from engine.errors import DeviceUnavailable, NotFinite
from engine.generation.kv_cache import KvCache
from engine.generation.torch_runner import TorchRunner
from engine.probe import report_torch
from engine.reports import DeviceCheck, FamilyCheck
from engine.store.manifest import Manifest, read_manifest
from engine.store.model_store import ModelStore
from engine.store.open_source import open_source
from engine.store.splitter import split_source
from engine.streaming.block_roles import block_sizes, expert_sizes
from engine.streaming.loaded_model import open_model
from engine.streaming.residency import Budgets, Role

_PROMPT = (3, 5, 7, 11, 13, 17, 19, 23)
_NEW_TOKENS = 8
_ALLOWED_DIFFERENCE = 0.05
"""bfloat16 keeps 8 bits, 0.4 %, of each of some dozen sums on the way; what is wrong is wrong by about 1."""
_DENSE: Mapping[str, Any] = {
    "vocab_size": 160, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "initializer_range": 0.2, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip
_FAMILIES: Mapping[str, Mapping[str, Any]] = {
    "llama": _DENSE,
    "qwen3": {**_DENSE, "head_dim": 16, "tie_word_embeddings": True},
    "qwen3_moe": {
        **_DENSE, "head_dim": 16, "moe_intermediate_size": 32, "num_experts": 8, "num_experts_per_tok": 2,
    },
    "deepseek_v3": {
        **_DENSE, "num_key_value_heads": 4, "moe_intermediate_size": 32, "n_routed_experts": 8, "n_group": 2,
        "topk_group": 1, "num_experts_per_tok": 2, "n_shared_experts": 1, "first_k_dense_replace": 1,
        "q_lora_rank": 32, "kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16,
    },
}  # fmt: skip


def check_family(family: str) -> FamilyCheck:
    """Cuts a tiny random model, streams it one block at a time on the CPU and compares it with transformers.

    Compared are the prompt's logits and greedy tokens. Raises ``EngineError`` where it cannot be cut or run,
    ``KeyError`` for a family without a tiny model.
    """
    with tempfile.TemporaryDirectory(prefix="strata-check-") as folder:
        checkpoint = _make_checkpoint(family, Path(folder, "checkpoint"))
        logits, tokens = _plain_outputs(checkpoint)
        blocks, streamed_logits, streamed_tokens = _streamed_outputs(checkpoint, Path(folder, "data"), CpuBackend())
    return FamilyCheck(
        family=family,
        blocks=blocks,
        logits=logits.numel(),
        tokens=len(tokens),
        has_equal_logits=torch.equal(logits, streamed_logits),
        has_equal_tokens=tokens == streamed_tokens,
    )


def check_device(device: str) -> DeviceCheck:
    """Streams a tiny Llama through ``device`` ("cuda", "cpu"), one block at a time, and compares with the processor.

    Raises ``DeviceUnavailable`` where it is not there, or torch has nothing that runs on it.
    """
    try:
        backend = open_backend(device)
    except DeviceUnavailable as error:
        raise DeviceUnavailable(
            "No graphics card can be computed with.",
            "Restart the computer if its driver is new, then try again.",
            detail=f"{error}\n{report_torch()}",
        ) from error
    try:
        with tempfile.TemporaryDirectory(prefix="strata-check-") as folder:
            checkpoint = _make_checkpoint("llama", Path(folder, "checkpoint"))
            want, _ = _plain_outputs(checkpoint)
            _, got, _ = _streamed_outputs(checkpoint, Path(folder, "data"), backend)
    except (RuntimeError, NotFinite) as error:  # RuntimeError: all that a driver says, in torch's words (2.13)
        raise DeviceUnavailable(
            "The graphics card does not compute.",
            "Update its driver, close other programs that use the card, then try again.",
            detail=f"{error}\n{report_torch()}",
        ) from error
    finally:
        backend.close()
    report = report_torch()
    difference = float((got - want).norm() / want.norm())
    name = next((each.name for each in report.devices if each.kind == device), device)
    return DeviceCheck(report, device, name, difference, _ALLOWED_DIFFERENCE)


def _make_checkpoint(family: str, folder: Path) -> Path:
    config = AutoConfig.for_model(family, **_FAMILIES[family])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.save_pretrained(folder, max_shard_size="50KB")
    return folder


def _plain_outputs(checkpoint: Path) -> tuple[torch.Tensor, list[int]]:
    """float32 [tokens, vocabulary] and greedy tokens. Experts run as they are written: it is the reference."""
    model: Any = AutoModelForCausalLM.from_pretrained(checkpoint, dtype="auto", experts_implementation="eager").eval()
    model.generation_config = GenerationConfig(do_sample=False, use_cache=True)
    ids = torch.tensor([_PROMPT])
    with torch.inference_mode():
        logits = model(input_ids=ids).logits[0].float()
        answer = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=_NEW_TOKENS)
    return logits, answer[0, len(_PROMPT) :].tolist()


def _streamed_outputs(checkpoint: Path, data_dir: Path, backend: Backend) -> tuple[int, torch.Tensor, list[int]]:
    """How many blocks it was cut into, and the same as ``_plain_outputs``."""
    store, source, cancel = ModelStore(data_dir), open_source(checkpoint), CancelToken()
    for _ in split_source(source, store, floor_bytes=0):
        pass
    split = store.folder_for(source.record)
    manifest = read_manifest(split)
    one = _one_slot_bytes(manifest)
    loaded = open_model(split, backend, Budgets(one, 0 if backend.is_unified else 2 * one), cancel=cancel)
    try:
        runner = TorchRunner(loaded)
        logits = runner.prompt_logits(_PROMPT, emit=lambda event: None, cancel=cancel)
        cache = KvCache(loaded.model)
        cache.reset()
        return len(manifest.blocks), logits, _greedy_tokens(runner, _PROMPT, cache, cancel)
    finally:
        loaded.close()


def _greedy_tokens(runner: TorchRunner, prompt: Sequence[int], cache: KvCache, cancel: CancelToken) -> list[int]:
    passes = runner.decode(prompt, cache, {"do_sample": False}, seed=0, emit=lambda event: None, cancel=cancel)
    try:
        return [next(passes) for _ in range(_NEW_TOKENS)]
    finally:
        passes.close()


def _one_slot_bytes(manifest: Manifest) -> int:
    """A budget in which everything that can stream does."""
    sizes = block_sizes(manifest)
    experts = expert_sizes(manifest.experts)
    always = sum(block.nbytes for block in sizes if block.role is Role.ALWAYS)
    return (
        always + max(block.nbytes for block in sizes if block.role.is_whole) + (experts.floor_nbytes if experts else 0)
    )
