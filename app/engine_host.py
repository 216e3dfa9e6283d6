"""The engine in a process of its own, as the window sees it: questions in, Qt signals out, and nobody waits.

Owns the child process, the thread that starts it and reads from it, and what was asked and has not ended. Says why
a child died and starts the next one. The only module of the program that knows how an engine is started.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

from PySide6.QtCore import QObject, QThread, QTimer, Signal, Slot

from app.bundle import bundle
from app.engine_death import describe_death, describe_restart, read_tail
from engine.errors import EngineDied, EngineError, EngineFault
from engine.events import Event, Finished, Outcome
from engine.worker import METHODS, run_worker
from engine.worker_messages import (
    Cancel,
    Failed,
    FromWorker,
    Logged,
    Occurred,
    Ready,
    Request,
    Result,
    Shutdown,
    ToWorker,
    WorkerOptions,
)

log = logging.getLogger(__name__)

DEATHS_ALLOWED = 3
DEATHS_WITHIN_S = 60.0
"""A child that dies this often in this time is not started again by itself."""

_SHUTDOWN_WAITS_MS = (1700, 400, 700)
BATCH_MESSAGES = 256
JOIN_S = 0.5


class EngineState(StrEnum):
    """``DEAD``: it died and will not be started again unless asked. ``STOPPED``: not started yet, or shut down."""

    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"
    DEAD = "dead"


@dataclass(slots=True)
class _Pending:
    method: str
    last_event: Event | None = None


class EngineHost(QObject):
    """Lives in the GUI thread, and every signal arrives there.

    One ending for each ``ask``: a ``result_arrived``, a ``request_failed``, or an ``event_arrived`` that carries
    ``Finished``. When the child dies, what it was asked fails with ``EngineDied``, then ``engine_died`` tells once,
    and the next child is started.
    """

    event_arrived = Signal(int, object)
    result_arrived = Signal(int, object)
    request_failed = Signal(int, object)
    engine_died = Signal(str)
    engine_state_changed = Signal(str)

    def __init__(
        self,
        data_dir: Path,
        *,
        models_folder: Path | None = None,
        runtimes: Sequence[Path] = (),
        parent: QObject | None = None,
    ) -> None:
        """``runtimes`` are imported from before those that came with the program."""
        super().__init__(parent)
        self._options = _worker_options(data_dir, models_folder, runtimes)
        self._state = EngineState.STOPPED
        self._child: _Child | None = None
        self._children: list[_Child] = []
        self._last_id = 0
        self._pending: dict[int, _Pending] = {}
        self._unsent: dict[int, bytes] = {}
        self._death_times: deque[float] = deque(maxlen=DEATHS_ALLOWED)
        self._last_active: _Pending | None = None
        self._is_restart_wished = False
        self._is_shut_down = False
        self.last_death: EngineDied | None = None

    @property
    def state(self) -> EngineState:
        return self._state

    @property
    def methods(self) -> frozenset[str]:
        """What ``ask`` takes: a control for what is missing here is not shown."""
        return frozenset(METHODS)

    @property
    def process_id(self) -> int | None:
        """Of the child, once it is ready."""
        return self._child.process_id if self._child else None

    def start(self) -> None:
        """Returns at once; what was asked before is sent then. Does nothing while a child runs."""
        if self._child is not None or self._is_shut_down:
            return
        child = self._child = _Child(self._options)
        self._children.append(child)
        child.arrived.connect(self._take_messages)
        child.ended.connect(self._take_end)
        child.finished.connect(self._forget_finished)
        for payload in self._unsent.values():
            child.send(payload)
        self._unsent.clear()
        child.start()
        self._set_state(EngineState.STARTING)

    def restart(self, *, models_folder: Path | None = None, runtimes: Sequence[Path] | None = None) -> None:
        """A fresh child: what runs is cut off and fails with ``EngineDied``. Allowed in every state but shut down."""
        if models_folder is not None:
            self._options = replace(self._options, models_folder=models_folder)
        if runtimes is not None:
            self._options = replace(self._options, runtimes=(*runtimes, *_shipped_runtimes()))
        self._death_times.clear()
        if self._child is None:
            self.start()
            return
        self._is_restart_wished = True
        self._child.kill()

    def shutdown(self) -> None:
        """Blocks until the child is gone, for three seconds at most. No signal comes any more."""
        self._is_shut_down = True
        self._pending.clear()
        self._unsent.clear()
        child, self._child = self._child, None
        if child is not None:
            child.send(_pickled(Shutdown()))
            for end, wait_ms in zip((None, child.terminate_process, child.kill), _SHUTDOWN_WAITS_MS, strict=True):
                if end is not None:
                    end()
                if child.wait(wait_ms):
                    break
            else:
                log.error("the engine's process %s could not be ended", child.process_id)
        self._set_state(EngineState.STOPPED)

    def ask(self, method: str, *args: object, **kwargs: object) -> int:
        """Asks a method of ``engine.api.Engine``, without its ``CancelToken``; gives the request's number.

        Nothing is signalled before this returns. Raises what pickling raises for an argument that cannot be sent.
        """
        request_id = self._last_id = self._last_id + 1
        payload = _pickled(Request(request_id, method, args, kwargs))
        self._pending[request_id] = _Pending(method)
        if self._state is EngineState.DEAD or self._is_shut_down:
            QTimer.singleShot(0, self, lambda: self._fail(request_id, self._why_not()))
        elif self._child is None:
            self._unsent[request_id] = payload
        else:
            self._child.send(payload)
        return request_id

    def cancel(self, request_id: int) -> None:
        """Ends with ``Finished(CANCELLED)``: at once where it still waits, within a block where it runs."""
        if self._child is not None:
            self._child.send(_pickled(Cancel(request_id)))
        elif self._unsent.pop(request_id, None) is not None:
            QTimer.singleShot(0, self, lambda: self._occur(request_id, Finished(Outcome.CANCELLED)))

    @Slot(object, object)
    def _take_messages(self, child: _Child, messages: list[FromWorker]) -> None:
        if child is self._child:
            for message in messages:
                self._take(message)

    def _take(self, message: FromWorker) -> None:
        match message:
            case Occurred(request_id, event):
                self._occur(request_id, event)
            case Result(request_id, value):
                if self._pending.pop(request_id, None) is not None:
                    self.result_arrived.emit(request_id, value)
            case Failed(request_id, error):
                self._fail(request_id, error)
            case Ready():
                self._set_state(EngineState.READY)
            case Logged(level, logger, text):
                logging.getLogger(logger).log(level, "%s", text)

    def _occur(self, request_id: int, event: Event) -> None:
        pending = self._pending.get(request_id)
        if pending is None:
            return
        if isinstance(event, Finished):
            del self._pending[request_id]
        else:
            pending.last_event = event
            self._last_active = pending
        self.event_arrived.emit(request_id, event)

    def _fail(self, request_id: int, error: EngineError) -> None:
        if self._pending.pop(request_id, None) is not None:
            is_bug = isinstance(error, EngineFault)
            log.log(logging.ERROR if is_bug else logging.INFO, "request failed: %s %s", error, error.detail)
            self.request_failed.emit(request_id, error)

    def _why_not(self) -> EngineError:
        return self.last_death or describe_death(None)

    @Slot(object, object)
    def _take_end(self, child: _Child, end: _End) -> None:
        """The child is gone. Everything it was asked fails before the next one starts, and may be asked again."""
        if child is not self._child:
            return
        self._child = None
        is_wished, self._is_restart_wished = self._is_restart_wished, False
        unfinished, self._pending = self._pending, {}
        running = self._last_active if self._last_active in unfinished.values() else None
        running = running or next(iter(unfinished.values()), None)
        if not is_wished:
            self._death_times.append(time.monotonic())
            self.last_death = _describe(end, running)
            log.error("%s %s", self.last_death, self.last_death.detail)
        is_hopeless = end.exit_code is None or self._has_died_often()
        self._set_state(EngineState.DEAD if is_hopeless and not is_wished else EngineState.STOPPED)
        for request_id, pending in unfinished.items():
            self.request_failed.emit(request_id, describe_restart() if is_wished else _describe(end, pending))
        if not is_wished and self.last_death is not None:
            self.engine_died.emit(str(self.last_death))
        if self._state is EngineState.STOPPED:
            self.start()

    def _has_died_often(self) -> bool:
        times = self._death_times
        return len(times) == DEATHS_ALLOWED and times[-1] - times[0] < DEATHS_WITHIN_S

    @Slot()
    def _forget_finished(self) -> None:
        self._children = [child for child in self._children if not child.isFinished()]

    def _set_state(self, state: EngineState) -> None:
        if state is not self._state:
            self._state = state
            self.engine_state_changed.emit(state.value)


def _worker_options(data_dir: Path, models_folder: Path | None, runtimes: Sequence[Path]) -> WorkerOptions:
    shipped = bundle()
    return WorkerOptions(
        data_dir,
        models_folder,
        stderr_file=data_dir / "logs" / "engine-output.log",
        runtimes=(*runtimes, *_shipped_runtimes()),
        shipped_models=shipped.models_dir if shipped else None,
    )


def _shipped_runtimes() -> tuple[Path, ...]:
    shipped = bundle()
    return shipped.runtimes if shipped else ()


def _describe(end: _End, pending: _Pending | None) -> EngineDied:
    return describe_death(
        end.exit_code,
        method=pending.method if pending else None,
        last_event=pending.last_event if pending else None,
        detail=end.output,
    )


@dataclass(frozen=True, slots=True)
class _End:
    """``exit_code`` None: it never started. ``output``: the last it wrote to its standard streams."""

    exit_code: int | None
    output: str


class _Child(QThread):
    """One child process from its start to its end; the thread starts it and reads from it.

    ``send``, ``terminate_process`` and ``kill`` may be called from any thread and never wait.
    """

    arrived = Signal(object, object)
    ended = Signal(object, object)

    def __init__(self, options: WorkerOptions) -> None:
        super().__init__()
        self.setObjectName("engine-child")
        self.process_id: int | None = None
        self._options = options
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._process: SpawnProcess | None = None
        self._is_unwanted = False

    def send(self, payload: bytes) -> None:
        self._outgoing.put(payload)

    def terminate_process(self) -> None:
        self._end_process(SpawnProcess.terminate)

    def kill(self) -> None:
        self._end_process(SpawnProcess.kill)

    def run(self) -> None:
        connection, theirs = multiprocessing.get_context("spawn").Pipe()
        try:
            with contextlib.closing(theirs):
                self._start_process(theirs)
            writer = threading.Thread(target=self._write, args=(connection,), name="strata-engine-writer", daemon=True)
            writer.start()
            self._read(connection)
            self._outgoing.put(None)
            exit_code = self._join_process()
        except (OSError, ValueError) as error:
            log.exception("the engine's process could not be started")
            self.ended.emit(self, _End(None, repr(error)))
        else:
            self.ended.emit(self, _End(exit_code, read_tail(self._options.stderr_file)))
        finally:
            connection.close()

    def _start_process(self, theirs: Connection) -> None:
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=run_worker, args=(theirs, self._options), name="strata-engine", daemon=True)
        process.start()
        with self._lock:
            self._process = process
            self.process_id = process.pid
            if self._is_unwanted:
                process.kill()

    def _end_process(self, end: Callable[[SpawnProcess], None]) -> None:
        with self._lock:
            self._is_unwanted = True
            if self._process is not None:
                end(self._process)

    def _join_process(self) -> int | None:
        """Its pipe is closed, so it has gone or is about to."""
        process = self._process
        assert process is not None
        process.join(JOIN_S)
        if process.is_alive():
            process.kill()
            process.join(JOIN_S)
        with self._lock:
            exit_code = process.exitcode
            self._process = None
            return exit_code

    def _read(self, connection: Connection) -> None:
        """Emits what comes, many at a time where they come fast, until the other end is closed."""
        is_open = True
        while is_open:
            messages: list[FromWorker] = []
            try:
                messages.append(connection.recv())
                while len(messages) < BATCH_MESSAGES and connection.poll():
                    messages.append(connection.recv())
            except (EOFError, OSError):
                is_open = False
            except Exception:  # unpickling runs code of what is unpickled; without an end its call would hang
                log.exception("the engine's process sent what cannot be read")
                self.kill()
                is_open = False
            if messages:
                self.arrived.emit(self, messages)

    def _write(self, connection: Connection) -> None:
        with contextlib.suppress(OSError):  # the reader notices, and says why
            while (payload := self._outgoing.get()) is not None:
                connection.send_bytes(payload)


def _pickled(message: ToWorker) -> bytes:
    """In the caller's thread, so that an argument that cannot be sent raises where it came from."""
    return bytes(ForkingPickler.dumps(message))
