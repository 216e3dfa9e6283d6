"""What a split of a source will hold, byte for byte, decided before a weight is read.

Says for each block file which checkpoint tensors it is made of and where every byte goes; refuses a checkpoint
whose tensors are missing or have the wrong shape.
"""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from transformers import PreTrainedConfig

from engine.errors import SourceError, UnsupportedModel
from engine.models.structure import BlockKind, BlockSpec, ModelStructure
from engine.models.transformers_internals import CheckpointConversion, ConversionGroup, ConversionPlan
from engine.store.layout import FileLayout, PlannedTensor, lay_out
from engine.store.manifest import (
    FILE_ALIGNMENT,
    TENSOR_ALIGNMENT,
    WEIGHT_FOLDERS,
    BlockEntry,
    ExpertsEntry,
    PackedTensor,
    TensorEntry,
)
from engine.store.quantisation import find_quantisation, unsupported_quantisation
from engine.store.source import Source
from engine.store.tensor_source import TensorSource
from engine.weights.dtypes import DTYPE_NAMES

log = logging.getLogger(__name__)

BLOCKS_FOLDER, EXPERTS_FOLDER, TABLES_FOLDER, DRAFTS_FOLDER = WEIGHT_FOLDERS

_SCALE_ENDINGS = (
    "_scale_inv", "_scale", "_scales", "_scale_2", "_zero_point", "_global_scale", "_g_idx", ".qscale_weight",
)  # fmt: skip
_ROUTED_NAMES = (
    "num_experts_per_tok", "num_experts_per_token", "experts_per_token", "top_k_experts", "moe_topk", "moe_top_k",
    "moe_k",
)  # fmt: skip
_ROUTED_UNKNOWN = 8
"""Experts a token is taken to use where the config does not say: only the smallest cache depends on it."""

_LAYER = re.compile(r"(.*?layers\.)(\d+)\.")


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """The records of a file of experts, as ``ExpertsEntry`` has them.

    ``names`` are the tensors of all experts, stacked, that ``tensors`` are each expert's part of. ``transposed`` are
    packed ones of which the checkpoint has every expert's matrix transposed.
    """

    count: int
    stride: int
    routed: int
    tensors: tuple[TensorEntry, ...]
    names: tuple[str, ...]
    packed: tuple[PackedTensor, ...]
    transposed: frozenset[str]


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """One block file to be: ``groups`` in the order in which they produce the tensors of ``layout``.

    ``names`` maps what a group produces to the stored name, where a tied tensor came under another of its names.
    For a file of experts, ``records`` says how the tensors come one expert after the other.
    """

    spec: BlockSpec
    file: str
    layout: FileLayout
    groups: tuple[ConversionGroup, ...]
    names: Mapping[str, str]
    source_files: frozenset[str]
    records: RecordPlan | None = None

    @property
    def is_copied(self) -> bool:
        """Whether its file is the source's bytes one after the other, at most cast: it can be begun in the middle."""
        return self.records is None and all(group.copies for group in self.groups)

    @property
    def stored_tensors(self) -> tuple[TensorEntry, ...]:
        """What the manifest lists: every tensor of a block, those of one record of experts."""
        return self.layout.tensors if self.records is None else self.records.tensors

    def entry(self, size: int, sha256: str) -> BlockEntry:
        """What the manifest says of the file once it is written."""
        block = BlockEntry(
            name=self.spec.name,
            kind=self.spec.kind.value,
            module=self.spec.module,
            file=self.file,
            size=size,
            data_offset=self.layout.data_offset,
            sha256=sha256,
            tensors=self.stored_tensors,
        )
        if self.records is None:
            return block
        fields = {field.name: getattr(block, field.name) for field in dataclasses.fields(block)}
        return ExpertsEntry(
            **fields,
            count=self.records.count,
            stride=self.records.stride,
            routed=self.records.routed,
            packed=self.records.packed,
        )


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
    source: Source,
    structure: ModelStructure,
    converted: ConversionPlan,
    tensors: TensorSource,
    config: PreTrainedConfig,
) -> tuple[BlockPlan, ...]:
    """Raises ``SourceError`` or ``UnsupportedModel`` where the checkpoint does not fill the model.

    Buffers of a block that no checkpoint carries are left out: the model computes them.
    """
    _require_complete(source, converted)
    if find_quantisation(source.config) is not None:
        _require_expanded(converted, tensors)
    group_of = {target: group for group in converted.groups for target in group.targets}
    other_names: dict[str, list[str]] = {}
    for alias, stored in structure.aliases.items():
        other_names.setdefault(stored, []).append(alias)
    plans: list[BlockPlan] = []
    for spec in structure.blocks:
        if spec.kind is BlockKind.EXPERTS:
            plans.append(_plan_experts(spec, group_of, converted, tensors, _routed_experts(config)))
            continue
        names: dict[str, str] = {}
        for stored in spec.tensors:
            candidates = [stored, *other_names.get(stored, [])]
            if (produced := next((name for name in candidates if name in group_of), None)) is not None:
                names[produced] = stored
        if names:
            groups = tuple(dict.fromkeys(group_of[name] for name in names))
            plans.append(_plan_block(spec, groups, names, converted, tensors))
    drafts = _draft_keys(converted, structure)
    return (*plans, _plan_drafts(drafts, tensors)) if drafts else tuple(plans)


