"""From the tensors of a published checkpoint to the model's own parameters, by transformers' load-time conversion."""

from __future__ import annotations

from typing import Any

import torch
from transformers.conversion_mapping import register_checkpoint_conversion_mapping
from transformers.core_model_loading import (
    Concatenate,
    ConversionOps,
    MergeModulelist,
    WeightConverter,
    WeightRenaming,
)

from engine.models.kimi_k3.configuration import KimiK3Config, KimiK3TextConfig


class KeepHeads(ConversionOps):
    """``A_log`` is published padded to the width of a head (128 numbers for 96 heads); the first ones count."""

    @torch.no_grad()
    def convert(
        self, input_dict: dict[str, Any], source_patterns: list[str], target_patterns: list[str], **kwargs: Any
    ) -> dict[str, Any]:
        (tensors,) = input_dict.values()
        tensor: torch.Tensor = tensors[0] if isinstance(tensors, list) else tensors
        heads: int = kwargs["config"].get_text_config().linear_attn_config["num_heads"]
        return {target_patterns[0]: tensor.reshape(-1)[:heads]}

    @property
    def reverse_op(self) -> ConversionOps:
        return self


def register_conversions() -> None:
    """Tells transformers of them; once in a process."""
    register_checkpoint_conversion_mapping(KimiK3Config.model_type, _outer_conversions())
    register_checkpoint_conversion_mapping(KimiK3TextConfig.model_type, _text_conversions())


def _outer_conversions() -> list[WeightRenaming | WeightConverter]:
    return [
        WeightRenaming(r"^language_model\.lm_head\.", "lm_head."),
        WeightRenaming(r"^language_model\.model\.", "model.language_model."),
        WeightRenaming(r"^vision_tower\.", "model.vision_tower."),
        WeightRenaming(r"^mm_projector\.", "model.mm_projector."),
    ]


def _text_conversions() -> list[WeightRenaming | WeightConverter]:
    return [
        WeightRenaming(r"\.block_sparse_moe\.", ".mlp."),
        WeightConverter(
            [f"self_attn.{name}_conv1d.weight" for name in "qkv"], "self_attn.conv1d.weight", [Concatenate(dim=0)]
        ),
        WeightConverter("self_attn.A_log", "self_attn.A_log", [KeepHeads()]),
        WeightConverter(
            ["mlp.experts.*.w1.weight", "mlp.experts.*.w3.weight"],
            "mlp.experts.gate_up_proj",
            [MergeModulelist(dim=0), Concatenate(dim=1)],
        ),
        WeightConverter("mlp.experts.*.w2.weight", "mlp.experts.down_proj", [MergeModulelist(dim=0)]),
    ]
