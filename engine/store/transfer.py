"""How far the fetching of files is, told by one thread and asked by another. Owns the meter; knows no network."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from engine.events import Event, JobProgress, Notice
from engine.store.job_meter import JobMeter

STALLED_AFTER_S = 2.0


class Transfer:
    """``files`` is how many there are in all; ``bytes_done`` is what an earlier run left. Calls from any thread."""

    def __init__(
        self, files: int, bytes_total: int, *, bytes_done: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._meter = JobMeter(files, bytes_total, bytes_done=bytes_done, clock=clock)
        self._clock = clock
        self._lock = threading.Lock()
        self._number, self._name = 0, ""
        self._phase = "downloading"
        self._moved_at = clock()
        self._notices: list[Notice] = []
        self._meter.start(self._phase)

    def begin(self, number: int, name: str) -> None:
        """A new file, counted from 1."""
        with self._lock:
            self._number, self._name = number, name
            self._meter.start(self._phase, number, name)

    def advance(self, nbytes: int) -> None:
        """Negative where bytes had to be thrown away."""
        with self._lock:
            self._meter.advance(nbytes)
            if nbytes > 0:
                self._moved_at = self._clock()

    def flow(self) -> None:
        """The connection is there (again)."""
        self._set_phase("downloading")

    def hold(self, text: str, detail: str = "") -> None:
        """Nothing comes for now, and it is tried again."""
        with self._lock:
            self._notices.append(Notice(text, detail))
        self._set_phase("waiting")

    def pause(self, text: str) -> None:
        """There is no room; said once."""
        with self._lock:
            if self._phase != "paused":
                self._notices.append(Notice(text))
        self._set_phase("paused")

    def due(self) -> list[Event]:
        """What is to be told now: notices first, then progress where the last is not recent."""
        with self._lock:
            notices: list[Event] = list(self._notices)
            self._notices.clear()
            return notices + [self._truthful(event) for event in self._meter.due()]

    def _set_phase(self, phase: str) -> None:
        with self._lock:
            if phase != self._phase:
                self._phase = phase
                self._meter.start(phase, self._number, self._name)

    def _truthful(self, event: JobProgress) -> JobProgress:
        """The meter's mean fades slowly; a transfer that stands still has no speed and no end."""
        if self._phase == "downloading" and self._clock() - self._moved_at < STALLED_AFTER_S:
            return event
        return replace(event, bytes_per_second=0.0, seconds_left=None)
