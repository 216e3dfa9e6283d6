"""What is known about an answer in the making, from the engine's events, and how that reads. No Qt widgets.

Truthful: it says what the last event said, how long ago that was, and nothing when nothing is known.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QCoreApplication

from app.verdicts import counted_text, speed_text
from engine.events import Event, LayerProgress, Loaded, LoadProgress, PassKind

STALLED_AFTER_S = 5.0
STALLED_LOADING_AFTER_S = 30.0
"""Until the first block of a model arrives nothing can be said: the engine itself may be starting."""

# Below this one reads tokens per second, above it the way through one token.
_FAST_TOKEN_S = 0.8
_RATE_WINDOW_S = 5.0


class LivePhase(StrEnum):
    WAITING = "waiting"
    LOADING = "loading"
    READING = "reading"
    WRITING = "writing"
    RESTARTING = "restarting"


@dataclass(frozen=True, slots=True)
class Strip:
    """The blocks of the running pass: ``done`` of ``count``, and those that never leave memory.

    Without blocks a plain bar, ``share`` of it filled.
    """

    count: int = 0
    done: int = 0
    resident: frozenset[int] = frozenset()
    share: float = 0.0


class LiveProgress:
    """One for each answer in the making. ``now`` in seconds; the clock is never compared across a restart."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self.phase = LivePhase.WAITING
        self.tokens = 0
        self._waits_for = ""
        self._begun_at: float | None = None
        self._last_event_at = now()
        self._counted: deque[tuple[float, int]] = deque()
        """When how many tokens were there, over the last seconds."""
        self._load: LoadProgress | None = None
        self._layer: LayerProgress | None = None
        self._resident: set[int] = set()
        """As far as the events told, which are samples."""
        self._is_all_resident = False
        self.has_engine = True
        """False while the engine's process starts, or is not started again."""
        self.is_engine_dead = False

    def wait_for(self, chat: str) -> None:
        """The title of the chat whose answer comes first; empty where none is known."""
        self._waits_for = chat

    def begin(self) -> None:
        """It is this answer's turn."""
        self._last_event_at = self._now()
        if self._begun_at is None:
            self._begun_at = self._last_event_at
        if self.phase in {LivePhase.WAITING, LivePhase.RESTARTING}:
            self.phase = LivePhase.LOADING

    def begin_reading(self, loaded: Loaded | None) -> None:
        """The model is loaded; the engine begins with the prompt."""
        self.begin()
        self._is_all_resident = loaded is not None and not loaded.streamed_bytes
        self.phase = LivePhase.READING

    def interrupt(self) -> None:
        """The engine died; it is started again, and the answer goes on from its last token."""
        self._last_event_at = self._now()
        self._layer = self._load = None
        self._counted.clear()
        self.phase = LivePhase.RESTARTING

    def take(self, event: Event) -> None:
        self.begin()
        if isinstance(event, LoadProgress):
            self._load, self.phase = event, LivePhase.LOADING
        elif isinstance(event, Loaded):
            self.phase = LivePhase.READING
        elif isinstance(event, LayerProgress):
            self._take_layer(event)

    def take_text(self) -> None:
        """A token has become text."""
        self.begin()
        self._take_token()

    @property
    def strip(self) -> Strip:
        if self.phase is LivePhase.LOADING and self._load is not None and self._load.bytes_total:
            return Strip(share=self._load.bytes_done / self._load.bytes_total)
        if self._layer is None or self.phase in {LivePhase.WAITING, LivePhase.LOADING}:
            return Strip()
        count = self._layer.blocks
        resident = frozenset(range(1, count + 1)) if self._is_all_resident else frozenset(self._resident)
        return Strip(count, self._layer.block, resident)

    @property
    def silent_s(self) -> float:
        return self._now() - self._last_event_at

    @property
    def is_stalled(self) -> bool:
        if self.phase is LivePhase.WAITING or self.is_engine_dead:
            return False
        is_starting = self.phase in {LivePhase.LOADING, LivePhase.RESTARTING}
        return self.silent_s > (STALLED_LOADING_AFTER_S if is_starting else STALLED_AFTER_S)

    def line(self) -> str:
        """One line, in the user's language."""
        if self.is_stalled:
            return QCoreApplication.translate("LiveLine", "Stalled for {duration}").format(
                duration=counted_text(self.silent_s)
            )
        phase = LivePhase.LOADING if self.is_engine_dead else self.phase
        lines = {
            LivePhase.WAITING: self._waiting_line,
            LivePhase.LOADING: self._loading_line,
            LivePhase.READING: self._reading_line,
            LivePhase.WRITING: self._writing_line,
            LivePhase.RESTARTING: self._restarting_line,
        }
        return lines[phase]()

    def elapsed(self) -> str:
        """Since it was this answer's turn."""
        return "" if self._begun_at is None else counted_text(self._now() - self._begun_at)

    def _take_layer(self, event: LayerProgress) -> None:
        self._last_event_at = self._now()
        self._layer = event
        if event.kind is PassKind.PREFILL:
            self.tokens = event.token_index
        else:
            self._count(event.token_index)
        if event.is_resident:
            self._resident.add(event.block)
        else:
            self._resident.discard(event.block)
        self.phase = LivePhase.READING if event.kind is PassKind.PREFILL else LivePhase.WRITING

    def _take_token(self) -> None:
        self._last_event_at = self._now()
        self._count(self.tokens + 1)
        self.phase = LivePhase.WRITING

    def _count(self, tokens: int) -> None:
        """Tokens come in bursts, and some without text: only a stretch of time says how fast they are."""
        now = self._now()
        self.tokens = tokens
        if not self._counted or tokens > self._counted[-1][1]:
            self._counted.append((now, tokens))
        while len(self._counted) > 2 and self._counted[1][0] < now - _RATE_WINDOW_S:
            self._counted.popleft()

    @property
    def _s_per_token(self) -> float | None:
        if len(self._counted) < 2:
            return None
        (began_at, first), (ended_at, last) = self._counted[0], self._counted[-1]
        return (ended_at - began_at) / (last - first)

    def _waiting_line(self) -> str:
        if self._waits_for:
            return QCoreApplication.translate("LiveLine", "Waits for the answer in “{chat}”").format(
                chat=self._waits_for
            )
        return QCoreApplication.translate("LiveLine", "Waits for its turn")

    @staticmethod
    def _restarting_line() -> str:
        return QCoreApplication.translate("LiveLine", "The engine is starting again, then the answer goes on")

    def _loading_line(self) -> str:
        if self.is_engine_dead:
            return QCoreApplication.translate("LiveLine", "The engine is not running")
        if not self.has_engine:
            return QCoreApplication.translate("LiveLine", "Starting the engine")
        if self._load is None or not self._load.bytes_total:
            return QCoreApplication.translate("LiveLine", "Loading the model")
        return QCoreApplication.translate("LiveLine", "Loading the model · {share} %").format(
            share=f"{100 * self._load.bytes_done / self._load.bytes_total:.0f}"
        )

    def _reading_line(self) -> str:
        if self._layer is None:
            return QCoreApplication.translate("LiveLine", "Reading the prompt")
        share = f"{100 * self._layer.block / max(self._layer.blocks, 1):.0f}"
        parts = [QCoreApplication.translate("LiveLine", "Reading the prompt · {share} %").format(share=share)]
        parts += self._speed(self._layer)
        if self._layer.pass_seconds_left is not None and self._layer.pass_seconds_left >= 1:
            left = counted_text(self._seconds_left(self._layer.pass_seconds_left))
            parts.append(QCoreApplication.translate("LiveLine", "first token in about {left}").format(left=left))
        return " · ".join(parts)

    def _writing_line(self) -> str:
        parts = [QCoreApplication.translate("LiveLine", "Token {number}").format(number=self.tokens + 1)]
        layer = self._layer
        if self._s_per_token is not None and self._s_per_token < _FAST_TOKEN_S:
            rate = short_rate(1 / max(self._s_per_token, 0.001))
            parts.append(QCoreApplication.translate("LiveLine", "{rate} tokens/s").format(rate=rate))
            return " · ".join(parts)
        if layer is not None:
            place = QCoreApplication.translate("LiveLine", "layer {layer} of {layers}")
            parts.append(place.format(layer=layer.block, layers=layer.blocks))
            parts += self._speed(layer)
            if layer.pass_seconds_left is not None:
                left = counted_text(self._seconds_left(layer.pass_seconds_left))
                parts.append(QCoreApplication.translate("LiveLine", "next token in about {left}").format(left=left))
        return " · ".join(parts)

    def _seconds_left(self, said: float) -> float:
        """Of what the last event said, less the time since: a slow block must not make it stand still."""
        return max(said - self.silent_s, 1.0)

    @staticmethod
    def _speed(layer: LayerProgress) -> list[str]:
        return [speed_text(layer.bytes_per_second)] if layer.bytes_per_second > 0 else []


def short_rate(per_second: float) -> str:
    """``7.4``, ``31``."""
    return f"{per_second:.1f}" if per_second < 10 else f"{per_second:.0f}"
