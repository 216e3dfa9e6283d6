"""Notices when the window could not answer: a beat in the GUI thread, watched from another thread.

Owns the measuring and a log line with the GUI thread's stack at that moment. Must not know what blocked it. Off unless
asked for (``--watchdog``): it costs one wake-up every 20 ms.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

_log = logging.getLogger(__name__)

BLOCKED_S = 0.1
_BEAT_MS = 20


def runnable_wait_s() -> float:
    """How long the calling thread ever waited for a processor that others had; 0 where the system does not tell.

    The second number of Linux's schedstat, in nanoseconds (Documentation/scheduler/sched-stats.rst).
    """
    try:
        return int(Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


class Watchdog(QObject):
    """``blocked`` carries seconds, when the GUI thread answers again.

    What other programs took of the processor meanwhile is not counted: nothing here can be done about it.
    """

    blocked = Signal(float)

    def __init__(
        self,
        *,
        limit_s: float = BLOCKED_S,
        waited_s: Callable[[], float] = runnable_wait_s,
        parent: QObject | None = None,
    ) -> None:
        """``waited_s``: seconds since the thread began in which it could have run and did not."""
        super().__init__(parent)
        self._limit_s = limit_s
        self._waited_s = waited_s
        self._waited_before_s = waited_s()
        self._beat_at = time.monotonic()
        self._stack = ""
        self._gui_thread = threading.get_ident()
        self._ended = threading.Event()
        self._timer = QTimer(self)
        self._timer.setInterval(_BEAT_MS)
        self._timer.timeout.connect(self._beat)
        self._watcher = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self.longest_s = 0.0

    def start(self) -> None:
        """From the GUI thread."""
        self._beat_at = time.monotonic()
        self._waited_before_s = self._waited_s()
        self._timer.start()
        self._watcher.start()

    def stop(self) -> None:
        self._timer.stop()
        self._ended.set()
        if self._watcher.is_alive():
            self._watcher.join()

    def _beat(self) -> None:
        now = time.monotonic()
        waited_s = self._waited_s()
        late_s = now - self._beat_at - _BEAT_MS / 1000 - (waited_s - self._waited_before_s)
        self._beat_at, self._waited_before_s = now, waited_s
        self.longest_s = max(self.longest_s, late_s)
        if late_s > self._limit_s:
            stack, self._stack = self._stack, ""
            _log.warning("the window was blocked for %.0f ms\n%s", late_s * 1000, stack)
            self.blocked.emit(late_s)

    def _watch(self) -> None:
        """Takes the stack once per block, while it lasts."""
        while not self._ended.wait(self._limit_s / 4):
            is_late = time.monotonic() - self._beat_at > self._limit_s + _BEAT_MS / 1000
            if is_late and not self._stack:
                frame = sys._current_frames().get(self._gui_thread)  # pyright: ignore[reportPrivateUsage]
                self._stack = "".join(traceback.format_stack(frame, 12)) if frame else ""
