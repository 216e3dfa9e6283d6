"""The models of the mission at their real dimensions: their published configs, and the tensors they are published as.

A published checkpoint is known here by its table alone: names, shapes and dtypes, as safetensors headers have them. The
table comes from the empty model, by what transformers does to save one, and is packed as the maker packs it.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, PreTrainedModel
from transformers.core_model_loading import revert_weight_conversion

from engine.models.architecture import find_model_class
from engine.models.own_models import register_own_models
from engine.models.transformers_internals import build_empty_model
from engine.store.layout import tensor_nbytes
from engine.store.manifest import SourceFile, SourceKind, SourceRecord
from engine.store.source import Source, SourceTensor
from tests.helpers.kimi_k3 import text_shapes

CONFIGS = Path(__file__).resolve().parents[2] / "resources" / "configs"
SHARD = "model.safetensors"

GB = 1_000_000_000
MOST_BYTES = {
    "DeepSeek-V3": 4 * GB,
    "Kimi-K3": 3.7 * GB,
    "Llama-3.1-405B-Instruct": 8 * GB,
    "Llama-3.3-70B-Instruct": 4 * GB,
    "Mistral-7B-Instruct-v0.3": 2 * GB,
    "Mixtral-8x7B-Instruct-v0.1": 3 * GB,
    "Qwen3-235B-A22B": 2 * GB,
    "Qwen3-30B-A3B": 3 * GB,
    "Qwen3-8B": 2 * GB,
    "Qwen3.8-27B": 3.3 * GB,
    "Qwen3.8-Flash-Next": 5.9 * GB,
    "gpt-oss-120b": 3 * GB,
}
"""The device budget each has to run in, its cache for the usual conversation with it."""

Table = Iterator[tuple[str, str, tuple[int, ...]]]
"""(name, safetensors dtype, shape) of each tensor."""


def published_names() -> list[str]:
    """The models whose config is shipped, by the names of their repositories."""
    return sorted(path.stem for path in CONFIGS.glob("*.json"))


def published_config(name: str, *, layers: int | None = None) -> dict[str, Any]:
    """config.json of a published model, without what says nothing about its size; with only its first ``layers``."""
    config: dict[str, Any] = json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8"))
    if layers is not None:
        _keep_layers(config.get("text_config", config), layers)
    return config


def _keep_layers(text: dict[str, Any], layers: int) -> None:
    text["num_hidden_layers"] = layers
    if "layer_types" in text:
        text["layer_types"] = text["layer_types"][:layers]
    for key in ("kda_layers", "full_attn_layers"):
        if "linear_attn_config" in text:
            text["linear_attn_config"][key] = [layer for layer in text["linear_attn_config"][key] if layer <= layers]


def published_source(config: dict[str, Any], folder: Path) -> Source:
    """The published checkpoint of such a config, as if its files were in ``folder``, where only config.json is."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    tensors: dict[str, SourceTensor] = {}
    offset = 0
    model = _plain_model(config, folder)
    table = _kimi_table(config, model) if config["model_type"] == "kimi_k3" else _plain_table(model)
    for name, dtype, shape in _packed(config, table):
        nbytes = tensor_nbytes(dtype, shape)
        tensors[name] = SourceTensor(SHARD, dtype, shape, offset, nbytes)
        offset += nbytes
    files = (SourceFile(SHARD, offset, 0, ""),)
    record = SourceRecord(SourceKind.SAFETENSORS, str(folder), "published", folder.name, "0" * 40, files)
    return Source(record, config, tensors, ("config.json",))


def _plain_model(config: dict[str, Any], folder: Path) -> PreTrainedModel:
    plain = copy.deepcopy(config)
    for part in (plain, plain.get("text_config", {})):
        part.pop("quantization_config", None)
    (folder / "plain.json").write_text(json.dumps(plain))
    register_own_models()
    settings = AutoConfig.from_pretrained(folder / "plain.json")
    return build_empty_model(find_model_class(settings), settings, torch.bfloat16)


def _plain_table(model: PreTrainedModel) -> Table:
    tied = getattr(model, "all_tied_weights_keys", {})
    state = {name: tensor for name, tensor in model.state_dict().items() if name not in tied}
    for name, tensor in revert_weight_conversion(model, state).items():
        yield name, {torch.float32: "F32", torch.int64: "I64"}.get(tensor.dtype, "BF16"), tuple(tensor.shape)


def _kimi_table(config: dict[str, Any], model: PreTrainedModel) -> Table:
    """transformers saves only its own models as they are published."""
    for name, shape in text_shapes(config["text_config"]):
        yield f"language_model.{name}", "BF16", shape
    for name, tensor in model.state_dict().items():
        if name.startswith(("model.vision_tower.", "model.mm_projector.")):
            yield name.removeprefix("model."), "BF16", tuple(tensor.shape)


def _packed(config: dict[str, Any], table: Table) -> Table:
    text = config.get("text_config", config)
    settings: dict[str, Any] = config.get("quantization_config") or text.get("quantization_config") or {}
    pack = {"fp8": _pack_fp8, "mxfp4": _pack_mxfp4, "compressed-tensors": _pack_compressed}
    method = settings.get("quant_method")
    return table if method is None else pack[method](table)


def _pack_fp8(table: Table) -> Table:
    """DeepSeek-V3: every projection, with a scale for each block of 128 × 128."""
    for name, dtype, shape in table:
        if re.search(r"\.layers\..*_proj(_with_mqa)?\.weight$", name):
            yield name, "F8_E4M3", shape
            yield f"{name}_scale_inv", "F32", tuple(math.ceil(size / 128) for size in shape)
        else:
            yield name, dtype, shape


def _pack_mxfp4(table: Table) -> Table:
    """gpt-oss: the stacked experts, transposed, 32 numbers of a row in 16 bytes and a scale for them."""
    for name, dtype, shape in table:
        if re.search(r"experts\.(gate_up|down)_proj$", name):
            experts, columns, rows = shape
            yield f"{name}_blocks", "U8", (experts, rows, columns // 32, 16)
            yield f"{name}_scales", "U8", (experts, rows, columns // 32)
        else:
            yield name, dtype, shape


def _pack_compressed(table: Table) -> Table:
    """Kimi K3: each expert by itself, two numbers in a byte and a scale for 32."""
    for name, dtype, shape in table:
        if re.search(r"\.experts\.\d+\.w\d\.weight$", name):
            yield f"{name}_packed", "U8", (shape[0], shape[1] // 2)
            yield f"{name}_scale", "U8", (shape[0], shape[1] // 32)
        else:
            yield name, dtype, shape
