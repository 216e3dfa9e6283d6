"""The planner's view of a model's blocks: how each is used in a pass, and its bytes in memory. No torch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from engine.reports import WeightShape
from engine.store.manifest import BlockEntry, ExpertsEntry, Manifest, TensorEntry
from engine.streaming.residency import BlockSize, ExpertSizes, Role
from engine.weights.direct_io import round_up

WORKSPACE_BYTES = 16 << 20
"""For the piece of an expert that is being expanded: what ``engine.weights.packed`` works well with."""


def block_sizes(manifest: Manifest) -> list[BlockSize]:
    """All blocks of a split, in the order of a pass."""
    return [
        block_size(block.name, block.kind, block.data_nbytes, block.tensors, manifest.aliases)
        for block in manifest.blocks
    ]


def expert_sizes(files: Iterable[BlockEntry]) -> ExpertSizes | None:
    """The routed experts among a split's files, or None where there are none. One size of slots holds them all."""
    experts = [entry for entry in files if isinstance(entry, ExpertsEntry)]
    if not experts:
        return None
    return ExpertSizes(
        slot_nbytes=max(entry.stride for entry in experts),
        count=sum(entry.count for entry in experts),
        floor_slots=max(entry.routed for entry in experts),
        routed_slots=sum(entry.routed for entry in experts),
        scratch_nbytes=scratch_nbytes(experts),
        expanded_nbytes=max(entry.expanded_nbytes for entry in experts),
    )


def scratch_nbytes(experts: Iterable[ExpertsEntry]) -> int:
    """Device memory in which one packed expert at a time is expanded; 0 where none is packed."""
    expanded = max((entry.expanded_nbytes for entry in experts), default=0)
    return round_up(expanded) + WORKSPACE_BYTES if expanded else 0


def weight_shape(manifest: Manifest) -> WeightShape:
    """What a token uses of a split, for a prediction without a plan."""
    blocks = block_sizes(manifest)
    layers = [block.nbytes for block in blocks if block.is_layer]
    used = [block.nbytes for block in blocks if block.role is Role.ONCE]
    experts = expert_sizes(manifest.experts) or ExpertSizes(0, 0, 0, 0)
    return WeightShape(
        layers=len(layers),
        layer_bytes=sum(layers) // max(len(layers), 1),
        used_bytes=sum(used),
        lookup_bytes=sum(block.nbytes for block in blocks if block.role is Role.LOOKUP),
        expert_bytes=experts.slot_nbytes,
        expanded_bytes=experts.expanded_nbytes,
        experts=experts.count,
        routed=experts.routed_slots,
        routed_in_layer=experts.floor_slots,
    )


def block_size(
    name: str, kind: str, data_nbytes: int, tensors: Sequence[TensorEntry], aliases: Mapping[str, str]
) -> BlockSize:
    """One block; ``data_nbytes`` as in its file, rounded up to what a direct read fills."""
    role = Role.TOWER if kind == "tower" else Role.ONCE
    if kind == "norm":
        role = Role.ALWAYS
    elif kind == "embed" and not is_tied_to_head(tensors, aliases):
        role = Role.LOOKUP
    is_head = kind == "head" or (kind == "embed" and role is Role.ONCE)
    size = BlockSize(name, role, round_up(data_nbytes), is_layer=kind == "layer")
    if not is_head or len(tensors) != 1:
        return size
    rows = tensors[0].shape[0]
    return replace(size, rows=rows, row_nbytes=tensors[0].nbytes // rows)


def is_tied_to_head(tensors: Collection[TensorEntry], aliases: Mapping[str, str]) -> bool:
    """Whether the output head computes with this embedding's tensor: then it is used whole."""
    names = {tensor.name for tensor in tensors}
    return any(stored in names for stored in aliases.values())
