"""The engine's own process: reads requests from a pipe, runs them on lanes, sends back what happens.

Knows the pipe, the lanes and how this process ends; nothing of models, nothing of windows. Light to import: the
program does so to name ``run_worker`` as the target of the process it spawns. Torch comes with the first call that
needs it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import logging
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cancel import CancelToken
from engine.errors import EngineError, EngineFault, ModelBusy
from engine.events import Event, Finished, Outcome
from engine.outbox import Outbox
from engine.process_setup import prepare_process, use_runtimes
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
    WorkerOptions,
)

if TYPE_CHECKING:
    from engine.local import LocalEngine

LANES_END_S = 1.0
"""How long what was cancelled may take to reach the end of its block before the process leaves without it."""
OUTBOX_END_S = 0.3
NICENESS = 5

_HEAVY_MODULES = ("torch", "transformers", "engine.loading", "engine.planning", "engine.store.splitter")


@dataclass(frozen=True, slots=True)
class _Method:
    """``is_long``: returns an iterator of events and takes a ``CancelToken``. ``needs_torch``: imports it."""

    lane: str
    is_long: bool = False
    needs_torch: bool = False


# Short calls must not wait behind an answer, and those that read small files not behind those that measure or wait
# for the network.
METHODS: Mapping[str, _Method] = {
    "load": _Method("compute", is_long=True, needs_torch=True),
    "answer": _Method("compute", is_long=True),
    "unload": _Method("compute"),
    "count_tokens": _Method("counts", needs_torch=True),
    "split": _Method("jobs", is_long=True, needs_torch=True),
    "download": _Method("jobs", is_long=True, needs_torch=True),
    "discard_download": _Method("jobs"),
    "verify": _Method("jobs", is_long=True, needs_torch=True),
    "move": _Method("jobs", is_long=True),
    "discard_move": _Method("jobs"),
    "plan": _Method("surveys", needs_torch=True),
    "probe": _Method("surveys", needs_torch=True),
    "plan_download": _Method("hub-plans", needs_torch=True),
    "search_models": _Method("hub-searches"),
    "model_card": _Method("hub-searches"),
    "list_models": _Method("quick"),
    "model_folders": _Method("quick"),
    "add_models_folder": _Method("quick"),
    "forget_models_folder": _Method("quick"),
    "list_drives": _Method("drives"),
    "measure_drive": _Method("drives"),
    "check_family": _Method("compute", needs_torch=True),
    "check_device": _Method("compute", needs_torch=True),
    "torch_report": _Method("surveys", needs_torch=True),
    "remove": _Method("quick"),
    "allow_code": _Method("quick"),
    "allow_shown_code": _Method("quick"),
}


def run_worker(connection: Connection, options: WorkerOptions) -> None:
    """The process' main. Returns never: it leaves without running what libraries left to do at exit."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in a terminal reaches us too; the program decides
    if options.stderr_file is not None:
        _redirect_output(options.stderr_file)
    use_runtimes(options.runtimes)
    _lower_priority()
    prepare_process()
    outbox = Outbox(lambda message: connection.send_bytes(_pickled(message)))
    _forward_log(outbox)
    from engine.local import LocalEngine
    from engine.store.model_store import ModelStore

    store = ModelStore(options.data_dir, models_folder=options.models_folder, shipped_folder=options.shipped_models)
    engine = LocalEngine(store)
    calls = Calls(engine, outbox)
    outbox.post(Ready(os.getpid()))
    _serve(connection, calls)
    if calls.close(LANES_END_S):
        engine.close()
    outbox.close(OUTBOX_END_S)
    os._exit(0)


def _serve(connection: Connection, calls: Calls) -> None:
    """Until told to end, or until nobody is left at the other end: a program that was killed closes the pipe."""
    with contextlib.suppress(EOFError, OSError):
        while not isinstance(message := connection.recv(), Shutdown):
            if isinstance(message, Request):
                calls.submit(message)
            elif isinstance(message, Cancel):
                calls.cancel(message.request_id)


@dataclass(slots=True, eq=False)
class _Call:
    request: Request
    lane: str
    token: CancelToken = field(default_factory=CancelToken)
    has_begun: bool = False


