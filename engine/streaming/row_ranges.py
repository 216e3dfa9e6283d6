"""An output head too large for the slots that layers pass through, as ranges of its rows. Pure.

A head of 150,000 tokens takes as much memory as several layers of a small model, and is used once a pass. In ranges of
rows it passes through the layers' slots. A product taken in ranges may be rounded otherwise than the whole one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

PAGE_BYTES = 4096
ROWS_TOGETHER = 64
"""A range has a multiple of so many rows, as kernels like it."""

LARGEST_RANGE_BYTES = 256 << 20
"""Smaller than the largest layers, so that some ranges can stay where not all can."""


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows of the one matrix of ``block``, streamed as a block ``name`` of their own. ``nbytes`` are theirs alone."""

    name: str
    block: str
    first_row: int
    row_count: int
    nbytes: int


def divide_rows(block: str, rows: int, row_nbytes: int, most_bytes: int) -> tuple[RowRange, ...]:
    """Ranges of about ``most_bytes``, each starting at a whole page; nothing where that gives less than two."""
    unit = math.lcm(ROWS_TOGETHER, PAGE_BYTES // math.gcd(PAGE_BYTES, row_nbytes))
    step = max(min(most_bytes, LARGEST_RANGE_BYTES) // row_nbytes // unit, 1) * unit
    starts: Sequence[int] = range(0, rows, step)
    if len(starts) < 2:
        return ()
    counts = [min(step, rows - start) for start in starts]
    return tuple(
        RowRange(f"{block}-{number:03d}", block, start, count, count * row_nbytes)
        for number, (start, count) in enumerate(zip(starts, counts, strict=True))
    )


def round_to_page(nbytes: int) -> int:
    """What a direct read of so many bytes fills."""
    return nbytes + -nbytes % PAGE_BYTES
