"""An engine that lives for one question: does this runtime compute on this computer's card?

Starts a process of its own, so that a runtime that crashes costs nothing. Calls wait: only from a thread of their own.
Beside ``app.engine_host`` the only module that starts an engine.
"""

from __future__ import annotations

import multiprocessing
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

from PySide6.QtCore import QCoreApplication

from app.engine_death import describe_death, read_tail
from engine.api import DeviceCheck
from engine.errors import EngineError
from engine.worker import run_worker
from engine.worker_messages import Failed, Request, Result, WorkerOptions

LONGEST_S = 300.0
_LOOK_S = 0.1
_END_S = 5.0


class TrialFailed(EngineError):
    """It computed, and wrongly; or it never ended."""


def try_runtime(
    runtimes: Sequence[Path], folder: Path, device: str, *, check: Callable[[], None], longest_s: float = LONGEST_S
) -> DeviceCheck:
    """What the engine says with packages from ``runtimes``, the first before the others.

    ``folder`` is its data folder, made and removed; ``check`` may raise to stop. Raises ``EngineError``.
    """
    options = WorkerOptions(folder, stderr_file=folder / "output.log", runtimes=tuple(runtimes))
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=run_worker, args=(theirs, options), name="strata-trial", daemon=True)
    with closing(theirs):
        try:
            process.start()
        except OSError as error:
            ours.close()
            raise describe_death(None, detail=repr(error)) from error
    try:
        with closing(ours):
            answer = _ask(ours, Request(1, "check_device", (device,)), check, longest_s)
        if isinstance(answer, EngineError):
            raise answer
        if answer is None:
            process.join(_END_S)
            raise describe_death(process.exitcode, detail=read_tail(options.stderr_file))
        return _require_sound(answer)
    finally:
        process.kill()
        process.join(_END_S)  # a driver that hangs may keep it: it is no use to wait for it
        shutil.rmtree(folder, ignore_errors=True)


def _ask(
    connection: Connection, request: Request, check: Callable[[], None], longest_s: float
) -> DeviceCheck | EngineError | None:
    """None where the process has gone."""
    ends_at = time.monotonic() + longest_s
    try:
        connection.send_bytes(ForkingPickler.dumps(request))
        while time.monotonic() < ends_at:
            check()
            if not connection.poll(_LOOK_S):
                continue
            match connection.recv():
                case Result(request.request_id, DeviceCheck() as value):
                    return value
                case Failed(request.request_id, error):
                    return error
                case _:
                    continue
    except (EOFError, OSError):
        return None
    return TrialFailed(
        QCoreApplication.translate("Gpu", "The trial had not ended after {minutes} minutes.").format(
            minutes=round(longest_s / 60)
        )
    )


def _require_sound(found: DeviceCheck) -> DeviceCheck:
    if not found.difference <= found.allowed_difference:  # whatever is no number either
        raise TrialFailed(
            QCoreApplication.translate("Gpu", "What {name} computes differs from what the processor computes.").format(
                name=found.name
            ),
            detail=repr(found),
        )
    return found
