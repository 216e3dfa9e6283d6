"""What a split of a source will hold, byte for byte, decided before a weight is read.

Says for each block file which checkpoint tensors it is made of and where every byte goes; refuses a checkpoint
whose tensors are missing or have the wrong shape.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from transformers import PreTrainedConfig

from engine.errors import SourceError, UnsupportedModel
from engine.models.structure import BlockSpec, ModelStructure
from engine.models.transformers_internals import CheckpointConversion, ConversionGroup, ConversionPlan
from engine.store.layout import FileLayout, PlannedTensor, lay_out
from engine.store.source import Source
from engine.store.tensor_source import TensorSource
from engine.weights.dtypes import DTYPE_NAMES

log = logging.getLogger(__name__)

BLOCKS_FOLDER = "blocks"


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """One block file to be: ``groups`` in the order in which they produce the tensors of ``layout``.

    ``names`` maps what a group produces to the stored name, where a tied tensor came under another of its names.
    """

    spec: BlockSpec
    file: str
    layout: FileLayout
    groups: tuple[ConversionGroup, ...]
    names: Mapping[str, str]
    source_files: frozenset[str]


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """A whole split to be, with what is needed to carry it out. ``blocks`` are in the order of a pass."""

    source: Source
    config: PreTrainedConfig
    dtype: torch.dtype
    architecture: str
    structure: ModelStructure
    untied: frozenset[str]
    blocks: tuple[BlockPlan, ...]
    tensors: TensorSource
    conversion: CheckpointConversion

    @property
    def nbytes(self) -> int:
        """Size of all block files."""
        return sum(block.layout.size for block in self.blocks)


def plan_blocks(
    source: Source, structure: ModelStructure, converted: ConversionPlan, tensors: TensorSource
) -> tuple[BlockPlan, ...]:
    """Raises ``SourceError`` or ``UnsupportedModel`` where the checkpoint does not fill the model.

    Buffers of a block that no checkpoint carries are left out: the model computes them.
    """
    _require_complete(source, converted)
    group_of = {target: group for group in converted.groups for target in group.targets}
    other_names: dict[str, list[str]] = {}
    for alias, stored in structure.aliases.items():
        other_names.setdefault(stored, []).append(alias)
    plans: list[BlockPlan] = []
    for spec in structure.blocks:
        names: dict[str, str] = {}
        for stored in spec.tensors:
            candidates = [stored, *other_names.get(stored, [])]
            if (produced := next((name for name in candidates if name in group_of), None)) is not None:
                names[produced] = stored
        if names:
            groups = tuple(dict.fromkeys(group_of[name] for name in names))
            plans.append(_plan_block(spec, groups, names, converted, tensors))
    return tuple(plans)


def _plan_block(
    spec: BlockSpec,
    groups: tuple[ConversionGroup, ...],
    names: Mapping[str, str],
    converted: ConversionPlan,
    tensors: TensorSource,
) -> BlockPlan:
    in_order = [name for group in groups for name in group.targets if name in names]
    shapes = [converted.tensors[name] for name in in_order]
    planned = [
        PlannedTensor(names[name], DTYPE_NAMES[shape.dtype], shape.shape)
        for name, shape in zip(in_order, shapes, strict=True)
    ]
    files = [tensors.files_of(key) for group in groups for key in group.sources]
    return BlockPlan(
        spec=spec,
        file=f"{BLOCKS_FOLDER}/{spec.name}.safetensors",
        layout=lay_out(planned),
        groups=groups,
        names=names,
        source_files=frozenset[str]().union(*files),
    )


def _require_complete(source: Source, converted: ConversionPlan) -> None:
    if converted.problems:
        raise UnsupportedModel(
            f"{_count(len(converted.problems), 'tensor')} of this checkpoint do not fit its config: "
            f"{converted.problems[0]}.",
            "Download config.json and the weight files again from the same revision.",
            detail="\n".join(converted.problems),
        )
    if converted.missing:
        listed = ", ".join(converted.missing[:3]) + (" …" if len(converted.missing) > 3 else "")
        raise SourceError(
            f"{_count(len(converted.missing), 'tensor')} of the model are not in this checkpoint: {listed}.",
            "Download the model again; if that does not help, this version of Strata does not know its format.",
            detail="\n".join(converted.missing),
        )
    if converted.unused:
        log.info("%s: not used by the model: %s", source.record.path, ", ".join(converted.unused))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
