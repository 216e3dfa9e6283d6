"""One run of the program, from the lock to the last file: what must be there before a window may be shown.

Owns log, crash hook, single instance, language. A data folder that cannot be used is said in a dialog.
"""

from __future__ import annotations

import logging
import sqlite3
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import TypeVar

from PySide6.QtCore import QProcess

from app.application import Application
from app.crash import CrashHook, CrashReport, take_fatal_trace, watch_for_fatal_signals
from app.crash_dialog import CrashDialog
from app.end_signals import EndSignals
from app.garbage import GarbageTimer
from app.icons import app_icon
from app.log import start_log
from app.options import Options
from app.paths import Paths
from app.program import Program
from app.secrets import Secrets
from app.settings import LANGUAGE, Settings
from app.single_instance import SingleInstance
from app.start_failure import is_tried_again
from app.translation import install_language, language_in_use
from app.watchdog import Watchdog
from engine import __version__
from engine.errors import EngineError

_log = logging.getLogger(__name__)

T = TypeVar("T")


def run_session(options: Options) -> int:
    """Blocks until the user quits; the process's exit code."""
    # Threads of ours write files and read the engine's pipe; the window must not wait 5 ms for each turn of theirs.
    sys.setswitchinterval(0.001)
    app = Application([sys.argv[0]])
    app.setApplicationName("Strata")
    app.setApplicationVersion(__version__)
    app.setDesktopFileName("strata")
    app.setQuitOnLastWindowClosed(False)
    app.setWindowIcon(app_icon())
    paths = Paths(options.data_dir)
    settings = _persist(
        paths, lambda: _open_settings(paths, options), lambda: install_language(app, language_in_use(""))
    )
    if settings is None:
        return 1
    instance = SingleInstance(paths.instance_lock_file)
    if not instance.acquire():
        return 0 if instance.activate_other(str(options.file or "")) else 1
    with ExitStack() as ending:
        ending.callback(instance.release)
        secrets = Secrets()
        start_log(paths.log_file, secrets.known_values)
        ending.callback(_watch_signals(paths))
        hook = CrashHook(paths.log_file, secrets.known_values)
        hook.install()
        ending.callback(hook.uninstall)
        install_language(app, language_in_use(settings.value(LANGUAGE)))
        _log.info("Strata %s starts%s", __version__, " in safe mode" if options.is_safe_mode else "")
        program = _persist(paths, lambda: Program(app, options, settings, secrets))
        if program is None:
            return 1
        ending.callback(program.stop)
        hook.crashed.connect(CrashDesk(program, paths).show)
        instance.activated.connect(program.show_file)
        app.file_asked_for.connect(program.show_file)
        end_signals = EndSignals()
        end_signals.asked.connect(program.leave)
        ending.callback(end_signals.close)
        garbage = GarbageTimer()
        garbage.start()
        ending.callback(garbage.stop)
        program.start()
        if options.has_watchdog:
            watchdog = Watchdog()
            watchdog.start()
            ending.callback(watchdog.stop)
        code = app.exec()
    if program.wants_restart:
        QProcess.startDetached(sys.executable, sys.orig_argv[1:])
    return code


def _open_settings(paths: Paths, options: Options) -> Settings:
    paths.create()
    return Settings(paths.settings_file, is_stored=not options.is_safe_mode)


def _persist(paths: Paths, begin: Callable[[], T], prepare: Callable[[], object] = lambda: None) -> T | None:
    """What ``begin`` makes, tried as often as the user wants; None to quit. ``prepare`` comes before a dialog."""
    while True:
        try:
            return begin()
        except (EngineError, sqlite3.Error, OSError) as error:
            _log.error("cannot start: %r", error)
            failure = error
        prepare()
        if not is_tried_again(failure, paths.data_dir):
            return None


class CrashDesk:
    """One dialog at a time; what fails while it is open is counted in it."""

    def __init__(self, program: Program, paths: Paths) -> None:
        self._program = program
        self._paths = paths
        self._dialog: CrashDialog | None = None

    def show(self, report: CrashReport) -> None:
        if self._dialog is not None:
            self._dialog.count_another()
            return
        self._dialog = CrashDialog(report, self._paths.logs_dir, self._program.window)
        self._dialog.finished.connect(self._take_end)
        self._dialog.accepted.connect(self._program.leave)
        self._dialog.open()

    def _take_end(self) -> None:
        self._dialog = None


def _watch_signals(paths: Paths) -> Callable[[], None]:
    file = paths.logs_dir / "fatal.log"
    if trace := take_fatal_trace(file):
        _log.error("the last run ended with a fatal signal:\n%s", trace)
    return watch_for_fatal_signals(file)
