"""A system that shuts down, or Ctrl+C in a terminal, ends the program in order.

Owns the signal handlers. Python only notices a signal when it runs code, and Qt's loop runs none for minutes: so the
signal wakes a socket that Qt watches.
"""

from __future__ import annotations

import signal
import socket

from PySide6.QtCore import QObject, QSocketNotifier, Signal


class EndSignals(QObject):
    """``asked`` once for each SIGTERM or SIGINT. Made in the main thread."""

    asked = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._reading, self._writing = socket.socketpair()
        for each in (self._reading, self._writing):
            each.setblocking(False)
        self._notifier = QSocketNotifier(self._reading.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._wake)
        self._wakeup_before = signal.set_wakeup_fd(self._writing.fileno(), warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, _ignore) for number in (signal.SIGTERM, signal.SIGINT)}

    def close(self) -> None:
        """Everything as it was before."""
        signal.set_wakeup_fd(self._wakeup_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._notifier.setEnabled(False)
        self._reading.close()
        self._writing.close()

    def _wake(self) -> None:
        self._reading.recv(64)
        self.asked.emit()


def _ignore(_number: int, _frame: object) -> None:
    """Python needs a handler in place for the wake-up to be written."""
