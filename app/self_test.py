"""``strata --selftest``: what an installed program says of itself, one line for each check, without the network.

Owns the checks and their lines. Uses the window system, the keyring, an engine in its own process and a data folder
that is deleted afterwards; never the user's data, and it may run beside the program. For installers, tests and support,
so its lines are English and not translated.
"""

from __future__ import annotations

import io
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import PySide6
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from app.bundle import bundle
from app.engine_calls import EngineCall
from app.engine_host import EngineHost, EngineState
from app.secrets import KeyringUnavailable, proved_keyring, system_keyring
from engine import __version__
from engine.api import FamilyCheck, LoadOptions, Message, SamplingOptions
from engine.errors import EngineError
from engine.events import Event, Finished, GenerationResult, SplitResult

FAMILIES = ("llama", "qwen3", "qwen3_moe", "deepseek_v3")
_START_S = 120.0
_CALL_S = 300.0
_QUESTION = "What is the capital of France?"


class _CheckFailed(Exception):
    """What was found instead."""


def run_self_test(output: TextIO | None = None, *, report_file: Path | None = None) -> int:
    """0 where every check passed, 1 otherwise. ``output`` or ``report_file`` instead of the process's own output.

    Raises ``OSError`` where the file cannot be written.
    """
    if report_file is not None:
        with report_file.open("w", encoding="utf-8") as file:
            return run_self_test(file)
    output = output or sys.stdout
    if isinstance(output, io.TextIOWrapper):
        output.reconfigure(errors="replace")  # a path may have letters that a console of Windows has not
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    with tempfile.TemporaryDirectory(prefix="strata-selftest-", ignore_cleanup_errors=True) as folder:
        report = _Report(output)
        report.say("program", _program)
        report.say("window", _window)
        report.say("keyring", _keyring)
        with _engine(Path(folder)) as engine:
            if report.say("engine", lambda: _start(engine)):
                for family in FAMILIES:
                    report.say(family, lambda family=family: _family(engine, family))
                report.say("starter", lambda: _starter(engine))
    return 1 if report.failures else 0


class _Report:
    """One line for each check: whether it passed, its name, what was found."""

    def __init__(self, output: TextIO | None) -> None:
        self._output = output  # None for a windowed program on Windows
        self.failures = 0

    def say(self, name: str, check: Callable[[], str]) -> bool:
        try:
            line, has_passed = f"ok      {name}: {check()}", True
        except (_CheckFailed, EngineError) as error:
            detail = f" ({error.detail.strip()})" if isinstance(error, EngineError) and error.detail else ""
            line, has_passed = f"FAILED  {name}: {error}{detail}", False
            self.failures += 1
        if self._output is not None:
            print(line, file=self._output, flush=True)
        return has_passed


def _program() -> str:
    shipped = bundle()
    place = f"frozen, in {shipped.folder}" if shipped else "from its source"
    return f"Strata {__version__}, Python {platform.python_version()}, {platform.platform()}, {place}"


def _window() -> str:
    """A window is made and painted; the application object stays for the rest of the run."""
    app = QApplication.instance() or QApplication([sys.argv[0]])
    window = QWidget()
    window.resize(200, 100)
    window.show()
    QApplication.processEvents()
    picture = window.grab()
    window.close()
    if picture.isNull():
        raise _CheckFailed("nothing was painted")
    name = app.platformName() if isinstance(app, QApplication) else ""
    return f"Qt {PySide6.__version__} on {name}, painted {picture.width()} x {picture.height()}"


def _keyring() -> str:
    """Having none is no failure: the program says so, and keeps the token for the session."""
    try:
        proved_keyring(system_keyring)
    except KeyringUnavailable as error:
        return f"no keyring here ({error}); a token would be kept for the session only"
    return "kept a value and gave it back"


@contextmanager
def _engine(data_dir: Path) -> Generator[EngineHost]:
    engine = EngineHost(data_dir)
    try:
        yield engine
    finally:
        engine.shutdown()


def _start(engine: EngineHost) -> str:
    begun = time.monotonic()
    loop = QEventLoop()
    engine.engine_state_changed.connect(lambda state: loop.quit() if state != EngineState.STARTING else None)
    engine.start()
    QTimer.singleShot(int(_START_S * 1000), loop.quit)
    if engine.state is EngineState.STARTING:
        loop.exec()
    if engine.state is not EngineState.READY:
        raise _CheckFailed(f"{engine.state.value} after {time.monotonic() - begun:.1f} s: {engine.last_death or ''}")
    return f"its process is up after {time.monotonic() - begun:.1f} s"


def _family(engine: EngineHost, family: str) -> str:
    begun = time.monotonic()
    found = _ask(engine, "check_family", family)
    if not isinstance(found, FamilyCheck) or not (found.has_equal_logits and found.has_equal_tokens):
        raise _CheckFailed(f"streamed differs from plain transformers: {found}")
    return (
        f"{found.blocks} blocks, {found.logits} logits and {found.tokens} tokens equal to plain transformers, "
        f"{time.monotonic() - begun:.1f} s"
    )


def _starter(engine: EngineHost) -> str:
    begun = time.monotonic()
    split = _ask(engine, "split", "starter", delete_original=False)
    if not isinstance(split, SplitResult):
        raise _CheckFailed("it was not cut")
    cut_s = time.monotonic() - begun
    _ask(engine, "load", Path(split.path), LoadOptions(context=512))
    options = SamplingOptions(greedy=True, max_new_tokens=16)
    answer = _ask(engine, "answer", [Message("user", _QUESTION)], options)
    if not isinstance(answer, GenerationResult) or "Paris" not in answer.text:
        raise _CheckFailed(f"it answered {answer}")
    ready = f"cut in {cut_s:.1f} s" if split.bytes_written else "already cut"
    return f"{ready}, answered “{answer.text.strip()}” after {time.monotonic() - begun:.1f} s"


def _ask(engine: EngineHost, method: str, *args: Any, **kwargs: Any) -> object:
    """The value of a short call, the result of a long one. Raises its ``EngineError``."""
    loop = QEventLoop()
    values: list[object] = []
    errors: list[EngineError] = []

    def take_event(event: Event) -> None:
        if isinstance(event, Finished):
            values.append(event.result)

    call = EngineCall(engine, method, *args, **kwargs)
    call.occurred.connect(take_event)
    call.result.connect(values.append)
    call.failed.connect(errors.append)
    call.finished.connect(loop.quit)
    QTimer.singleShot(int(_CALL_S * 1000), loop, loop.quit)
    loop.exec()
    if errors:
        raise errors[0]
    if not values:
        raise _CheckFailed(f"“{method}” has not ended after {_CALL_S:.0f} s")
    return values[0]
