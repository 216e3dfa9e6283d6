"""Checkpoints for the store's tests: tiny ones of chosen shapes in every form a hub ships, and readers of splits."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from engine.events import Event, Finished, SplitResult
from engine.store.manifest import read_manifest
from engine.store.model_store import ModelStore
from engine.store.open_source import open_source
from engine.store.splitter import split_source

COMMIT = "0123456789abcdef0123456789abcdef01234567"
_COMMON: dict[str, Any] = {
    "vocab_size": 160, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 2,
}  # fmt: skip
CONFIGS: Mapping[str, dict[str, Any]] = {
    "llama": _COMMON,
    "qwen3": {**_COMMON, "head_dim": 16, "tie_word_embeddings": True},
    "gpt2": {"vocab_size": 160, "n_embd": 64, "n_layer": 3, "n_head": 4},
    "mixtral": {**_COMMON, "num_local_experts": 4},
    "mamba2": {
        "vocab_size": 160, "hidden_size": 64, "num_hidden_layers": 3, "num_heads": 8, "head_dim": 16,
        "state_size": 16, "n_groups": 2,
    },
    "phi3": {**_COMMON, "pad_token_id": 0},
}  # fmt: skip


def make_checkpoint(
    family: str,
    folder: Path,
    *,
    form: str = "sharded",
    seed: int = 0,
    dtype: torch.dtype = torch.bfloat16,
    **config: Any,
) -> Path:
    """``form``: sharded, single, bin, or old-bin (as torch wrote before 1.6)."""
    torch.manual_seed(seed)
    settings = AutoConfig.for_model(family, **{**CONFIGS[family], **config})
    model = AutoModelForCausalLM.from_config(settings, dtype=dtype)
    model.save_pretrained(folder, max_shard_size="60KB" if form == "sharded" else "1GB")
    if form in ("bin", "old-bin"):
        whole = folder / "model.safetensors"
        torch.save(load_file(whole), folder / "pytorch_model.bin", _use_new_zipfile_serialization=form == "bin")
        whole.unlink()
    return folder


def make_hub_cache(checkpoint: Path, cache: Path, owner: str = "acme", name: str = "tiny") -> Path:
    """Moves a checkpoint into a hub cache: blobs, a snapshot of links, a ref. Returns the snapshot."""
    repo = cache / f"models--{owner}--{name}"
    snapshot = repo / "snapshots" / COMMIT
    (repo / "blobs").mkdir(parents=True)
    (repo / "refs").mkdir()
    snapshot.mkdir(parents=True)
    (repo / "refs" / "main").write_text(COMMIT)
    for number, path in enumerate(sorted(checkpoint.iterdir())):
        blob = repo / "blobs" / f"{number:064x}"
        shutil.move(path, blob)
        (snapshot / path.name).symlink_to(Path("../../blobs") / blob.name)
    return snapshot


def cut(source: Path | str, store: ModelStore, *, delete_original: bool = False) -> SplitResult:
    """Cuts to the end and returns the result."""
    return result_of(
        list(split_source(open_source(source, store), store, delete_original=delete_original, floor_bytes=0))
    )


def result_of(events: list[Event]) -> SplitResult:
    last = events[-1]
    assert isinstance(last, Finished)
    assert isinstance(last.result, SplitResult)
    return last.result


def stored_tensors(split: Path) -> dict[str, torch.Tensor]:
    """Every tensor of a split by every name it has, read by the safetensors library."""
    manifest = read_manifest(split)
    tensors: dict[str, torch.Tensor] = {}
    for block in manifest.blocks:
        with safe_open(split / block.file, "pt") as file:
            tensors |= {tensor.name: file.get_tensor(tensor.name) for tensor in block.tensors}
    for entry in manifest.experts:
        with safe_open(split / entry.file, "pt") as file:
            for tensor in entry.tensors:
                parts = [file.get_tensor(f"{entry.module}.{i}.{tensor.name}") for i in range(entry.count)]
                tensors[f"{entry.module}.{tensor.name}"] = torch.stack(parts)
    return tensors | {alias: tensors[stored] for alias, stored in manifest.aliases.items()}


def assert_holds(split: Path, model: PreTrainedModel) -> None:
    """The split holds exactly the tensors of a plainly loaded model, bit for bit."""
    stored = stored_tensors(split)
    plain = model.state_dict()
    assert stored.keys() == plain.keys()
    for name, tensor in plain.items():
        assert stored[name].dtype == tensor.dtype, name
        assert stored[name].shape == tensor.shape, name
        assert raw(stored[name]) == raw(tensor), name


def raw(tensor: torch.Tensor) -> bytes:
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder and its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