def _draft_keys(converted: ConversionPlan, structure: ModelStructure) -> list[str]:
    """Of layers that predict several tokens ahead: ``mtp.…``, or decoder layers beyond the model's last."""
    sources = [
        key
        for group in converted.groups
        if any(target.startswith(f"{structure.layers_path}.") for target in group.targets)
        for key in group.sources
    ]
    own = [match for key in sources if (match := _LAYER.match(key))]
    ways, count = {match[1] for match in own}, max((int(match[2]) + 1 for match in own), default=0)

    def is_beyond(key: str) -> bool:
        match = _LAYER.match(key)
        return match is not None and match[1] in ways and int(match[2]) >= count

    return [key for key in converted.unused if "mtp" in key.split(".") or is_beyond(key)]


def _plan_drafts(keys: Sequence[str], tensors: TensorSource) -> BlockPlan:
    """As the checkpoint has them: no part of the model that is cut here knows what they become."""
    groups = tuple(ConversionGroup((key,), (key,), copies=(key,)) for key in keys)
    planned = [PlannedTensor(key, DTYPE_NAMES[tensors.shapes[key].dtype], tensors.shapes[key].shape) for key in keys]
    return BlockPlan(
        spec=BlockSpec("mtp", BlockKind.DRAFT, None, tuple(keys)),
        file=f"{DRAFTS_FOLDER}/mtp.safetensors",
        layout=lay_out(planned),
        groups=groups,
        names={key: key for key in keys},
        source_files=_files_of(groups, tensors),
    )


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
    folder = TABLES_FOLDER if spec.kind is BlockKind.TABLE else BLOCKS_FOLDER
    return BlockPlan(
        spec=spec,
        file=f"{folder}/{spec.name}.safetensors",
        layout=lay_out(planned),
        groups=groups,
        names=names,
        source_files=_files_of(groups, tensors),
    )


