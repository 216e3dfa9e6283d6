"""How much Strata has read from drives and written to them, by day: what its speed costs, and what wears a drive.

Owns the counting, from the events of every call of the engine. Must not know who asked for the calls.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.engine_host import EngineHost
from app.ledger_file import Tally, read_ledger, write_ledger
from engine.events import (
    Finished,
    GenerationResult,
    JobProgress,
    LayerProgress,
    LoadProgress,
    MoveResult,
    SplitResult,
    VerifyResult,
)

log = logging.getLogger(__name__)

SAVE_INTERVAL_MS = 1000

_MOVES = {
    "downloading": (0, 1),
    "cutting": (1, 1),
    "repairing": (1, 1),
    "verifying": (1, 0),
    "copying": (2, 2),
    "comparing": (2, 0),
}
"""How often the bytes of a job's phase are read from a drive, and written to one. A move counts half of each byte
when it is copied and half when it is read back.
"""


@dataclass(slots=True)
class _Call:
    """What was counted of one call already: its result says the exact sums, which progress only comes close to."""

    counted: Tally = field(default_factory=Tally)
    cut_bytes: int = 0
    checked_bytes: int = 0
    places: dict[str, int] = field(default_factory=dict[str, int])


class Ledger(QObject):
    """Lives in the GUI thread. ``changed`` at most once a second, when it is saved as well."""

    changed = Signal()

    def __init__(
        self, host: EngineHost, file: Path, *, today: Callable[[], date] = date.today, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._file = file
        self._today = today
        self._days = read_ledger(file)
        self._calls: dict[int, _Call] = {}
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="strata-ledger")
        self._lock = threading.Lock()
        self._unsaved: dict[date, Tally] | None = None
        self._is_closed = False
        self._timer = QTimer(self, interval=SAVE_INTERVAL_MS, singleShot=True)
        self._timer.timeout.connect(self._save)
        host.event_arrived.connect(self._take_event)
        host.request_failed.connect(self._forget)

    @property
    def today(self) -> Tally:
        return self._days.get(self._today(), Tally())

    @property
    def total(self) -> Tally:
        return sum(self._days.values(), Tally())

    @property
    def since(self) -> date | None:
        """The first day on record."""
        return min(self._days, default=None)

    def close(self) -> None:
        """Everything is on disk when it returns."""
        if not self._is_closed and self._timer.isActive():
            self._timer.stop()
            self._save()
        self._is_closed = True
        self._writer.shutdown(wait=True)

    @Slot(int, object)
    def _take_event(self, request_id: int, event: object) -> None:
        match event:
            case LayerProgress():
                self._count_read(request_id, "pass", event.bytes_read)
            case LoadProgress():
                self._count_read(request_id, "load", event.bytes_done)
            case JobProgress():
                self._count_job(request_id, event)
            case Finished():
                self._settle(request_id, event)
            case _:
                pass

    @Slot(int, object)
    def _forget(self, request_id: int, _error: object) -> None:
        self._calls.pop(request_id, None)

    def _count_read(self, request_id: int, what: str, nbytes: int) -> None:
        """``nbytes`` grow from 0 within a pass, and begin again with the next."""
        call = self._calls.setdefault(request_id, _Call())
        before = call.places.get(what, 0)
        call.places[what] = nbytes
        self._add(call, Tally(bytes_read=nbytes - before if nbytes >= before else nbytes))

    def _count_job(self, request_id: int, progress: JobProgress) -> None:
        """The first event of a meter says where an earlier run had stopped."""
        call = self._calls.setdefault(request_id, _Call())
        reads, writes = _MOVES.get(progress.phase, (0, 0))
        meter = "download" if progress.phase in ("downloading", "waiting", "paused") else "blocks"
        before = call.places.get(meter, progress.bytes_done)
        moved = max(progress.bytes_done - before, 0)
        if progress.phase == "planning":
            call.places.pop(meter, None)
            return
        call.places[meter] = progress.bytes_done
        call.cut_bytes += moved if progress.phase == "cutting" else 0
        call.checked_bytes += moved if progress.phase == "verifying" else 0
        self._add(call, Tally(reads * moved, writes * moved))

    def _settle(self, request_id: int, finished: Finished) -> None:
        """What progress did not show: events are sampled, and the last one may be missing."""
        call = self._calls.pop(request_id, _Call())
        match finished.result:
            case GenerationResult():
                self._add(call, Tally(bytes_read=max(finished.result.bytes_moved.disk - call.counted.bytes_read, 0)))
            case SplitResult():
                missing = max(finished.result.bytes_written - call.cut_bytes, 0)
                self._add(call, Tally(missing, missing))
            case MoveResult():
                moved = Tally(
                    finished.result.bytes_copied + finished.result.bytes_compared, finished.result.bytes_copied
                )
                counted = call.counted
                self._add(
                    call,
                    Tally(
                        max(moved.bytes_read - counted.bytes_read, 0),
                        max(moved.bytes_written - counted.bytes_written, 0),
                    ),
                )
            case VerifyResult():
                self._add(call, Tally(bytes_read=max(finished.result.bytes_read - call.checked_bytes, 0)))
            case None:
                pass

    def _add(self, call: _Call, moved: Tally) -> None:
        if moved == Tally():
            return
        call.counted += moved
        day = self._today()
        self._days[day] = self._days.get(day, Tally()) + moved
        if not self._timer.isActive() and not self._is_closed:
            self._timer.start()

    @Slot()
    def _save(self) -> None:
        """In a thread: a busy drive must not hold up the window. Only the newest state is written."""
        with self._lock:
            is_queued = self._unsaved is not None
            self._unsaved = dict(self._days)
        if not is_queued:
            self._writer.submit(self._write)
        self.changed.emit()

    def _write(self) -> None:
        with self._lock:
            days, self._unsaved = self._unsaved or {}, None
        try:
            write_ledger(self._file, days)
        except OSError as error:
            log.warning("the ledger could not be saved in %s: %r", self._file, error)
