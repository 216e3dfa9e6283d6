"""The planner's view of a model's blocks: how each is used in a pass, and its bytes in memory. No torch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from engine.store.manifest import Manifest, TensorEntry
from engine.streaming.residency import BlockSize, Role
from engine.weights.direct_io import round_up


def block_sizes(manifest: Manifest) -> list[BlockSize]:
    """All blocks of a split, in the order of a pass."""
    return [
        block_size(block.name, block.kind, block.data_nbytes, block.tensors, manifest.aliases)
        for block in manifest.blocks
    ]


def block_size(
    name: str, kind: str, data_nbytes: int, tensors: Sequence[TensorEntry], aliases: Mapping[str, str]
) -> BlockSize:
    """One block; ``data_nbytes`` as in its file, rounded up to what a direct read fills."""
    role = Role.ONCE
    if kind == "norm":
        role = Role.ALWAYS
    elif kind == "embed" and not is_tied_to_head(tensors, aliases):
        role = Role.LOOKUP
    return BlockSize(name, role, round_up(data_nbytes), is_layer=kind == "layer")


def is_tied_to_head(tensors: Collection[TensorEntry], aliases: Mapping[str, str]) -> bool:
    """Whether the output head computes with this embedding's tensor: then it is used whole."""
    names = {tensor.name for tensor in tensors}
    return any(stored in names for stored in aliases.values())
