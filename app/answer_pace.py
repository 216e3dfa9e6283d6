"""How fast an answer comes and when the next token may: plain arithmetic on events and a clock the caller reads.

Knows no Qt and no engine process. Times are seconds of one monotonic clock.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from engine.events import LayerProgress, PassKind

PASSES_REMEMBERED = 32
"""A median over these: long enough to be calm, short enough to follow a drive that gets warm."""


@dataclass(frozen=True, slots=True)
class AnswerPace:
    """``next_token_s`` is 0 where it is due by now, None where nobody can know yet.

    ``silent_s``: since the last sign of life, so that a stall can be told from a slow block.
    """

    elapsed_s: float
    tokens: int
    s_per_token: float | None
    next_token_s: float | None
    silent_s: float


def seconds_to_next_token(
    *, pass_seconds_left: float | None, progress_age_s: float, pass_age_s: float, pass_seconds: Sequence[float]
) -> float | None:
    """What the engine said of the pass under way, less the time since; before it says, the median pass less its age.

    ``pass_seconds`` are passes over one token each: empty while the prompt is read.
    """
    if pass_seconds_left is not None:
        return max(pass_seconds_left - progress_age_s, 0.0)
    if pass_seconds:
        return max(statistics.median(pass_seconds) - pass_age_s, 0.0)
    return None


class PaceClock:
    """Watches one answer. Starts when the engine begins with it, not when it was asked for."""

    def __init__(self, now: float) -> None:
        self._started = now
        self._pass_started = now
        self._last_sign = now
        self._progress: LayerProgress | None = None
        self._progress_at = now
        self._tokens = 0
        self._pass_seconds: deque[float] = deque(maxlen=PASSES_REMEMBERED)

    def saw_progress(self, progress: LayerProgress, now: float) -> None:
        self._progress, self._progress_at = progress, now
        self._last_sign = now

    def saw_token(self, now: float) -> None:
        """Ends a pass. The first one read the prompt and says nothing about the others."""
        if self._tokens > 0:
            self._pass_seconds.append(now - self._pass_started)
        self._tokens += 1
        self._progress = None
        self._pass_started = self._last_sign = now

    def pace(self, now: float) -> AnswerPace:
        progress = self._progress
        is_reading = progress is not None and progress.kind is PassKind.PREFILL
        return AnswerPace(
            elapsed_s=now - self._started,
            tokens=self._tokens,
            s_per_token=statistics.median(self._pass_seconds) if self._pass_seconds else None,
            next_token_s=seconds_to_next_token(
                pass_seconds_left=progress.pass_seconds_left if progress else None,
                progress_age_s=now - self._progress_at,
                pass_age_s=now - self._pass_started,
                pass_seconds=() if is_reading else self._pass_seconds,
            ),
            silent_s=now - self._last_sign,
        )
