"""Tiny checkpoints with packed weights, as their makers ship them, and what plain transformers makes of them.

A checkpoint in full precision is rewritten: each weight that such checkpoints pack becomes its packed tensors, and
config.json says how. Packing is done the obvious way here; only the results' form has to be right.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import CompressedTensorsConfig, FineGrainedFP8Config, PreTrainedModel
from transformers.utils.quantization_config import Mxfp4Config

from tests.helpers.families import load_plain, make_checkpoint

SHARD_BYTES = 50_000
E2M1 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])

Pack = Callable[[str, torch.Tensor], dict[str, torch.Tensor] | None]
"""(name, weight) → the tensors that stand for it, or None where it stays as it is."""

EXPERT = re.compile(r"\.experts\.\d+\.(w[123]|\w+_proj)\.weight$")
LINEAR = re.compile(r"\.(self_attn|mlp|shared_experts|experts\.\d+)\.(w[123]|\w+_proj\w*)\.weight$")


def pack_fp8(name: str, weight: torch.Tensor, block: int = 8) -> dict[str, torch.Tensor] | None:
    """DeepSeek-V3's way: e4m3 numbers and a float32 scale for each block. The last block may be cut off."""
    if not LINEAR.search(name):
        return None
    rows, columns = weight.shape
    padded = torch.nn.functional.pad(weight.float(), (0, -columns % block, 0, -rows % block))
    blocks = padded.view(padded.shape[0] // block, block, padded.shape[1] // block, block)
    scales = blocks.abs().amax((1, 3)) / 448
    packed = (blocks / scales[:, None, :, None]).to(torch.float8_e4m3fn).view(padded.shape)
    return {name: packed[:rows, :columns].contiguous(), f"{name}_scale_inv": scales}


def pack_mxfp4(name: str, weight: torch.Tensor) -> dict[str, torch.Tensor] | None:
    """gpt-oss's way: experts stacked and transposed, 32 numbers of a row in 16 bytes, one exponent for them."""
    if not re.search(r"experts\.(gate_up|down)_proj$", name):
        return None
    blocks = weight.float().transpose(1, 2)
    blocks = blocks.reshape(*blocks.shape[:2], -1, 32)
    exponents = (blocks.abs().amax(-1, keepdim=True).log2().floor() - 2).clamp(-126, 127)
    nibbles = nearest_e2m1(blocks / exponents.exp2())
    packed = nibbles[..., ::2] | nibbles[..., 1::2] << 4
    return {f"{name}_blocks": packed, f"{name}_scales": (exponents[..., 0] + 127).to(torch.uint8)}


def nearest_e2m1(numbers: torch.Tensor) -> torch.Tensor:
    """The four bits (uint8) of the e2m1 number next to each of ``numbers``."""
    magnitude = (numbers.abs()[..., None] - E2M1).abs().argmin(-1)
    return (magnitude | (numbers < 0).long() << 3).to(torch.uint8)


def pack_int4(name: str, weight: torch.Tensor, which: re.Pattern[str] = EXPERT) -> dict[str, torch.Tensor] | None:
    """Kimi K2's way: experts' numbers of four bits, eight in an int32, a bfloat16 scale for every 32 of a row."""
    if not which.search(name):
        return None
    groups = weight.float().view(weight.shape[0], -1, 32)
    scales = (groups.abs().amax(-1, keepdim=True) / 7).to(torch.bfloat16)
    numbers = (groups / scales.float()).round().clamp(-8, 7).long().view(weight.shape[0], -1, 8) + 8
    words = (numbers << torch.arange(8) * 4).sum(-1).to(torch.int32)
    return {
        f"{name}_packed": words,
        f"{name}_scale": scales[..., 0],
        f"{name}_shape": torch.tensor(weight.shape, dtype=torch.int32),
    }


def pack_mxfp4_experts(name: str, weight: torch.Tensor) -> dict[str, torch.Tensor] | None:
    """Kimi K3's way: each expert by itself, in compressed-tensors' names."""
    if not EXPERT.search(name):
        return None
    packed = pack_mxfp4("experts.down_proj", weight.T[None])
    assert packed is not None
    blocks, scales = packed.values()
    return {f"{name}_packed": blocks[0].flatten(1), f"{name}_scale": scales[0]}


def pack_channels(name: str, weight: torch.Tensor) -> dict[str, torch.Tensor] | None:
    """compressed-tensors' "float-quantized": e4m3 numbers and a scale for each row."""
    if not LINEAR.search(name):
        return None
    scales = (weight.float().abs().amax(1, keepdim=True) / 448).to(torch.bfloat16)
    return {name: (weight.float() / scales.float()).to(torch.float8_e4m3fn), f"{name}_scale": scales}


def quantise(checkpoint: Path, pack: Pack, settings: Mapping[str, Any]) -> Path:
    """Rewrites a checkpoint with the weights that ``pack`` packs, in many shards, and ``settings`` in its config."""
    tensors: dict[str, torch.Tensor] = {}
    for shard in sorted(checkpoint.glob("*.safetensors")):
        for name, weight in load_file(shard).items():
            packed = pack(name, weight)
            tensors |= {name: weight} if packed is None else {n: t.contiguous() for n, t in packed.items()}
        shard.unlink()
    _save(checkpoint, tensors)
    config = json.loads((checkpoint / "config.json").read_text())
    config["quantization_config"] = dict(settings)
    (checkpoint / "config.json").write_text(json.dumps(config))
    return checkpoint


def _save(folder: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    shards: list[dict[str, torch.Tensor]] = [{}]
    for name, tensor in sorted(tensors.items()):
        if sum(t.nbytes for t in shards[-1].values()) + tensor.nbytes > SHARD_BYTES and shards[-1]:
            shards.append({})
        shards[-1][name] = tensor
    where: dict[str, str] = {}
    for number, shard in enumerate(shards, start=1):
        file = f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        save_file(shard, folder / file, metadata={"format": "pt"})
        where |= dict.fromkeys(shard, file)
    index = {"metadata": {"total_size": sum(t.nbytes for t in tensors.values())}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


FP8_SETTINGS: Mapping[str, Any] = {
    "quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "weight_block_size": [8, 8],
}  # fmt: skip


def make_fp8(folder: Path) -> Path:
    return quantise(make_checkpoint("deepseek_v3", folder), pack_fp8, FP8_SETTINGS)


def make_mxfp4(folder: Path) -> Path:
    settings = {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}
    return quantise(make_checkpoint("gpt_oss", folder), pack_mxfp4, settings)


COMPRESSED: Mapping[str, tuple[Pack, str, dict[str, Any]]] = {
    "int4": (
        pack_int4, "pack-quantized", {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32},
    ),
    "mxfp4": (
        pack_mxfp4_experts,
        "mxfp4-pack-quantized",
        {"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32, "scale_dtype": "torch.uint8"},
    ),
    "fp8": (pack_channels, "float-quantized", {"num_bits": 8, "type": "float", "strategy": "channel"}),
}  # fmt: skip
"""By a name of ours: how it is packed, compressed-tensors' format, and what its config says of the weights."""


def make_compressed(folder: Path, kind: str, family: str = "deepseek_v3", *, pack: Pack | None = None) -> Path:
    """A checkpoint of ``COMPRESSED``."""
    usual, form, weights = COMPRESSED[kind]
    settings = {
        "quant_method": "compressed-tensors",
        "format": form,
        "quantization_status": "compressed",
        "ignore": ["lm_head"],
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": {**weights, "symmetric": True}}},
    }
    return quantise(make_checkpoint(family, folder), pack or usual, settings)


def load_expanded(checkpoint: Path) -> PreTrainedModel:
    """The checkpoint as plain transformers loads it on a processor: expanded, experts run by ``eager``."""
    method = json.loads((checkpoint / "config.json").read_text())["quantization_config"]["quant_method"]
    configs = {"fp8": FineGrainedFP8Config, "mxfp4": Mxfp4Config, "compressed-tensors": CompressedTensorsConfig}
    with warnings.catch_warnings():
        # That the checkpoint's own settings are used but for this one: as it should be.
        warnings.filterwarnings("ignore", message="You passed `quantization_config`")
        return load_plain(checkpoint, quantization_config=configs[method](dequantize=True))
