"""The board of long jobs: splits, downloads, moves, checks and repairs, one after another, over any number of starts.

Owns their records and their order. Every change is saved; what ran when the program ended goes on at the next start.
Must not know pages, nor how the engine cuts.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.engine_calls import EngineCall
from app.engine_host import EngineHost, EngineState
from app.job_records import Job, JobError, JobKind, JobState, read_jobs, write_jobs
from app.job_requests import request_of
from app.model_code import code_of
from engine.api import DEFAULT_FLOOR_BYTES, HubAccess
from engine.errors import (
    AccessRefused,
    CodeNotAllowed,
    DamagedFile,
    DiskFull,
    EngineDied,
    EngineError,
    EngineRestarted,
    HubBusy,
    HubUnreachable,
    ShortageError,
)
from engine.events import Event, Finished, JobProgress, MoveResult, Notice, Outcome, SplitResult, VerifyResult

log = logging.getLogger(__name__)

WAIT_CHECK_MS = 10_000
NETWORK_WAITS_S = (60.0, 120.0, 300.0, 900.0, 1800.0)
"""After the engine's own patience has ended: until the job is tried again, the last one for ever."""
PROGRESS_SAVE_S = 5.0
DEATHS_WITHOUT_PROGRESS = 2
"""A job that ends the engine this often without a byte of progress in between has failed."""


