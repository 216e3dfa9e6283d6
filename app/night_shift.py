"""Holds new jobs until the night where the user wants that, and starts them then.

Owns which jobs it holds, also over a restart. A job the user continues by hand is his from then on. Must not know what
a job does.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from PySide6.QtCore import QObject, QTimer, Signal

from app.job_records import JobState
from app.jobs import JobBoard
from app.night_hours import NightHours
from app.settings import HELD_JOBS, NIGHT_END, NIGHT_ONLY, NIGHT_START, Settings

_LONGEST_WAIT_MS = 10 * 60 * 1000


class NightShift(QObject):
    """``held`` carries a job's id and the ``datetime`` it will start at."""

    held = Signal(str, object)

    def __init__(
        self,
        settings: Settings,
        jobs: JobBoard,
        *,
        now: Callable[[], datetime] = datetime.now,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._settings = settings
        self._jobs = jobs
        self._now = now
        self._is_pausing = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.look)
        jobs.job_added.connect(self._take_new)
        jobs.job_changed.connect(self._take_change)
        jobs.job_removed.connect(self._let_go)
        settings.changed.connect(self._take_setting)

    def held_jobs(self) -> list[str]:
        return self._settings.value(HELD_JOBS).split()

    def hours(self) -> NightHours:
        return NightHours.parse(self._settings.value(NIGHT_START), self._settings.value(NIGHT_END))

    def look(self) -> None:
        """Starts what is held where it is night, or where nothing is to be held any more; else comes back later."""
        if not self.held_jobs():
            return
        now = self._now()
        if not self._settings.value(NIGHT_ONLY) or self.hours().contains(now):
            self._start_all()
            return
        wait_s = (self.hours().next_start(now) - now).total_seconds()
        # A computer that slept, or whose clock was set, is noticed within minutes.
        self._timer.start(min(round(wait_s * 1000) + 1000, _LONGEST_WAIT_MS))

    def _start_all(self) -> None:
        for job_id in self.held_jobs():
            self._jobs.resume(job_id)
        self._settings.set(HELD_JOBS, "")

    def _take_new(self, job_id: str) -> None:
        now = self._now()
        if not self._settings.value(NIGHT_ONLY) or self.hours().contains(now):
            return
        self._is_pausing = True
        self._jobs.pause(job_id)
        self._is_pausing = False
        self._settings.set(HELD_JOBS, " ".join([*self.held_jobs(), job_id]))
        self.held.emit(job_id, self.hours().next_start(now))
        self.look()

    def _take_change(self, job_id: str) -> None:
        job = self._jobs.job(job_id)
        if not self._is_pausing and job is not None and job.state is not JobState.PAUSED:
            self._let_go(job_id)

    def _let_go(self, job_id: str) -> None:
        held = self.held_jobs()
        if job_id in held:
            held.remove(job_id)
            self._settings.set(HELD_JOBS, " ".join(held))

    def _take_setting(self, name: str) -> None:
        if name in (NIGHT_ONLY.name, NIGHT_START.name, NIGHT_END.name):
            self.look()
