"""From a source to the plan of its split, whatever its format: config, class, structure, tensors.

Every reason why a checkpoint cannot be run is found here, before a weight is read.
"""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

import torch
from transformers import PreTrainedConfig, PreTrainedModel

from engine.collection import collection_paused
from engine.errors import SourceError, UnsupportedModel
from engine.models.architecture import config_for, find_model_class, find_text_class, read_model_config
from engine.models.quantised_loading import quantised_conversion
from engine.models.structure import BlockKind, find_structure
from engine.models.transformers_internals import CheckpointConversion, ConversionPlan, build_empty_model
from engine.store.manifest import SourceKind
from engine.store.quantisation import find_quantisation
from engine.store.source import Source
from engine.store.split_plan import SplitPlan, plan_blocks
from engine.store.tensor_source import ShardTensors, TensorSource, bytes_of

log = logging.getLogger(__name__)

CONFIG_PROBLEMS = (
    ValueError, TypeError, KeyError, AttributeError, IndexError, RuntimeError, ArithmeticError, ImportError, OSError,
)  # fmt: skip
"""What transformers raises for a config or a tokenizer that contradicts itself."""


@collection_paused()
def plan_source(source: Source, *, untied: frozenset[str] | None = None) -> SplitPlan:
    """Everything about the split but its bytes. Raises ``SourceError`` or ``UnsupportedModel``.

    Reads no weights, unless the checkpoint holds both names of a tied pair and ``untied``, the names that have
    values of their own, is not known from an earlier plan.
    """
    source, config, dtype = _read_config(source)
    model = _build_model(config, dtype, code=source.root if source.code else None)
    tensors = _open_tensors(source, model, dtype)
    conversion = _open_conversion(source, model, dtype, tensors)
    packable = {
        name for block in find_structure(model).blocks if block.kind is BlockKind.EXPERTS for name in block.tensors
    }
    converted = conversion.plan(tensors.shapes, packable=packable)
    if untied is None:
        untied = _find_untied(model, converted, conversion, tensors)
    structure = find_structure(model, untied=untied)
    return SplitPlan(
        source=source,
        config=config,
        dtype=dtype,
        architecture=type(model).__name__,
        structure=structure,
        untied=untied,
        blocks=plan_blocks(source, structure, converted, tensors, config),
        tensors=tensors,
        conversion=conversion,
    )


def first_line(error: BaseException) -> str:
    """What an exception of transformers says, short enough for a sentence."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:200]


def _read_config(source: Source) -> tuple[Source, PreTrainedConfig, torch.dtype]:
    """The source with its tensor table filled, its config, and the dtype the split will have."""
    if source.kind is SourceKind.GGUF:
        from engine.store.gguf import gguf_dtype, read_gguf_config

        return source, read_gguf_config(source), gguf_dtype(source)
    if source.kind is SourceKind.PICKLE and not source.tensors:
        from engine.store.pickle_table import with_pickle_table

        source = with_pickle_table(source)
    try:
        config = read_model_config(source.root, runs_code=bool(source.code))
    except CONFIG_PROBLEMS as error:
        raise _contradiction(source, error) from error
    return source, config, _choose_dtype(source, config)


def _contradiction(source: Source, error: Exception) -> SourceError:
    return SourceError(
        f"config.json in {source.root} contradicts itself: {first_line(error)}",
        "Download this file again.",
        detail=repr(error),
    )


def _choose_dtype(source: Source, config: PreTrainedConfig) -> torch.dtype:
    """The dtype of ``from_pretrained(dtype="auto")``: the config's, else that of the first floating tensor.

    Packed weights are expanded to bfloat16 then, as their own dtypes are none to compute in.
    """
    if isinstance(config.dtype, torch.dtype):
        return config.dtype
    if find_quantisation(source.config) is not None:
        return torch.bfloat16
    shapes = ShardTensors(source).shapes
    return next((shape.dtype for shape in shapes.values() if shape.dtype.is_floating_point), torch.float32)


def _build_model(config: PreTrainedConfig, dtype: torch.dtype, *, code: Path | None) -> PreTrainedModel:
    """Empty. The language part alone where another part takes a library that is not there (gemma3n's eyes: timm)."""
    model_class = find_model_class(config, code=code)
    try:
        return build_empty_model(model_class, config_for(model_class, config), dtype)
    except CONFIG_PROBLEMS as error:
        text_class = find_text_class(config) if isinstance(error, ImportError) else None
        if text_class is not None:
            log.info("%s without what else there is in it: %s", text_class.__name__, first_line(error))
            return build_empty_model(text_class, config_for(text_class, config), dtype)
        raise UnsupportedModel(
            f"{model_class.__name__} cannot be built from this config: {first_line(error)}",
            "Download config.json again, or choose another model.",
            detail=repr(error),
        ) from error


def _open_tensors(source: Source, model: PreTrainedModel, dtype: torch.dtype) -> TensorSource:
    if source.kind is SourceKind.GGUF:
        from engine.store.gguf import open_gguf_tensors

        return open_gguf_tensors(source, model, dtype)
    return ShardTensors(source)


def _open_conversion(
    source: Source, model: PreTrainedModel, dtype: torch.dtype, tensors: TensorSource
) -> CheckpointConversion:
    quantisation = find_quantisation(source.config)
    if quantisation is None:
        return CheckpointConversion(model, dtype, weight_mapping=tensors.weight_mapping, quantizer=tensors.quantizer)
    try:
        mapping, quantizer = quantised_conversion(model, quantisation.method, quantisation.settings)
    except CONFIG_PROBLEMS as error:
        raise _contradiction(source, error) from error
    return CheckpointConversion(model, dtype, weight_mapping=mapping, quantizer=quantizer)


def _find_untied(
    model: PreTrainedModel, converted: ConversionPlan, conversion: CheckpointConversion, tensors: TensorSource
) -> frozenset[str]:
    """Names the config ties to another, but whose values in the checkpoint differ: transformers does not tie those."""

    def digest(name: str) -> bytes:
        return _digest_tensor(name, converted, conversion, tensors)

    present = converted.tensors
    return frozenset(
        alias
        for alias, stored in find_structure(model).aliases.items()
        if alias in present and stored in present and digest(alias) != digest(stored)
    )


def _digest_tensor(
    name: str, converted: ConversionPlan, conversion: CheckpointConversion, tensors: TensorSource
) -> bytes:
    """sha256 of one model tensor's bytes, without writing it anywhere."""
    group = next(group for group in converted.groups if name in group.targets)
    digest = hashlib.sha256()
    if not group.copies:
        digest.update(bytes_of(conversion.convert(group, tensors.load)[name]))
    for key in group.copies:
        for piece in tensors.stream(key, converted.tensors[name].dtype):
            digest.update(piece.data)
            if piece.release is not None:
                piece.release()
    return digest.digest()
