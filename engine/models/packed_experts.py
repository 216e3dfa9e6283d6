"""Which stacked experts a split can hold packed as the checkpoint has them: told from the conversion, name and shape.

The loader expands each expert's matrices, joins gate and up and stacks the experts. None of it moves numbers about
within a row, so a record can hold the packed rows of gate and up one after the other, and their scales as well:
expanding them all gives what expanding each and joining gives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from transformers.core_model_loading import Concatenate, MergeModulelist
from transformers.integrations.finegrained_fp8 import Fp8Dequantize
from transformers.integrations.mxfp4 import Mxfp4Dequantize

from engine.models.quantised_loading import EXPANDING, CompressedTensorsExpand, compressed_encoding
from engine.weights.packed import MXFP4, SCALED, SCALES, VALUES, is_known

Shape = tuple[int, ...]

_DROPPED = ("activation_scale", "weight_shape")
"""Endings of what stands beside packed weights and does not matter to them."""


class _Source(Protocol):
    @property
    def shape(self) -> Shape: ...

    @property
    def dtype(self) -> torch.dtype: ...


@dataclass(frozen=True, slots=True)
class PackedPart:
    """One packed tensor of all experts: its sources in the order of its bytes, shape [experts, rows, …], dtype."""

    part: str
    sources: tuple[str, ...]
    shape: Shape
    dtype: torch.dtype

    def name_of(self, parameter: str) -> str:
        """What this part of ``parameter`` is called in a split."""
        return f"{parameter}.{self.part}"


@dataclass(frozen=True, slots=True)
class PackedParameter:
    """A stacked parameter [experts, rows, columns] as a split can hold it packed.

    ``is_transposed``: the checkpoint has every expert's matrix transposed, and its numbers packed along the other way.
    """

    encoding: str
    is_transposed: bool
    parts: tuple[PackedPart, PackedPart]


@dataclass(frozen=True, slots=True)
class _Stack:
    """Tensors of one checkpoint name: one for each expert, or one of all; ``shape`` [rows, …] is one expert's."""

    keys: tuple[str, ...]
    shape: Shape
    dtype: torch.dtype


@dataclass(frozen=True, slots=True)
class _Pair:
    """What of each expert is packed together: gate, up, down, or gate and up already joined."""

    values: _Stack
    scales: _Stack


def find_packing(
    operations: Sequence[object],
    keys: Sequence[tuple[str, str | None]],
    patterns: Sequence[str],
    sources: Mapping[str, _Source],
    target: Shape,
    dtype: torch.dtype,
) -> PackedParameter | None:
    """How the parameter of shape ``target`` can stay packed, or None where its experts have to be expanded to be cut.

    ``operations`` and ``patterns`` are the converter's, in its order; ``keys`` the checkpoint's with the pattern each
    matched, in the order in which experts are stacked; ``sources`` their shapes and dtypes.
    """
    if not operations or not isinstance(operations[0], EXPANDING) or len(target) != 3:
        return None
    is_listed = _are_listed(operations[1:])
    if is_listed is None:
        return None
    by_pattern = {pattern: [key for key, found in keys if found == pattern] for pattern in patterns}
    pairs: list[_Pair] = []
    for name in patterns:
        scales_name = next((other for other in _scales_of(name) if by_pattern.get(other)), None)
        if scales_name is None or not by_pattern[name]:
            continue
        values = _stack(by_pattern[name], sources, target[0], is_listed)
        scales = _stack(by_pattern[scales_name], sources, target[0], is_listed)
        if values is None or scales is None:
            return None
        pairs.append(_Pair(values, scales))
    used = {key for pair in pairs for stack in (pair.values, pair.scales) for key in stack.keys}
    is_all = all(key in used or str(found).endswith(_DROPPED) for key, found in keys)
    if not pairs or not is_all or (len(pairs) > 1 and not is_listed):
        return None
    return _join(operations[0], pairs, target, dtype)


