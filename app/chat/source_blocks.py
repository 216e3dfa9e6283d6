"""Markdown source cut into blocks that can be parsed by themselves, without parsing it.

Owns where one block ends: a blank line outside fences, formulas, lists and quotes. An answer grows at its end, so
only its last block is ever looked at again. Very long fences and lists are cut into bounded pieces: what is drawn
at once stays small whatever a model writes. Plain Python.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

MAX_LINES = 200

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_FORMULA_ENDS = {"$$": "$$", "\\[": "\\]"}


class BlockKind(StrEnum):
    PROSE = "prose"
    CODE = "code"
    FORMULA = "formula"


@dataclass(frozen=True, slots=True)
class SourceBlock:
    """``text`` is Markdown for prose, the bare code or formula otherwise. ``language`` is a fence's info word.

    ``is_first`` and ``is_last`` tell the pieces of a long fence apart. ``is_closed`` is false while more may follow.
    """

    kind: BlockKind
    text: str
    language: str = ""
    is_first: bool = True
    is_last: bool = True
    is_closed: bool = True


class SourceBlocks:
    """The blocks of a text that grows. All but the last two never change by appending."""

    def __init__(self, text: str = "") -> None:
        self.blocks: list[SourceBlock] = []
        self._closed = 0
        self._open_lines: list[str] = []
        self.append(text)

    def append(self, text: str) -> int:
        """Takes in more of the text. Returns the index of the first block that may differ from before."""
        changed_from = self._closed
        pending = "".join(self._open_lines) + text
        lines = pending.splitlines(keepends=True)
        del self.blocks[self._closed :]
        # A line without its end may yet become a list item: it does not decide where a block before it ends.
        decided = len(lines) - (0 if pending.endswith("\n") else 1)
        start = open_from = 0
        while start < len(lines):
            start, pieces = _next_block(lines, start)
            self.blocks += pieces
            if start < decided:
                open_from = start
                self._closed = len(self.blocks)
        self._open_lines = lines[open_from:]
        return changed_from


def split_blocks(text: str) -> list[SourceBlock]:
    return SourceBlocks(text).blocks


def _next_block(lines: list[str], start: int) -> tuple[int, list[SourceBlock]]:
    """The line after the block that begins at ``start``, and the block (in pieces, if it is long)."""
    while start < len(lines) and not lines[start].strip():
        start += 1
    if start == len(lines):
        return start, []
    if fence := _FENCE.match(lines[start].rstrip("\n")):
        return _fence_block(lines, start, fence)
    opening = lines[start].strip()
    for mark, end_mark in _FORMULA_ENDS.items():
        if opening == mark or (
            opening.startswith(mark) and opening.endswith(end_mark) and len(opening) > len(mark) * 2
        ):
            return _formula_block(lines, start, mark, end_mark)
    if _ITEM.match(lines[start]):
        return _list_block(lines, start)
    return _prose_block(lines, start)


def _fence_block(lines: list[str], start: int, fence: re.Match[str]) -> tuple[int, list[SourceBlock]]:
    mark, info = fence[1], fence[2].strip()
    closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}\s*$")
    end = start + 1
    while end < len(lines) and not closing.match(lines[end]):
        end += 1
    is_closed = end < len(lines)
    body = lines[start + 1 : end]
    language = info.split()[0] if info else ""
    cuts = list(range(0, len(body), MAX_LINES)) or [0]
    pieces = [
        SourceBlock(
            BlockKind.CODE,
            "".join(body[cut : cut + MAX_LINES]).rstrip("\n"),
            language,
            is_first=cut == 0,
            is_last=cut == cuts[-1],
            is_closed=is_closed or cut != cuts[-1],
        )
        for cut in cuts
    ]
    return min(end + 1, len(lines)), pieces


def _formula_block(lines: list[str], start: int, mark: str, end_mark: str) -> tuple[int, list[SourceBlock]]:
    first = lines[start].strip()
    if first != mark:
        return start + 1, [SourceBlock(BlockKind.FORMULA, first[len(mark) : -len(end_mark)].strip())]
    end = start + 1
    while end < len(lines) and not lines[end].strip().endswith(end_mark):
        end += 1
    is_closed = end < len(lines)
    body = lines[start + 1 : end + 1]
    text = "".join(body).strip()
    text = text[: -len(end_mark)].strip() if is_closed else text
    return min(end + 1, len(lines)), [SourceBlock(BlockKind.FORMULA, text, is_closed=is_closed)]


def _list_block(lines: list[str], start: int) -> tuple[int, list[SourceBlock]]:
    """A list with its indented and loosely spaced items, cut before a top-level item when it gets long."""
    end = start + 1
    while end < len(lines):
        line = lines[end]
        is_item = _ITEM.match(line) is not None
        if is_item and end - start >= MAX_LINES and not line.startswith(" "):
            break
        after_blank = not lines[end - 1].strip()
        if after_blank and line.strip() and not is_item and not line.startswith((" ", "\t")):
            break
        if _starts_other_block(line) and not is_item:
            break
        end += 1
    return end, [_prose(lines[start:end])]


def _prose_block(lines: list[str], start: int) -> tuple[int, list[SourceBlock]]:
    end = start + 1
    while end < len(lines) and lines[end].strip() and end - start < MAX_LINES:
        if _starts_other_block(lines[end]):
            break
        end += 1
    while end < len(lines) and not lines[end].strip():
        end += 1
    return end, [_prose(lines[start:end])]


def _starts_other_block(line: str) -> bool:
    """What ends a paragraph without a blank line: a fence or a formula on its own line."""
    return not line.startswith(" ") and (_FENCE.match(line.rstrip("\n")) is not None or line.strip() in _FORMULA_ENDS)


def _prose(lines: list[str]) -> SourceBlock:
    return SourceBlock(BlockKind.PROSE, "".join(lines).rstrip())