class JobBoard(QObject):
    """Lives in the GUI thread. Nothing runs before ``start``.

    ``job_ended`` follows the ``job_changed`` of a job that is done, has failed or was cancelled.
    """

    job_added = Signal(str)
    job_changed = Signal(str)
    job_removed = Signal(str)
    job_ended = Signal(str)

    def __init__(
        self,
        host: EngineHost,
        file: Path,
        *,
        models_folder: Callable[[], Path],
        hub_access: Callable[[], HubAccess] = HubAccess,
        floor_bytes: Callable[[], int] = lambda: DEFAULT_FLOOR_BYTES,
        free_bytes: Callable[[Path], int] | None = None,
        now: Callable[[], float] = time.time,
        parent: QObject | None = None,
    ) -> None:
        """``hub_access`` is asked anew for each download or repair: its token is kept nowhere here.

        ``floor_bytes`` of the drive stay free while something is downloaded to it.
        """
        super().__init__(parent)
        self._host = host
        self._file = file
        self._models_folder = models_folder
        self._hub_access = hub_access
        self._floor_bytes = floor_bytes
        self._free_bytes = free_bytes or _free_bytes
        self._now = now
        self._jobs: dict[str, Job] = {job.id: job for job in read_jobs(file)}
        self._is_started = False
        self._is_closed = False
        self._running: str | None = None
        self._call: EngineCall | None = None
        self._deaths: dict[str, tuple[int, int]] = {}
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="strata-jobs-file")
        self._lock = threading.Lock()
        self._unsaved: list[Job] | None = None
        self._saved_at = 0.0
        self._network_failures: dict[str, tuple[int, int]] = {}
        self._wait_timer = QTimer(self, interval=WAIT_CHECK_MS)
        self._wait_timer.timeout.connect(self._resume_waiting)
        host.engine_state_changed.connect(self._take_engine_state)

    def start(self) -> None:
        """Begins with what is queued, also from the last run of the program."""
        self._is_started = True
        self._wait_timer.start()
        self._go_on()

    def close(self) -> None:
        """Before the program ends: what runs stays on record as running, and goes on at the next start."""
        self._is_started = False
        self._wait_timer.stop()
        if not self._is_closed:
            self._save()
        self._is_closed = True
        self._writer.shutdown(wait=True)

    def jobs(self) -> list[Job]:
        """All on record, in the order they were added."""
        return list(self._jobs.values())

    def job(self, job_id: str) -> Job | None:
        return self._jobs.get(job_id)

    @property
    def running(self) -> Job | None:
        return self._jobs.get(self._running) if self._running else None

    def add_split(
        self,
        source: str,
        delete_original: bool = False,
        target: Path | None = None,
        *,
        title: str = "",
        is_held: bool = False,
    ) -> str:
        """Cuts ``source`` into the folder of models, or into ``target``. ``is_held``: begins only at ``resume``."""
        return self._add(JobKind.SPLIT, source, title, is_held, target=target, delete_original=delete_original)

    def add_download(
        self,
        source: str,
        *,
        keeps_download: bool = False,
        target: Path | None = None,
        title: str = "",
        is_held: bool = False,
    ) -> str:
        """Fetches ``owner/name[@revision]`` and cuts it as it arrives."""
        return self._add(JobKind.DOWNLOAD, source, title, is_held, target=target, keeps_download=keeps_download)

    def add_verify(self, model: str, *, repair: bool = False, title: str = "") -> str:
        """Reads a model back; ``repair`` makes damaged files anew."""
        return self._add(JobKind.REPAIR if repair else JobKind.VERIFY, model, title, False)

    def add_move(self, model: str, target: Path, *, title: str = "") -> str:
        """Takes a model of the library to another folder of models."""
        return self._add(JobKind.MOVE, model, title, False, target=target)

    def pause(self, job_id: str) -> None:
        self._stop(job_id, JobState.PAUSED)

    def cancel(self, job_id: str) -> None:
        """What was cut stays on the disk, and can be gone on with by ``retry``, or removed in the library. What a move
        has copied is deleted: the model is where it was.
        """
        self._stop(job_id, JobState.CANCELLED)

    def resume(self, job_id: str) -> None:
        """Of a paused job, to the end of the queue."""
        self._queue(job_id, JobState.PAUSED)

    def retry(self, job_id: str) -> None:
        """Of a job that failed or was cancelled. It goes on where it stopped."""
        self._queue(job_id, JobState.FAILED, JobState.CANCELLED)

    def remove(self, job_id: str) -> None:
        """Takes a job off the board, cancelling it first where it runs."""
        if job_id in self._jobs:
            self.cancel(job_id)
            del self._jobs[job_id]
            self._save()
            self.job_removed.emit(job_id)

    def _add(
        self,
        kind: JobKind,
        source: str,
        title: str,
        is_held: bool,
        *,
        target: Path | None = None,
        delete_original: bool = False,
        keeps_download: bool = False,
    ) -> str:
        now = self._now()
        job = Job(
            id=uuid.uuid4().hex,
            kind=kind,
            source=source,
            title=title or Path(source).name or source,
            created_at=now,
            updated_at=now,
            target=str(target) if target else None,
            delete_original=delete_original,
            keeps_download=keeps_download,
            state=JobState.PAUSED if is_held else JobState.QUEUED,
        )
        self._jobs[job.id] = job
        self._save()
        self.job_added.emit(job.id)
        self._go_on()
        return job.id

    def _stop(self, job_id: str, state: JobState) -> None:
        job = self._jobs.get(job_id)
        if job is None or job.is_over or (job.state is state and not job.resumes_by_itself):
            return
        is_running = job_id == self._running
        self._change(job_id, state=state, waits_for_bytes=None, waits_until=None, is_stopping=is_running)
        if is_running and self._call is not None:
            self._call.cancel()
        elif state is JobState.CANCELLED:
            self._end_cancelled(self._jobs[job_id])

    def _end_cancelled(self, job: Job) -> None:
        if job.kind is JobKind.MOVE:
            self._host.ask("discard_move", job.source)
        self.job_ended.emit(job.id)

    def _queue(self, job_id: str, *states: JobState) -> None:
        job = self._jobs.get(job_id)
        if job is None or job.state not in states:
            return
        self._deaths.pop(job_id, None)
        self._change(job_id, state=JobState.QUEUED, error=None, waits_for_bytes=None, waits_until=None, damaged=())
        self._go_on()

    def _go_on(self) -> None:
        """Begins with the next one unless one runs, or is still on its way to the end of its block."""
        if not self._is_started or self._running is not None or self._host.state is EngineState.DEAD:
            return
        job = next((job for job in self._jobs.values() if job.state is JobState.QUEUED), None)
        if job is None:
            return
        self._running = job.id
        self._change(job.id, state=JobState.RUNNING, error=None, is_stopping=False, notices=())
        method, args, kwargs = request_of(job, access=self._hub_access, floor_bytes=self._floor_bytes())
        call = self._call = EngineCall(self._host, method, *args, parent=self, **kwargs)
        call.occurred.connect(self._take_event)
        call.failed.connect(self._take_failure)

    @Slot(object)
    def _take_event(self, event: Event) -> None:
        job = self.running
        if self._is_closed:
            return
        if isinstance(event, Finished):
            self._take_finished(event)
        elif job is None:
            return
        elif isinstance(event, JobProgress):
            self._change(job.id, progress=event, is_minor=True)
        elif isinstance(event, Notice):
            self._change(job.id, notices=(*job.notices, event.text))

    def _take_finished(self, finished: Finished) -> None:
        job = self._let_go()
        if job is None:
            return
        changes: dict[str, Any] = {"is_stopping": False}
        if isinstance(finished.result, SplitResult | MoveResult):
            changes |= {"model": finished.result.model, "folder": finished.result.path}
        if isinstance(finished.result, VerifyResult):
            changes |= {"model": finished.result.model, "damaged": finished.result.damaged}
        if finished.outcome is Outcome.DONE:  # also where it was done just before it could be stopped
            changes["state"] = JobState.DONE
        elif job.state is JobState.RUNNING:
            changes["state"] = JobState.CANCELLED
        self._change(job.id, **changes)
        job = self._jobs[job.id]
        if job.state is JobState.CANCELLED:
            self._end_cancelled(job)
        elif job.is_over:
            self.job_ended.emit(job.id)
        self._go_on()

    @Slot(object)
    def _take_failure(self, error: EngineError) -> None:
        job = None if self._is_closed else self._let_go()
        if job is None:
            return
        if job.state is not JobState.RUNNING:  # it was being stopped anyway
            self._change(job.id, is_stopping=False)
            if job.state is JobState.CANCELLED:
                self._end_cancelled(job)
        elif isinstance(error, EngineDied) and self._may_go_on(job, error):
            self._change(job.id, state=JobState.QUEUED)
        elif isinstance(error, DiskFull):
            self._change(job.id, state=JobState.PAUSED, error=_describe(error), waits_for_bytes=error.need)
        elif isinstance(error, HubUnreachable | HubBusy):
            until = self._now() + self._network_wait_s(job, error)
            self._change(job.id, state=JobState.PAUSED, error=_describe(error), waits_until=until)
        else:
            damaged = error.files if isinstance(error, DamagedFile) else ()
            self._change(job.id, state=JobState.FAILED, error=_describe(error), damaged=damaged)
            self.job_ended.emit(job.id)
        if not isinstance(error, EngineDied):
            self._go_on()

    def _let_go(self) -> Job | None:
        """The job that ran, unless it was removed meanwhile."""
        job = self.running
        self._running = self._call = None
        if job is None:
            self._go_on()
        return job

    def _may_go_on(self, job: Job, error: EngineDied) -> bool:
        """After the engine died: unless the job kills it, at the same place, again and again."""
        if isinstance(error, EngineRestarted):
            return True
        return _count_without_progress(self._deaths, job) < DEATHS_WITHOUT_PROGRESS

    def _network_wait_s(self, job: Job, error: EngineError) -> float:
        failures = _count_without_progress(self._network_failures, job)
        asked = error.retry_after_s if isinstance(error, HubBusy) else None
        return max(asked or 0.0, NETWORK_WAITS_S[min(failures, len(NETWORK_WAITS_S)) - 1])

    @Slot(str)
    def _take_engine_state(self, state: str) -> None:
        if state == EngineState.READY:
            self._go_on()

    @Slot()
    def _resume_waiting(self) -> None:
        for job in self.jobs():
            if job.resumes_by_itself and (job.waits_until or 0.0) <= self._now() and self._has_room(job):
                self.resume(job.id)

    def _has_room(self, job: Job) -> bool:
        if job.waits_for_bytes is None:
            return True
        folder = Path(job.target) if job.target else self._models_folder()
        try:
            return self._free_bytes(folder) >= job.waits_for_bytes
        except OSError:  # a drive that is not there has no room
            return False

    def _change(self, job_id: str, *, is_minor: bool = False, **changes: Any) -> None:
        self._jobs[job_id] = replace(self._jobs[job_id], updated_at=self._now(), **changes)
        if not is_minor or time.monotonic() - self._saved_at > PROGRESS_SAVE_S:
            self._save()
        self.job_changed.emit(job_id)

    def _save(self) -> None:
        """In the writing thread: a busy drive must not hold up the window. Only the newest state is written."""
        self._saved_at = time.monotonic()
        with self._lock:
            is_queued = self._unsaved is not None
            self._unsaved = self.jobs()
        if not is_queued:
            self._writer.submit(self._write)

    def _write(self) -> None:
        with self._lock:
            jobs, self._unsaved = self._unsaved or [], None
        try:
            write_jobs(self._file, jobs)
        except OSError as error:
            log.warning("the jobs could not be saved in %s: %r", self._file, error)


def _count_without_progress(counts: dict[str, tuple[int, int]], job: Job) -> int:
    """Counts one more misfortune of a job; from 1 again where it has got on since the last one."""
    done = job.progress.bytes_done if job.progress else 0
    count, done_then = counts.get(job.id, (0, -1))
    counts[job.id] = (count + 1 if done <= done_then else 1), done
    return counts[job.id][0]


def _describe(error: EngineError) -> JobError:
    need, have = (error.need, error.have) if isinstance(error, ShortageError) else (None, None)
    page, needs_token = (error.page, error.needs_token) if isinstance(error, AccessRefused) else ("", False)
    code = code_of(error) if isinstance(error, CodeNotAllowed) else None
    return JobError(
        type(error).__name__, error.message, error.next_step, error.detail, need, have, page, needs_token, code
    )


def _free_bytes(folder: Path) -> int:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free
