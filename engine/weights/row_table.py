"""A lookup matrix read row by row: only the rows a pass asks for ever leave the disk or the host.

Owns the file ranges of one 2-D tensor. A row is small and its place arbitrary, so each read covers the
aligned range around it.
"""

from __future__ import annotations

from typing import Any, Protocol, cast

import torch

from engine.weights.direct_io import ALIGNMENT, ReadHandle, aligned_buffer, round_up
from engine.weights.reader import Reader, ReadTicket


class RowTable(Protocol):
    """``gather`` gives the rows of these ids (int64, 1-D, CPU) as a [ids, columns] CPU tensor."""

    bytes_read: int

    def gather(self, ids: torch.Tensor) -> torch.Tensor: ...


class HostRowTable:
    """Rows of a matrix that lies in host memory."""

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
        self._scratch = aligned_buffer(self._span)
        self.bytes_read = 0

    def gather(self, ids: torch.Tensor) -> torch.Tensor:
        """Reads all rows at once. Raises ``OSError``."""
        rows = [int(row) for row in ids.tolist()]
        if len(rows) * self._span > len(self._scratch):
            self._scratch = aligned_buffer(len(rows) * self._span)
        tickets = [self._submit(index, row) for index, row in enumerate(rows)]
        result = torch.empty(len(rows), self._columns, dtype=self._dtype)
        flat = memoryview(cast(Any, result.view(torch.uint8).reshape(-1).numpy()))
        for index, (ticket, lead) in enumerate(tickets):
            ticket.wait()
            start = index * self._span + lead
            flat[index * self._row_nbytes : (index + 1) * self._row_nbytes] = self._scratch[
                start : start + self._row_nbytes
            ]
        self.bytes_read += len(rows) * self._row_nbytes
        return result

    def _submit(self, index: int, row: int) -> tuple[ReadTicket, int]:
        start = self._offset + row * self._row_nbytes
        lead = start % ALIGNMENT
        nbytes = lead + self._row_nbytes
        place = self._scratch[index * self._span : (index + 1) * self._span]
        return self._reader.submit(self._handle, start - lead, nbytes, place), lead
