"""A lookup matrix read row by row: only the rows a pass asks for ever leave the disk or the host.

Owns the file ranges of one 2-D tensor, and what stands in its place in a module. A row is small and its place
arbitrary, so each read covers the aligned range around it, and none reads ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, Self, cast

import torch
from torch.nn import functional

from engine.weights.absent_weight import AbsentWeight
from engine.weights.direct_io import ALIGNMENT, ReadHandle, aligned_buffer, round_up
from engine.weights.reader import Piece, Reader

SCRATCH_BYTES = 4 << 20
"""Aligned memory that rows are read into, a batch at a time: a long prompt asks for thousands at once."""


class RowTable(Protocol):
    """``gather`` gives the rows of these ids (int64, 1-D, CPU) as a [ids, columns] CPU tensor.

    ``rows_read`` and ``bytes_read`` count what came from the disk.
    """

    rows_read: int
    bytes_read: int

    def gather(self, ids: torch.Tensor) -> torch.Tensor: ...


class HostRowTable:
    """Rows of a matrix that lies in host memory."""

    rows_read = 0
    bytes_read = 0

    def __init__(self, weight: torch.Tensor) -> None:
        self._weight = weight

    def gather(self, ids: torch.Tensor) -> torch.Tensor:
        return self._weight.index_select(0, ids)


class DiskRowTable:
    """Rows of a matrix stored contiguously in a file from ``offset`` on, ``shape`` = [rows, columns]."""

    def __init__(
        self, reader: Reader, handle: ReadHandle, offset: int, shape: tuple[int, ...], dtype: torch.dtype
    ) -> None:
        self._reader = reader
        self._handle = handle
        self._offset = offset
        self._columns = shape[1]
        self._dtype = dtype
        self._row_nbytes = shape[1] * dtype.itemsize
        self._span = round_up(self._row_nbytes) + ALIGNMENT
        self._batch = max(SCRATCH_BYTES // self._span, 1)
        self._scratch = memoryview(b"")
        self.rows_read = 0
        self.bytes_read = 0

    def gather(self, ids: torch.Tensor) -> torch.Tensor:
        """Reads as many rows at once as the scratch memory holds. Raises ``OSError``."""
        rows = [int(row) for row in ids.tolist()]
        wanted = min(len(rows), self._batch) * self._span
        if wanted > len(self._scratch):
            self._scratch = aligned_buffer(wanted)
        result = torch.empty(len(rows), self._columns, dtype=self._dtype)
        flat = memoryview(cast(Any, result.view(torch.uint8).reshape(-1).numpy()))
        for start in range(0, len(rows), self._batch):
            batch = rows[start : start + self._batch]
            self._read(batch, flat[start * self._row_nbytes :])
        self.rows_read += len(rows)
        self.bytes_read += len(rows) * self._row_nbytes
        return result

    def _read(self, rows: list[int], destination: memoryview) -> None:
        ticket = self._reader.submit_scattered(self._handle, [self._piece(*place) for place in enumerate(rows)])
        ticket.wait()
        for index, row in enumerate(rows):
            start = index * self._span + (self._offset + row * self._row_nbytes) % ALIGNMENT
            destination[index * self._row_nbytes : (index + 1) * self._row_nbytes] = self._scratch[
                start : start + self._row_nbytes
            ]

    def _piece(self, index: int, row: int) -> Piece:
        """The aligned range around a row, and its place in the scratch memory."""
        start = self._offset + row * self._row_nbytes
        lead = start % ALIGNMENT
        place = self._scratch[index * self._span : index * self._span + round_up(lead + self._row_nbytes)]
        return Piece(start - lead, lead + self._row_nbytes, place)


class LookupWeight(AbsentWeight):
    """Stands where an embedding has its matrix, and gives rows of a table: to lookups, and one by its number."""

    _table: RowTable
    _reading: Callable[[], AbstractContextManager[None]]

    def served_by(self, table: RowTable, reading: Callable[[], AbstractContextManager[None]]) -> Self:
        """Rows are gathered from ``table`` inside ``reading()``."""
        self._table = table
        self._reading = reading
        return self

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is functional.embedding and isinstance(args[1], LookupWeight):
            return args[1]._look_up(args[0], **(kwargs or {}))
        if func is torch.Tensor.__getitem__ and isinstance(args[0], LookupWeight):
            row, *columns = args[1] if isinstance(args[1], tuple) else (args[1],)
            if isinstance(row, int) and not isinstance(row, bool):
                return args[0]._row(row)[tuple(columns)]
        return super().__torch_function__(func, types, args, kwargs)

    def _row(self, row: int) -> torch.Tensor:
        """[columns]."""
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        return self._look_up(torch.tensor(row % len(self)))

    def _look_up(self, ids: torch.Tensor, padding_idx: int | None = None, **options: Any) -> torch.Tensor:
        """The same as in the whole matrix; ``padding_idx``, a row of it, only matters to gradients."""
        rows, places = torch.unique(ids.cpu(), return_inverse=True)
        with self._reading():
            weight = self._table.gather(rows).to(self.device)
        return functional.embedding(places.to(ids.device if ids.ndim else weight.device), weight, **options)
