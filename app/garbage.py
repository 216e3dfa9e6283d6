"""Python's cycle collector, run in the GUI thread only.

It may otherwise run in whichever thread allocates next, and delete a QObject there, which Qt does not survive
(PySide 6.12: "Timers cannot be stopped from another thread"). Owns when it runs. Reference counting is untouched.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

_LOOK_MS = 2000
_OLDEST_EVERY = 30


class GarbageTimer(QObject):
    """Young objects when enough have come together, the oldest generation about once a minute of work."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs = 0
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self._look)

    def start(self) -> None:
        gc.disable()
        # What is there now lives as long as the program: it need not be walked each time.
        gc.freeze()
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()
        gc.enable()

    def _look(self) -> None:
        if gc.get_count()[0] < gc.get_threshold()[0]:
            return
        self._runs += 1
        gc.collect(2 if self._runs % _OLDEST_EVERY == 0 else 1)
