"""Qt's application object, and the files that macOS hands to it.

A double-click in the Finder is an event for the application there, not a word on the command line. An event filter
would do as well, but would be called for every event of every window.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication


class Application(QApplication):
    """``file_asked_for`` carries the whole path of a file the user has opened elsewhere."""

    file_asked_for = Signal(str)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QFileOpenEvent) and event.file():
            self.file_asked_for.emit(event.file())
            return True
        return super().event(event)
