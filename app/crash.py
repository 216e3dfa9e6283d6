"""Our own bugs: every exception nobody caught is logged and shown with a report that can be copied.

Owns Python's and Qt's last hooks and the text of the report. Secrets are taken out of it. What the user can mend is
an ``EngineError`` and belongs in a notice bar, never here.
"""

from __future__ import annotations

import faulthandler
import logging
import platform
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import PySide6
from PySide6.QtCore import QMessageLogContext, QObject, QtMsgType, Signal, qInstallMessageHandler

from app.log import last_lines
from app.redaction import redacted
from engine import __version__

_log = logging.getLogger(__name__)
_qt_log = logging.getLogger("qt")

_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


@dataclass(frozen=True, slots=True)
class CrashReport:
    """``title`` is one line; ``text`` is what the user copies."""

    title: str
    text: str


def crash_report(error: BaseException, log_file: Path, secrets: Iterable[str], *, thread: str = "") -> CrashReport:
    """Versions, the traceback and the end of the log, without secrets."""
    known = tuple(secrets)
    title = redacted(f"{type(error).__name__}: {error}".strip().splitlines()[0], known)
    parts = [
        f"Strata {__version__} · Python {platform.python_version()} · Qt {PySide6.__version__} · {platform.platform()}",
        f"Thread: {thread or threading.current_thread().name}",
        "".join(traceback.format_exception(error)).rstrip(),
        "Last lines of the log:\n" + last_lines(log_file),
    ]
    return CrashReport(title, redacted("\n\n".join(parts), known))


class CrashHook(QObject):
    """``crashed`` carries a ``CrashReport`` and arrives in the GUI thread, whichever thread failed."""

    crashed = Signal(object)

    def __init__(self, log_file: Path, secrets: Callable[[], Iterable[str]], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._log_file = log_file
        self._secrets = secrets

    def install(self) -> None:
        """From now on, until ``uninstall``."""
        sys.excepthook = self._take_exception
        threading.excepthook = self._take_thread_exception
        qInstallMessageHandler(_log_qt_message)

    def uninstall(self) -> None:
        sys.excepthook = sys.__excepthook__
        threading.excepthook = threading.__excepthook__
        qInstallMessageHandler(None)

    def _take_exception(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        self._report(error.with_traceback(trace), threading.current_thread().name)

    def _take_thread_exception(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            self._report(args.exc_value, args.thread.name if args.thread else "")

    def _report(self, error: BaseException, thread: str) -> None:
        _log.critical("uncaught in %s", thread, exc_info=error)
        self.crashed.emit(crash_report(error, self._log_file, self._secrets(), thread=thread))


def watch_for_fatal_signals(file: Path) -> Callable[[], None]:
    """A segmentation fault leaves every thread's stack in ``file``. Returns what ends this. Raises ``OSError``."""
    # The file stays open as long as faulthandler may write to it.
    opened = file.open("a", encoding="utf-8")
    faulthandler.enable(opened)

    def stop() -> None:
        faulthandler.disable()
        opened.close()

    return stop


def take_fatal_trace(file: Path) -> str:
    """What the last run left behind, and forgets it."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace").strip()
        file.unlink()
    except OSError:
        return ""
    return text


def _log_qt_message(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    where = f" ({context.category})" if context.category and context.category != "default" else ""
    _qt_log.log(_LEVELS.get(kind, logging.WARNING), "%s%s", message, where)
