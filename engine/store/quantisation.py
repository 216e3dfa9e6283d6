"""How a checkpoint's weights are packed, told from its config, and whether this engine expands them. No torch.

Reads only the config: what it lets through can still be refused for its tensors, when they are planned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import UnsupportedModel

FP8_METHODS = ("fp8", "mxfp8")
MXFP4_METHOD = "mxfp4"
COMPRESSED_TENSORS_METHOD = "compressed-tensors"

_COMPRESSED_FORMATS = {
    "pack-quantized": ("int", (4, 8)),
    "naive-quantized": ("float", (8,)),
    "float-quantized": ("float", (8,)),
    "int-quantized": ("int", (8,)),
    "mxfp4-pack-quantized": ("float", (4,)),
}
"""What compressed-tensors' formats hold that are served: type and bits of a weight."""


@dataclass(frozen=True, slots=True)
class Quantisation:
    """``method`` is the config's "quant_method"; ``settings`` the whole entry, as it is."""

    method: str
    settings: Mapping[str, Any]


def find_quantisation(config: Mapping[str, Any]) -> Quantisation | None:
    """What the config says of packed weights; some hide it in the text part. None for a checkpoint in full precision.

    Raises ``UnsupportedModel`` for what this engine does not expand.
    """
    for part in (config, config.get("text_config"), config.get("llm_config")):
        if not isinstance(part, Mapping):
            continue
        for key in ("quantization_config", "compression_config"):
            entry: Any = part.get(key)
            if isinstance(entry, Mapping) and entry:
                method = str(entry.get("quant_method") or entry.get("quant_algo") or _bits(entry))
                if reason := _reason_against(method, entry):
                    raise unsupported_quantisation(reason)
                return Quantisation(method, entry)
    return None


def unsupported_quantisation(what: str) -> UnsupportedModel:
    """The refusal of a packed format: ``what`` is its name, with what is special about it."""
    return UnsupportedModel(
        f"This checkpoint is quantised ({what}), in a way that this version of Strata does not run.",
        "Choose the original of the model, in bfloat16 or float16.",
    )


def _reason_against(method: str, entry: Mapping[str, Any]) -> str | None:
    """The format's name and why it is not served, or None where it is."""
    if method in FP8_METHODS:
        return f"{method}: embeddings with scales" if entry.get("modules_to_convert") else None
    if method == MXFP4_METHOD:
        return None
    if method == COMPRESSED_TENSORS_METHOD:
        reason = _reason_against_compressed(entry)
        return f"{method}: {reason}" if reason else None
    return method


def _reason_against_compressed(entry: Mapping[str, Any]) -> str | None:
    sparsity: Any = entry.get("sparsity_config")
    if isinstance(sparsity, Mapping) and sparsity.get("format", "dense") != "dense":
        return f"sparse weights, {sparsity.get('format')}"
    if entry.get("transform_config"):
        return "rotated weights"
    groups: Any = entry.get("config_groups")
    if not isinstance(groups, Mapping) or not groups:
        return "no groups of weights"
    for group in groups.values():
        weights: Any = group.get("weights") if isinstance(group, Mapping) else None
        if isinstance(weights, Mapping) and (reason := _reason_against_weights(weights, group, entry)):
            return reason
    return None


def _reason_against_weights(
    weights: Mapping[str, Any], group: Mapping[str, Any], entry: Mapping[str, Any]
) -> str | None:
    form = str(group.get("format") or entry.get("format") or "dense")
    kind, bits = str(weights.get("type", "int")), weights.get("num_bits", 8)
    if form not in _COMPRESSED_FORMATS:
        return f"format {form}"
    if (kind, bits) not in {(_COMPRESSED_FORMATS[form][0], each) for each in _COMPRESSED_FORMATS[form][1]}:
        return f"format {form} with {kind} weights of {bits} bits"
    if weights.get("symmetric") is False:
        return "weights with zero points"
    if weights.get("actorder") not in (None, False, "weight", "static"):
        return "weights in another order than their scales"
    return None


def _bits(entry: Mapping[str, Any]) -> str:
    for bits in (4, 8):
        if entry.get(f"load_in_{bits}bit"):
            return f"bitsandbytes {bits}-bit"
    return "unknown method"
