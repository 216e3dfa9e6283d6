"""Looks for other programs' models in a thread of the pool: a sleeping drive never holds the window."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal

from app.wizard.found_models import find_models


class FoundSearch(QObject):
    """``found`` follows each ``start`` with a list of ``FoundModel``, in the thread of this object."""

    found = Signal(object)

    def start(self) -> None:
        search = _Search()
        search.signals.done.connect(self.found)
        QThreadPool.globalInstance().start(search)


class _Signals(QObject):
    """A runnable has no signals of its own."""

    done = Signal(object)


class _Search(QRunnable):
    def __init__(self) -> None:
        super().__init__()
        self.signals = _Signals()

    def run(self) -> None:
        self.signals.done.emit(find_models(os.environ, Path.home()))
