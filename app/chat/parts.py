"""A message as the parts it is drawn in, top to bottom. Plain Python.

Owns what belongs on screen for a message and in which order; growing an answer changes its last parts only. Knows
nothing of widgets, fonts or heights, except for a guess of how tall a message will be before anyone looks at it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from app.chat.source_blocks import BlockKind, SourceBlock, SourceBlocks
from app.conversations.records import WORKING, AnswerState, Attachment, StoredImage, StoredMessage

THINKING_BEGINS = "<think>"
THINKING_ENDS = "</think>"

# A question is cut into pieces of about this many characters, so that a pasted book is not laid out at once.
_QUESTION_PIECE = 6000


class PartKind(StrEnum):
    NAME = "name"
    IMAGES = "images"
    FILES = "files"
    QUESTION = "question"
    THINKING_HEAD = "thinking_head"
    THINKING = "thinking"
    PROSE = "prose"
    CODE = "code"
    FORMULA = "formula"
    LIVE = "live"
    ERROR = "error"
    FOOTER = "footer"


_OF_BLOCK = {BlockKind.PROSE: PartKind.PROSE, BlockKind.CODE: PartKind.CODE, BlockKind.FORMULA: PartKind.FORMULA}


@dataclass(frozen=True, slots=True)
class Part:
    """``is_first`` and ``is_last`` are for pieces that look like one; ``is_open`` for thinking that is unfolded."""

    kind: PartKind
    text: str = ""
    language: str = ""
    is_first: bool = True
    is_last: bool = True
    is_open: bool = False
    seconds: float | None = None
    files: tuple[Attachment, ...] = ()
    images: tuple[StoredImage, ...] = ()


class MessageParts:
    """The parts of one message. ``append`` for an answer that grows; ``update`` when its record changed."""

    def __init__(self, message: StoredMessage) -> None:
        self.message = message
        self.is_thinking_open = False
        self.parts: list[Part] = []
        self._text = ""
        self._thinking = SourceBlocks()
        self._answer = SourceBlocks()
        self._is_thinking = False
        self._has_thinking = False
        self._held = ""
        self._take(message.text)
        self._arrange()

    @property
    def text(self) -> str:
        return self._text

    def append(self, text: str) -> None:
        self._take(text)
        self.message = replace(self.message, text=self._text)
        self._arrange()

    def update(self, message: StoredMessage) -> None:
        """Takes over a new state of the message. Its text is parsed again only where it does not simply go on."""
        if message.text.startswith(self._text):
            self._take(message.text[len(self._text) :])
        else:
            self._restart(message.text)
        self.message = message
        self._arrange()

    def toggle_thinking(self) -> None:
        self.is_thinking_open = not self.is_thinking_open
        self._arrange()

    def _restart(self, text: str) -> None:
        self._text, self._held = "", ""
        self._thinking, self._answer = SourceBlocks(), SourceBlocks()
        self._is_thinking = self._has_thinking = False
        self._take(text)

    def _take(self, text: str) -> None:
        self._text += text
        if self.message.role != "assistant" or not text:
            return
        text = self._held + text
        self._held = ""
        if not self._has_thinking and not self._answer.blocks:
            start = text.lstrip()
            if THINKING_BEGINS.startswith(start[: len(THINKING_BEGINS)]) and len(start) < len(THINKING_BEGINS):
                self._held = text if self.message.state in WORKING else ""
                if self._held:
                    return
            if start.startswith(THINKING_BEGINS):
                self._is_thinking = self._has_thinking = True
                text = start.removeprefix(THINKING_BEGINS).lstrip("\n")
        if self._is_thinking:
            self._take_thinking(text)
        elif not self._has_thinking and THINKING_ENDS in self._text:
            # The template had opened the thinking: all before the mark was it.
            self._answer = SourceBlocks()
            self._is_thinking = self._has_thinking = True
            self._take_thinking(self._text)
        else:
            self._answer.append(text)

    def _take_thinking(self, text: str) -> None:
        thought, mark, rest = text.partition(THINKING_ENDS)
        if not mark:
            cut = _unfinished_mark(thought)
            self._held = thought[len(thought) - cut :]
            self._thinking.append(thought[: len(thought) - cut])
            return
        self._is_thinking = False
        self._thinking.append(thought)
        self._answer.append(rest.lstrip("\n"))

    def _arrange(self) -> None:
        """A new list: who kept the old one can compare."""
        self.parts = self._question_parts() if self.message.role != "assistant" else self._answer_parts()

    def _question_parts(self) -> list[Part]:
        parts: list[Part] = []
        if self.message.images:
            parts.append(Part(PartKind.IMAGES, images=self.message.images))
        if self.message.attachments:
            parts.append(Part(PartKind.FILES, files=self.message.attachments))
        if parts and not self._text.strip():
            return [*parts, Part(PartKind.FOOTER)]
        pieces = question_pieces(self._text)
        last = len(pieces) - 1
        parts += [Part(PartKind.QUESTION, each, is_first=i == 0, is_last=i == last) for i, each in enumerate(pieces)]
        return [*parts, Part(PartKind.FOOTER)]

    def _answer_parts(self) -> list[Part]:
        message = self.message
        parts = [Part(PartKind.NAME, message.model)]
        if self._has_thinking and (self._thinking.blocks or self._is_thinking):
            parts.append(
                Part(
                    PartKind.THINKING_HEAD,
                    is_open=self.is_thinking_open,
                    is_last=not self._is_thinking,
                    seconds=message.thinking_s,
                )
            )
            if self.is_thinking_open:
                parts += [thinking_part(each) for each in self._thinking.blocks]
        parts += [part_of(each) for each in self._answer.blocks]
        if message.state in WORKING:
            return [*parts, Part(PartKind.LIVE)]
        if message.state is AnswerState.FAILED:
            parts.append(Part(PartKind.ERROR, message.error))
        return [*parts, Part(PartKind.FOOTER)]


def part_of(block: SourceBlock) -> Part:
    return Part(_OF_BLOCK[block.kind], block.text, block.language, is_first=block.is_first, is_last=block.is_last)


def thinking_part(block: SourceBlock) -> Part:
    """Thinking is quiet: its code is drawn with its prose."""
    text = block.text
    if block.kind is BlockKind.CODE:
        text = f"```{block.language}\n{text}\n```"
    elif block.kind is BlockKind.FORMULA:
        text = f"$${text}$$"
    return Part(PartKind.THINKING, text)


def question_pieces(text: str) -> list[str]:
    """The text in order, cut at ends of lines."""
    pieces: list[str] = []
    start = 0
    while len(text) - start > _QUESTION_PIECE:
        cut = text.find("\n", start + _QUESTION_PIECE)
        if cut < 0:
            break
        pieces.append(text[start:cut])
        start = cut + 1
    return [*pieces, text[start:]]


def guess_height(message: StoredMessage, width: int, line_height: int) -> int:
    """Before a message is laid out: near enough for a scroll bar."""
    per_line = max(width // max(line_height // 3, 1), 20)
    lines = message.text.count("\n") + len(message.text) // per_line + 1
    return lines * line_height + 4 * line_height


def _unfinished_mark(text: str) -> int:
    """How many characters at the end may be the beginning of the end mark."""
    return next((n for n in range(len(THINKING_ENDS) - 1, 0, -1) if text.endswith(THINKING_ENDS[:n])), 0)