class Calls:
    """Every request that has not ended, and the lanes they run on. ``submit`` and ``cancel`` come from one thread."""

    def __init__(self, engine: LocalEngine, outbox: Outbox) -> None:
        self._engine = engine
        self._outbox = outbox
        self._lock = threading.Lock()
        self._calls: dict[int, _Call] = {}
        self._queues: dict[str, queue.SimpleQueue[_Call | None]] = {}
        self._threads: list[threading.Thread] = []
        self._torch_lock = threading.Lock()
        for lane in sorted({method.lane for method in METHODS.values()}):
            self._queues[lane] = queue.SimpleQueue()
            thread = threading.Thread(target=self._work, args=(lane,), name=f"strata-{lane}-calls", daemon=True)
            self._threads.append(thread)
            thread.start()

    def submit(self, request: Request) -> None:
        """Queues a request on the lane of its method."""
        if (refusal := self._refusal(request)) is not None:
            self._outbox.post(Failed(request.request_id, refusal))
            return
        # Removing the loaded model frees it first, which only the compute lane may do.
        lane = "compute" if self._removes_loaded(request) else METHODS[request.method].lane
        call = _Call(request, lane)
        with self._lock:
            self._calls[request.request_id] = call
        self._queues[lane].put(call)

    def cancel(self, request_id: int) -> None:
        """One that waits ends at once; one that runs ends within a block."""
        with self._lock:
            call = self._calls.get(request_id)
            if call is None:
                return
            call.token.cancel()
            if call.has_begun:
                return
            del self._calls[request_id]
        self._outbox.post(Occurred(request_id, Finished(Outcome.CANCELLED)))

    def close(self, timeout_s: float) -> bool:
        """Cancels everything and waits; False where something still runs after ``timeout_s``."""
        for request_id in list(self._calls):
            self.cancel(request_id)
        for waiting in self._queues.values():
            waiting.put(None)
        deadline = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0.0))
        return not any(thread.is_alive() for thread in self._threads)

    def _refusal(self, request: Request) -> EngineError | None:
        if request.method not in METHODS:
            return EngineFault(f"The engine has no “{request.method}”.")
        with self._lock:
            is_computing = any(call.lane == "compute" for call in self._calls.values())
        return _in_use() if is_computing and self._removes_loaded(request) else None

    def _removes_loaded(self, request: Request) -> bool:
        loaded = self._engine.loaded
        if request.method != "remove" or loaded is None:
            return False
        if request.args[0] in (loaded.folder.name, str(loaded.folder)):
            return True
        try:
            return self._engine.store.find_one(request.args[0]).folder == loaded.folder
        except EngineError:  # the removal itself says so
            return False

    def _work(self, lane: str) -> None:
        waiting = self._queues[lane]
        while (call := waiting.get()) is not None:
            with self._lock:
                if call.request.request_id not in self._calls:
                    continue
                call.has_begun = True
            ending = self._perform(call)
            with self._lock:
                del self._calls[call.request.request_id]
            self._outbox.post(ending)

    def _perform(self, call: _Call) -> Occurred | Result | Failed:
        """Runs a call and gives its one ending."""
        request_id = call.request.request_id
        try:
            if not METHODS[call.request.method].is_long:
                return Result(request_id, self._run(call))
            for event in self._events(call):
                if isinstance(event, Finished):
                    return Occurred(request_id, event)
                self._outbox.post(Occurred(request_id, event))
            raise RuntimeError(f"{call.request.method} ended without Finished")
        except EngineError as error:
            return Failed(request_id, error)
        except Exception as error:  # the bridge to the other process: our bugs are reported there
            return Failed(request_id, _fault(call.request.method, error))

    def _run(self, call: _Call) -> Any:
        self._prepare(call)
        return getattr(self._engine, call.request.method)(*call.request.args, **(call.request.kwargs or {}))

    def _events(self, call: _Call) -> Iterator[Event]:
        self._prepare(call)
        request = call.request
        yield from getattr(self._engine, request.method)(*request.args, **(request.kwargs or {}), cancel=call.token)

    def _prepare(self, call: _Call) -> None:
        request = call.request
        if METHODS[request.method].needs_torch:
            with self._torch_lock:  # transformers imports itself lazily, and two threads at once get halves of it
                for name in _HEAVY_MODULES:
                    importlib.import_module(name)
        if self._removes_loaded(request):
            if call.lane != "compute":  # it was loaded while the removal waited
                raise _in_use()
            self._engine.unload()


def _in_use() -> ModelBusy:
    return ModelBusy("This model is in use at the moment.", "Stop its answer, or wait for it, and try again.")


def _pickled(message: FromWorker) -> memoryview:
    """What cannot be pickled is a bug of the call that said it; the other calls must not suffer."""
    try:
        return ForkingPickler.dumps(message)
    except Exception as error:  # pickling runs code of what is pickled
        if not isinstance(message, Occurred | Result | Failed):
            raise
        return ForkingPickler.dumps(Failed(message.request_id, _fault("reply", error)))


def _fault(method: str, error: Exception) -> EngineFault:
    detail = "".join(traceback.format_exception(error))
    return EngineFault(
        f"Something went wrong inside the engine ({method}: {type(error).__name__}).",
        "Try again; if it happens again, please report it with the details.",
        detail=detail,
    )


def _redirect_output(path: Path) -> None:
    """Of this process, of C libraries in it, and of the interpreter when it crashes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)
    # A windowed program on Windows has no standard streams at all.
    sys.stdout, sys.stderr = (
        os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
        for number in (1, 2)
    )
    faulthandler.enable(sys.stderr)


def _lower_priority() -> None:
    """The window comes first."""
    if sys.platform == "win32":
        import psutil

        psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
    else:
        os.nice(NICENESS)


class _LogForwarder(logging.Handler):
    def __init__(self, outbox: Outbox) -> None:
        super().__init__(logging.WARNING)
        self._outbox = outbox

    def emit(self, record: logging.LogRecord) -> None:
        self._outbox.post(Logged(record.levelno, record.name, self.format(record)))


def _forward_log(outbox: Outbox) -> None:
    logging.getLogger().addHandler(_LogForwarder(outbox))
    logging.getLogger("engine").setLevel(logging.WARNING)