def _are_listed(operations: Sequence[object]) -> bool | None:
    """Whether experts come one by one and are stacked; False where they come stacked, None for any other way."""
    match [(type(operation), getattr(operation, "dim", None)) for operation in operations]:
        case []:
            return False
        case [(op, 0)] if op is MergeModulelist:
            return True
        case [(op, 0), (then, 1)] if op is MergeModulelist and then is Concatenate:
            return True
        case _:
            return None


def _scales_of(pattern: str) -> tuple[str, ...]:
    """The patterns that scales of values of this pattern may have; none where it is no values' pattern."""
    if pattern.endswith("_blocks"):
        return (pattern.removesuffix("_blocks") + "_scales",)
    if pattern.endswith("weight_packed"):
        return (pattern.removesuffix("_packed") + "_scale",)
    return (f"{pattern}_scale_inv", f"{pattern}_scale") if pattern.endswith("weight") else ()


def _stack(keys: Sequence[str], sources: Mapping[str, _Source], count: int, is_listed: bool) -> _Stack | None:
    found = {(tuple(sources[key].shape), sources[key].dtype) for key in keys}
    if len(found) != 1 or len(keys) != (count if is_listed else 1):
        return None
    ((shape, dtype),) = found
    if not is_listed:
        if shape[:1] != (count,):
            return None
        shape = shape[1:]
    return _Stack(tuple(keys), shape, dtype)


def _join(operation: object, pairs: Sequence[_Pair], target: Shape, dtype: torch.dtype) -> PackedParameter | None:
    """The rows of every pair one after the other, if their values and the blocks of their scales are all alike."""
    matrices = [_as_matrix(pair.values.shape) for pair in pairs]
    grids = [_as_matrix(pair.scales.shape) for pair in pairs]
    if len({(pair.values.dtype, pair.scales.dtype) for pair in pairs}) != 1:
        return None
    values_dtype, scales_dtype = pairs[0].values.dtype, pairs[0].scales.dtype
    # compressed-tensors multiplies in the scales' dtype: with two different half ones, that rounds twice.
    if isinstance(operation, CompressedTensorsExpand) and scales_dtype.itemsize == 2 and scales_dtype is not dtype:
        return None
    encoding = _encoding(operation, values_dtype)
    is_transposed = isinstance(operation, Mxfp4Dequantize)
    rows, blocks = sum(matrix[0] for matrix in matrices), sum(grid[0] for grid in grids)
    columns = target[1] if is_transposed else target[2]
    shape = (target[0], columns, rows) if is_transposed else (target[0], rows, columns)
    block_rows = {matrix[0] / grid[0] for matrix, grid in zip(matrices, grids, strict=True)}
    widths = {(matrix[1], grid[1]) for matrix, grid in zip(matrices, grids, strict=True)}
    if target != shape or len(widths) != 1 or len(block_rows) != 1 or not block_rows.pop().is_integer():
        return None
    width, grid_width = widths.pop()
    if not is_known(encoding, values_dtype, scales_dtype, width, columns) or columns % grid_width:
        return None
    packed, grid = (rows, width), (blocks, grid_width)
    if is_transposed:
        if encoding != MXFP4 or rows % 2:
            return None
        packed, grid = (columns, rows // 2), (grid_width, blocks)
    values = PackedPart(VALUES, _in_turn([p.values for p in pairs]), (target[0], *packed), values_dtype)
    scales = PackedPart(SCALES, _in_turn([p.scales for p in pairs]), (target[0], *grid), scales_dtype)
    return PackedParameter(encoding, is_transposed, (values, scales))


def _encoding(operation: object, values: torch.dtype) -> str:
    if isinstance(operation, Mxfp4Dequantize):
        return MXFP4
    if isinstance(operation, Fp8Dequantize):
        return MXFP4 if values is torch.int8 else SCALED
    return compressed_encoding(values)


def _as_matrix(shape: Shape) -> tuple[int, int]:
    """[rows, columns] of what is stored as such, in groups of columns (MXFP4's blocks), or as a single number."""
    return (shape[0], math.prod(shape[1:])) if shape else (1, 1)


def _in_turn(stacks: Sequence[_Stack]) -> tuple[str, ...]:
    return tuple(key for keys in zip(*(stack.keys for stack in stacks), strict=True) for key in keys)
