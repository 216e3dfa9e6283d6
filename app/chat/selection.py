"""What the reader has marked in a conversation: from one place to another, across messages and parts.

Plain Python: places are compared, texts are asked for. Owns no widgets.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A character: the message's and the part's index, and the position in that part."""

    item: int
    part: int
    position: int


@dataclass(slots=True)
class Selection:
    """``anchor`` is where it was begun, ``head`` where it is now. Empty where they are equal or there is none."""

    anchor: Place | None = None
    head: Place | None = None

    def begin(self, place: Place) -> None:
        self.anchor = self.head = place

    def set(self, anchor: Place, head: Place) -> None:
        self.anchor, self.head = anchor, head

    def clear(self) -> None:
        self.anchor = self.head = None

    @property
    def is_empty(self) -> bool:
        return self.anchor is None or self.head is None or self.anchor == self.head

    @property
    def bounds(self) -> tuple[Place, Place]:
        """The earlier place first. Not for an empty selection."""
        assert self.anchor is not None
        assert self.head is not None
        return min(self.anchor, self.head), max(self.anchor, self.head)

    def within(self, item: int, part: int, length: int) -> tuple[int, int]:
        """What of a part is selected, as positions; (0, 0) for nothing."""
        if self.is_empty:
            return 0, 0
        first, last = self.bounds
        here = (item, part)
        if here < (first.item, first.part) or here > (last.item, last.part):
            return 0, 0
        start = first.position if here == (first.item, first.part) else 0
        end = last.position if here == (last.item, last.part) else length
        return start, end
