"""An answer growing in the terminal, with one live line beneath it: token, layer k of n, speed, time left.

Wraps words itself, so that the part that still changes is always exactly two rows: the line being written
and the live line. Where the output is no terminal it prints the text and nothing else.
"""

from __future__ import annotations

import shutil
import sys
import time
import unicodedata
from typing import TextIO

from rich.cells import cell_len, set_cell_size

from engine.events import (
    Event,
    Finished,
    GenerationResult,
    LayerProgress,
    LoadProgress,
    Notice,
    PassKind,
    StopReason,
    TokenArrived,
)
from engine.quantities import format_duration, format_size

_ERASE_DOWN = "\x1b[J"
_UP = "\x1b[A"
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"
_INTERVAL_S = 0.1


class LiveAnswer:
    """Feed it every event of one answer. Text goes to ``out``; the live line too, if that is a terminal."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._is_live = self._out.isatty()
        self._line = ""
        self._status = ""
        self._is_drawn = False
        self._last_draw = 0.0

    def show(self, event: Event) -> None:
        if isinstance(event, TokenArrived):
            self._add(without_controls(event.text))
        elif isinstance(event, LayerProgress):
            self._status = describe_layer(event)
        elif isinstance(event, LoadProgress):
            share = event.bytes_done / max(event.bytes_total, 1)
            self._status = (
                f"loading · {format_size(event.bytes_done)} of {format_size(event.bytes_total)} · {share:.0%}"
            )
        elif isinstance(event, Notice):
            self._note(event.text)
        elif isinstance(event, Finished):
            self._finish(event)
            return
        if self._is_live and time.monotonic() - self._last_draw >= _INTERVAL_S:
            self._draw()

    def _add(self, text: str) -> None:
        if not self._is_live:
            self._out.write(text)
            self._out.flush()
            return
        width = max(shutil.get_terminal_size().columns - 1, 20)
        *whole, self._line = wrap_words(self._line + text, width)
        if whole:
            self._clear()
            self._out.write("".join(line + "\n" for line in whole))
        if text:
            self._draw()

    def _draw(self) -> None:
        self._clear()
        width = max(shutil.get_terminal_size().columns - 1, 20)
        status = set_cell_size(self._status, min(cell_len(self._status), width))
        self._out.write(f"{self._line}\n{_DIM}{status}{_PLAIN}")
        self._out.flush()
        self._is_drawn = True
        self._last_draw = time.monotonic()

    def _clear(self) -> None:
        if self._is_drawn:
            self._out.write(f"\r{_UP}{_ERASE_DOWN}")
            self._is_drawn = False

    def _note(self, text: str) -> None:
        self._clear()
        print(text, file=sys.stderr)

    def _finish(self, event: Finished) -> None:
        if self._is_live:
            self._clear()
            self._out.write(self._line)
        self._out.write("\n")
        if self._is_live and isinstance(event.result, GenerationResult):
            self._out.write(f"{_DIM}{describe_result(event.result)}{_PLAIN}\n")
        self._out.flush()
        self._line = self._status = ""


def without_controls(text: str) -> str:
    """A model's text without what would steer the terminal: escape sequences, bells, NUL."""
    return "".join(c for c in text if c in "\n\t" or not unicodedata.category(c) == "Cc")


def wrap_words(text: str, width: int) -> list[str]:
    """Rows of at most ``width`` terminal cells, broken at spaces where there are any; the last may still grow."""
    rows: list[str] = []
    for line in text.split("\n"):
        while cell_len(line) > width:
            cut = _fitting(line, width)
            space = line.rfind(" ", 0, cut + 1)
            end = space if space > 0 else cut
            rows.append(line[:end])
            line = line[end + 1 :] if space > 0 else line[end:]
        rows.append(line)
    return rows


def describe_layer(event: LayerProgress) -> str:
    """``token 12 · layer 37/80 · 1.9 GB/s · 4 s left``."""
    what = "reading the prompt" if event.kind is PassKind.PREFILL else f"token {event.token_index + 1}"
    parts = [what, f"layer {event.block}/{event.blocks}"]
    if event.bytes_read:
        parts.append(f"{format_size(event.bytes_per_second)}/s")
    if event.pass_seconds_left is not None and event.pass_seconds_left >= 0.5:
        parts.append(f"{format_duration(event.pass_seconds_left)} left")
    return " · ".join(parts)


def describe_result(result: GenerationResult) -> str:
    """One line under a finished answer."""
    parts = [f"{len(result.token_ids)} tokens"]
    if result.s_per_token is not None:
        speed = result.s_per_token
        parts.append(f"{1 / speed:.1f} tokens/s" if speed < 0.5 else f"{format_duration(speed)} a token")
    if result.first_token_s is not None:
        parts.append(f"first after {format_duration(result.first_token_s)}")
    if result.cached_tokens:
        parts.append(f"{result.cached_tokens} of {result.prompt_tokens} prompt tokens reused")
    if result.bytes_moved.disk:
        parts.append(f"{format_size(result.bytes_moved.disk)} read")
    endings = {
        StopReason.CANCELLED: "stopped",
        StopReason.LENGTH_LIMIT: "length limit reached",
        StopReason.CONTEXT_FULL: "context full",
    }
    if result.stop_reason in endings:
        parts.append(endings[result.stop_reason])
    return " · ".join(parts)


def _fitting(line: str, width: int) -> int:
    """How many characters of ``line`` fit into ``width`` cells; at least one."""
    used = 0
    for index, character in enumerate(line):
        used += cell_len(character)
        if used > width:
            return max(index, 1)
    return len(line)
