"""What stands where an output head has its matrix while that comes in ranges of rows.

It answers the one product that is asked of a head, range by range.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Self

import torch
from torch.nn import functional

from engine.store.manifest import BlockEntry, TensorEntry
from engine.streaming.row_ranges import RowRange
from engine.weights.absent_weight import AbsentWeight

HoldRange = Callable[[], AbstractContextManager[torch.Tensor]]
"""Brings a range in and gives its rows [rows, columns] for as long as it is entered."""


class RangedWeight(AbsentWeight):
    """Products with its rows, in their order."""

    _ranges: Sequence[HoldRange]

    def served_by(self, ranges: Sequence[HoldRange]) -> Self:
        self._ranges = ranges
        return self

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is functional.linear and isinstance(args[1], RangedWeight):
            return args[1]._product(args[0], *args[2:], **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs)

    def _product(self, states: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
        """[…, columns] → […, rows]. The bias is added in each range: afterwards it would be rounded once more."""
        products: list[torch.Tensor] = []
        first = 0
        for hold in self._ranges:
            with hold() as rows:
                part = None if bias is None else bias[first : first + len(rows)]
                products.append(functional.linear(states, rows, part))
                first += len(rows)
        return torch.cat(products, dim=-1)


def range_entries(blocks: Iterable[BlockEntry], ranges: Iterable[RowRange]) -> list[BlockEntry]:
    """The blocks, with each that is divided replaced by its ranges as blocks of the same file."""
    ranges_of: dict[str, list[RowRange]] = {}
    for each in ranges:
        ranges_of.setdefault(each.block, []).append(each)
    return [
        entry
        for block in blocks
        for entry in ([_range_entry(block, each) for each in ranges_of.get(block.name, ())] or [block])
    ]


def _range_entry(block: BlockEntry, rows: RowRange) -> BlockEntry:
    (matrix,) = block.tensors
    offset = block.data_offset + rows.first_row * (matrix.nbytes // matrix.shape[0])
    tensor = TensorEntry(matrix.name, matrix.dtype, (rows.row_count, matrix.shape[1]), 0, rows.nbytes)
    return dataclasses.replace(block, name=rows.name, size=offset + rows.nbytes, data_offset=offset, tensors=(tensor,))
