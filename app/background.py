"""Work that must not hold up the window, in a thread of Qt's pool: one function, one ending, told in the GUI thread.

Owns nothing but the way there and back. Must not know what the work is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress

from PySide6.QtCore import QObject, QThreadPool, Signal, Slot

from engine.errors import EngineError

_LAST_WAIT_MS = 3000


class Background(QObject):
    """Begins at once, signals nothing before the constructor returns, and deletes itself at its end.

    Ends with ``finished`` and then one of ``done`` (what ``work`` gives) or ``failed`` (an ``EngineError``, an
    ``OSError``, an error of SQLite). Any other exception is ours, and raised in the GUI thread.
    """

    finished = Signal()
    done = Signal(object)
    failed = Signal(object)
    _ended = Signal(object, object)

    def __init__(self, work: Callable[[], object], parent: QObject, *, pool: QThreadPool | None = None) -> None:
        """``pool`` instead of the one everybody shares, for what takes long."""
        super().__init__(parent)
        self._work = work
        self._ended.connect(self._tell)
        (pool or QThreadPool.globalInstance()).start(self._run)

    def _run(self) -> None:
        value, failure = None, None
        try:
            value = self._work()
        except Exception as error:
            failure = error
        with suppress(RuntimeError):  # whoever wanted to know is gone, and this with them
            self._ended.emit(value, failure)

    @Slot(object, object)
    def _tell(self, value: object, error: Exception | None) -> None:
        self.deleteLater()
        self.finished.emit()
        if error is None:
            self.done.emit(value)
        elif isinstance(error, EngineError | OSError | sqlite3.Error):
            self.failed.emit(error)
        else:
            raise error


def wait_for_background() -> None:
    """Before the files are closed that it may write to; for three seconds at most."""
    QThreadPool.globalInstance().waitForDone(_LAST_WAIT_MS)
