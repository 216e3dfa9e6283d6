"""How far a long job is: bytes, a smoothed speed, the time left. Owns a clock; knows nothing of files."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from engine.events import JobProgress

EVENT_INTERVAL_S = 0.25
_SMOOTHING_S = 3.0


class JobMeter:
    """Counts the bytes of one job over all of its phases and makes its events, a few in a second."""

    def __init__(
        self,
        blocks: int,
        bytes_total: int,
        *,
        bytes_done: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._blocks = blocks
        self._total = bytes_total
        self._done = bytes_done
        self._clock = clock
        self._phase, self._block, self._name = "planning", 0, ""
        self._speed = 0.0
        self._measured_at = clock()
        self._measured_done = bytes_done
        self._event_due = True

    def start(self, phase: str, block: int = 0, name: str = "") -> None:
        """A new phase or block; its first event is due at once."""
        self._phase, self._block, self._name = phase, block, name
        self._event_due = True

    def advance(self, nbytes: int) -> None:
        self._done += nbytes

    def due(self) -> list[JobProgress]:
        """The next event, or nothing as long as the last one is recent."""
        elapsed_s = self._clock() - self._measured_at
        if elapsed_s < EVENT_INTERVAL_S and not self._event_due:
            return []
        return [self.event()]

    def event(self) -> JobProgress:
        self._measure()
        self._event_due = False
        left = self._total - self._done
        return JobProgress(
            phase=self._phase,
            block=self._block,
            blocks=self._blocks,
            block_name=self._name,
            bytes_done=self._done,
            bytes_total=self._total,
            bytes_per_second=self._speed,
            seconds_left=left / self._speed if self._speed > 0 else None,
        )

    def _measure(self) -> None:
        """An exponential mean over the last seconds; short intervals weigh little."""
        now = self._clock()
        elapsed_s = now - self._measured_at
        if elapsed_s < EVENT_INTERVAL_S / 2:
            return
        current = (self._done - self._measured_done) / elapsed_s
        weight = 1.0 if self._speed == 0 else 1 - math.exp(-elapsed_s / _SMOOTHING_S)
        self._speed += weight * (current - self._speed)
        self._measured_at, self._measured_done = now, self._done
