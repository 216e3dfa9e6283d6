"""One message of the transcript: its parts once somebody comes near, its heights, measured or guessed.

Knows no widgets: the transcript measures and tells it.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.chat.live_progress import LiveProgress
from app.chat.parts import MessageParts, Part, PartKind, guess_height
from app.conversations.records import StoredMessage

_GAP_BETWEEN_MESSAGES = 12
_GAP = 12
_SMALL_GAP = 4


class TranscriptItem:
    """``heights`` include the gap above each part; ``measured`` says for which of them somebody looked."""

    def __init__(self, message: StoredMessage, width: int, line_height: int, progress: LiveProgress | None) -> None:
        self.message = message
        self.progress = progress or LiveProgress()
        self._parts: MessageParts | None = None
        self._pending_text = ""
        self._line_height = line_height
        self._width = width
        self.heights: list[int] = []
        self.measured: list[bool] = []
        self.height = guess_height(message, width, line_height)

    @property
    def parts(self) -> list[Part]:
        return self._made().parts

    @property
    def is_made(self) -> bool:
        return self._parts is not None

    @property
    def source_text(self) -> str:
        return (self._parts.text if self._parts else self.message.text) + self._pending_text

    def make(self) -> None:
        """Cuts the message into its parts, with guessed heights."""
        self._made()

    def update(self, message: StoredMessage) -> None:
        self.message = message
        self._pending_text = ""
        if self._parts is not None:
            before = self._parts.parts
            self._parts.update(message)
            self._resize(before)

    def append(self, text: str) -> None:
        """Kept until ``flush``: many tokens become one change."""
        self._pending_text += text

    def flush(self) -> None:
        if not self._pending_text:
            return
        text, self._pending_text = self._pending_text, ""
        before = self.parts
        self._made().append(text)
        self.message = self._made().message
        self._resize(before)

    def toggle_thinking(self) -> None:
        before = self.parts
        self._made().toggle_thinking()
        self._resize(before)

    def set_height(self, index: int, height: int) -> None:
        self.height += height - self.heights[index]
        self.heights[index] = height
        self.measured[index] = True

    def forget_measures(self, width: int) -> None:
        """The width changed: what is known are guesses now."""
        self._width = width
        self.measured = [False] * len(self.heights)
        if self._parts is None:
            self.height = guess_height(self.message, width, self._line_height)

    def top_of(self, index: int) -> int:
        return sum(self.heights[:index])

    def part_at(self, y: int) -> int:
        top = 0
        for index, height in enumerate(self.heights):
            top += height
            if y < top:
                return index
        return max(len(self.heights) - 1, 0)

    def gap_above(self, index: int) -> int:
        if index == 0:
            return _GAP_BETWEEN_MESSAGES
        kind, before = self.parts[index].kind, self.parts[index - 1].kind
        if not self.parts[index].is_first and kind is before:
            return 0
        if kind is PartKind.FOOTER or before is PartKind.NAME:
            return _SMALL_GAP
        return _GAP

    def _made(self) -> MessageParts:
        if self._parts is None:
            self._parts = MessageParts(self.message)
            self._resize([])
        return self._parts

    def _resize(self, before: Sequence[Part]) -> None:
        """What is known of parts that stayed is kept."""
        parts = self._made().parts
        heights, measured = self.heights, self.measured
        self.heights, self.measured = [], []
        per_line = max(self._width // max(self._line_height // 3, 1), 20)
        for index, part in enumerate(parts):
            if index < len(before) and before[index] == part:
                self.heights.append(heights[index])
                self.measured.append(measured[index])
                continue
            lines = max(len(part.text) // per_line, part.text.count("\n")) + 1
            self.heights.append(lines * self._line_height + self.gap_above(index))
            self.measured.append(False)
        self.height = sum(self.heights)
