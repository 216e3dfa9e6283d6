"""transformers' load-time conversion of packed checkpoints into a plain model: every weight is expanded.

The same machinery as for other checkpoints (``transformers_internals``), with a quantizer that puts an expanding
operation in front. Two of transformers' own operations are replaced: the FP8 one refuses a matrix whose last block
is cut off (DeepSeek-V3 has them), and the compressed-tensors one needs that package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from transformers import FineGrainedFP8Config, PreTrainedModel
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import ConversionOps
from transformers.integrations.finegrained_fp8 import Fp8Dequantize
from transformers.integrations.mxfp4 import Mxfp4Dequantize
from transformers.quantizers.base import HfQuantizer
from transformers.quantizers.quantizer_finegrained_fp8 import FineGrainedFP8HfQuantizer
from transformers.quantizers.quantizer_mxfp4 import Mxfp4HfQuantizer
from transformers.utils.quantization_config import Mxfp4Config, QuantizationConfigMixin, QuantizationMethod

from engine.weights.packed import INT, MXFP4, SCALED, expanded, is_known

MXFP4_METHOD, COMPRESSED_TENSORS_METHOD = "mxfp4", "compressed-tensors"


def quantised_conversion(
    model: PreTrainedModel, method: str, settings: Mapping[str, Any]
) -> tuple[list[Any], HfQuantizer]:
    """The weight mapping and the quantizer for ``CheckpointConversion``. Raises ``ValueError`` for odd settings."""
    quantizer = _quantizer(method, settings)
    return get_model_conversion_mapping(model, None, quantizer), quantizer


def _quantizer(method: str, settings: Mapping[str, Any]) -> HfQuantizer:
    if method == MXFP4_METHOD:
        return Mxfp4HfQuantizer(Mxfp4Config(dequantize=True), pre_quantized=True)
    if method == COMPRESSED_TENSORS_METHOD:
        return _CompressedTensorsQuantizer(_CompressedTensorsConfig(QuantizationMethod.COMPRESSED_TENSORS))
    given: dict[str, Any] = {**settings, "dequantize": True}
    return _Fp8Quantizer(FineGrainedFP8Config(**given), pre_quantized=True)


class Fp8Expand(Fp8Dequantize):
    """transformers' operation, for matrices that are no whole number of blocks as well, and piece by piece."""

    def _dequantize_one(
        self, quantized: torch.Tensor, scales: torch.Tensor, output_dtype: torch.dtype | None = None
    ) -> torch.Tensor:
        size = self.hf_quantizer.quantization_config.weight_block_size
        is_grid = scales.ndim == 2 and quantized.ndim == 2 and scales.dtype.is_floating_point
        is_whole = is_grid and all(n % blocks == 0 for n, blocks in zip(quantized.shape, scales.shape, strict=True))
        if is_whole and is_known(SCALED, quantized.dtype, scales.dtype, quantized.shape[1], quantized.shape[1]):
            dtype = output_dtype or (scales.dtype if scales.dtype.itemsize > 1 else torch.bfloat16)
            return expanded(SCALED, quantized, scales, (quantized.shape[0], quantized.shape[1]), dtype)
        if not is_grid or is_whole or size is None:
            return super()._dequantize_one(quantized, scales, output_dtype)
        wanted = [-(-n // block) for n, block in zip(quantized.shape, size, strict=True)]
        if list(scales.shape) != wanted:
            raise ValueError(f"{list(scales.shape)} scales for {list(quantized.shape)} numbers in blocks of {size}")
        rows = scales.float().repeat_interleave(size[0], 0)[: quantized.shape[0]]
        whole = rows.repeat_interleave(size[1], 1)[:, : quantized.shape[1]]
        return (quantized.float() * whole).to(output_dtype or torch.bfloat16)


class _Fp8Quantizer(FineGrainedFP8HfQuantizer):
    def get_load_operations(self) -> dict[str, type[Fp8Dequantize]]:
        return {"dequantize": Fp8Expand}


class CompressedTensorsExpand(ConversionOps):
    """What transformers' operation does, by the tensors themselves: which are there, of which dtype and shape.

    The keys are the source patterns of a converter: "weight…" of one module, or "….gate_proj.weight…" of all experts.
    """

    def __init__(self, hf_quantizer: HfQuantizer) -> None:
        self.hf_quantizer = hf_quantizer

    def convert(
        self,
        input_dict: dict[str, Any],
        source_patterns: list[str],
        target_patterns: list[str],
        *,
        full_layer_name: str,
        model: PreTrainedModel,
        **kwargs: Any,
    ) -> dict[str, Any]:
        wanted = model.get_parameter_or_buffer(full_layer_name)
        produced: dict[str, Any] = {}
        for pattern, tensors in input_dict.items():
            stem = pattern.removesuffix("_packed")
            if not stem.endswith("weight"):
                if pattern.endswith(("_zero_point", "_global_scale")):
                    raise ValueError(f"{full_layer_name} has {pattern.rpartition('.')[2]}, which is not served")
                continue
            scales = input_dict.get(f"{stem}_scale")
            produced[pattern] = [
                _expand_one(tensor, scales[i] if scales else None, wanted) for i, tensor in enumerate(tensors)
            ]
        if "weight" in source_patterns:
            ((weight,),) = produced.values()
            return {full_layer_name: weight}
        return produced


def _expand_one(values: torch.Tensor, scales: torch.Tensor | None, wanted: torch.Tensor) -> torch.Tensor:
    if scales is None:
        return values.to(wanted.dtype)
    encoding = compressed_encoding(values.dtype)
    if values.ndim != 2:
        raise ValueError(f"{list(values.shape)} numbers with scales are no matrix")
    columns = wanted.shape[-1] if encoding == INT else values.shape[1] * (2 if encoding == MXFP4 else 1)
    return expanded(encoding, values, scales, (values.shape[0], columns), wanted.dtype)


def compressed_encoding(dtype: torch.dtype) -> str:
    """The encoding of compressed-tensors' values, told by their dtype."""
    return {torch.int32: INT, torch.uint8: MXFP4}.get(dtype, SCALED)


class _CompressedTensorsConfig(QuantizationConfigMixin):
    dequantize = True


class _CompressedTensorsQuantizer(HfQuantizer):
    def __init__(self, quantization_config: QuantizationConfigMixin) -> None:
        super().__init__(quantization_config)
        # The names of transformers' own quantizer.
        self.serialized_names = {
            "weight": [
                "weight", "weight_scale", "weight_zero_point", "weight_global_scale", "weight_packed", "weight_shape",
            ]
        }  # fmt: skip

    def get_load_operations(self) -> dict[str, type[ConversionOps]]:
        return {"dequantize": CompressedTensorsExpand}

    def is_serializable(self) -> Any:
        return False

    @property
    def is_trainable(self) -> Any:
        return False


EXPANDING = (Fp8Dequantize, Mxfp4Dequantize, CompressedTensorsExpand)
"""The operations that stand in front of a converter's own where weights are packed."""


def is_beside_packed(pattern: str) -> bool:
    """Whether checkpoint tensors that match this source pattern say how to expand others."""
    return pattern.endswith(("_scale_inv", "_scale", "_scales", "_packed", "_blocks", "_zero_point"))