def _plan_experts(
    spec: BlockSpec,
    group_of: Mapping[str, ConversionGroup],
    converted: ConversionPlan,
    tensors: TensorSource,
    routed: int | None,
) -> BlockPlan:
    """One record after the other, each with its part of every stacked tensor and starting at a whole page."""
    names = tuple(name for parameter in spec.tensors for name in _stored_names(parameter, converted))
    shapes = [converted.tensors[name] for name in names]
    count = shapes[0].shape[0]
    parts = [
        PlannedTensor(name.removeprefix(f"{spec.module}."), DTYPE_NAMES[shape.dtype], shape.shape[1:])
        for name, shape in zip(names, shapes, strict=True)
    ]
    record = lay_out(parts)
    named = [
        replace(part, name=f"{spec.module}.{expert}.{part.name}", alignment=TENSOR_ALIGNMENT if i else FILE_ALIGNMENT)
        for expert in range(count)
        for i, part in enumerate(parts)
    ]
    nbytes = record.size - record.data_offset
    groups = tuple(dict.fromkeys(group_of[name] for name in names))
    return BlockPlan(
        spec=spec,
        file=f"{EXPERTS_FOLDER}/{spec.name.replace('-experts', '')}.safetensors",
        layout=lay_out(named),
        groups=groups,
        names={name: name for name in names},
        source_files=_files_of(groups, tensors),
        records=RecordPlan(
            count=count,
            stride=nbytes + -nbytes % FILE_ALIGNMENT,
            routed=min(routed or _ROUTED_UNKNOWN, count),
            tensors=record.tensors,
            names=names,
            packed=_plan_expanding(spec, converted),
            transposed=frozenset(
                part.name_of(name)
                for name in spec.tensors
                if name in converted.packed and converted.packed[name].is_transposed
                for part in converted.packed[name].parts
            ),
        ),
    )


def _stored_names(parameter: str, converted: ConversionPlan) -> tuple[str, ...]:
    """What a split stores of a model tensor: itself, or its packed parts."""
    packed = converted.packed.get(parameter)
    return (parameter,) if packed is None else tuple(part.name_of(parameter) for part in packed.parts)


def _plan_expanding(spec: BlockSpec, converted: ConversionPlan) -> tuple[PackedTensor, ...]:
    """The packed parameters of one expert, with their places in the memory that experts are expanded in."""
    packed = {name: converted.packed[name] for name in spec.tensors if name in converted.packed}
    shapes = [converted.tensors[name] for name in packed]
    planned = [
        PlannedTensor(name.removeprefix(f"{spec.module}."), DTYPE_NAMES[shape.dtype], shape.shape[1:])
        for name, shape in zip(packed, shapes, strict=True)
    ]
    return tuple(
        PackedTensor(tensor.name, tensor.dtype, tensor.shape, tensor.offset, tensor.nbytes, how.encoding)
        for tensor, how in zip(lay_out(planned).tensors, packed.values(), strict=True)
    )


def _routed_experts(config: PreTrainedConfig) -> int | None:
    """How many experts of a layer one token uses, by the names configs have for it."""
    text = config.get_text_config()
    found = [getattr(text, name, None) for name in _ROUTED_NAMES]
    return next((max(value) if isinstance(value, list) else value for value in found if value), None)


def _files_of(groups: tuple[ConversionGroup, ...], tensors: TensorSource) -> frozenset[str]:
    return frozenset[str]().union(*(tensors.files_of(key) for group in groups for key in group.sources))


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
        log.info("%s: not part of the model: %s", source.record.path, ", ".join(converted.unused))


def _require_expanded(converted: ConversionPlan, tensors: TensorSource) -> None:
    """Raises ``UnsupportedModel`` where packed numbers would be taken for weights: their scales are nowhere applied."""
    used = {key for group in converted.groups for key in group.sources}
    for key in converted.unused:
        for ending in _SCALE_ENDINGS:
            weight = key.removesuffix(ending)
            if weight != key and not used.isdisjoint((weight, f"{weight}_packed", f"{weight}.weight")):
                raise unsupported_quantisation(f"{key} is not applied")
    for group in converted.groups:
        is_number = converted.tensors[group.targets[0]].dtype.itemsize > 1
        if group.copies and is_number and any(tensors.shapes[key].dtype.itemsize == 1 for key in group.copies):
            raise unsupported_quantisation(f"{group.copies[0]} has no scales")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
