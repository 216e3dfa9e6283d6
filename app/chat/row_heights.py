"""Heights of thousands of rows: where each begins, which one is at a place. A Fenwick tree, plain Python.

Changing one height and finding a row take O(log n), so that a long conversation scrolls as a short one does.
"""

from __future__ import annotations

from collections.abc import Iterable


class RowHeights:
    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = list(heights)
        self._build()

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    @property
    def total(self) -> int:
        return self.top_of(len(self._heights))

    def append(self, height: int) -> None:
        self._heights.append(height)
        position = len(self._heights)
        low = position - (position & -position)
        self._tree.append(height + sum(self._between(low, position - 1)))

    def set(self, index: int, height: int) -> None:
        change = height - self._heights[index]
        if not change:
            return
        self._heights[index] = height
        position = index + 1
        while position <= len(self._heights):
            self._tree[position] += change
            position += position & -position

    def top_of(self, index: int) -> int:
        """The sum of all heights before ``index``."""
        total = 0
        while index > 0:
            total += self._tree[index]
            index -= index & -index
        return total

    def row_at(self, y: int) -> int:
        """The row that covers ``y``; the first or last one outside."""
        position = 0
        rest = y
        step = 1 << len(self._heights).bit_length()
        while step:
            following = position + step
            if following <= len(self._heights) and self._tree[following] <= rest:
                position = following
                rest -= self._tree[following]
            step >>= 1
        return min(position, max(len(self._heights) - 1, 0))

    def _between(self, low: int, high: int) -> Iterable[int]:
        return (self._heights[index] for index in range(low, high))

    def _build(self) -> None:
        self._tree = [0, *self._heights]
        for position in range(1, len(self._tree)):
            parent = position + (position & -position)
            if parent < len(self._tree):
                self._tree[parent] += self._tree[position]
