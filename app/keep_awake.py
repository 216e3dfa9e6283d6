"""Keeps the computer from sleeping while there is work, the way each system wants it; the screen may turn off.

Owns the request and gives it back. Must not know what the work is. Where the system offers nothing, nothing happens.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from typing import Protocol

from PySide6.QtCore import QObject
from PySide6.QtDBus import QDBusConnection, QDBusMessage, QDBusPendingCallWatcher, QDBusUnixFileDescriptor

_log = logging.getLogger(__name__)

_LOGIND_TIMEOUT_MS = 5000


class SleepBlock(Protocol):
    """One request that the computer stay awake. ``hold`` may be refused; ``release`` always follows."""

    def hold(self, reason: str) -> bool: ...

    def release(self) -> None: ...


class LogindBlock:
    """Linux: systemd's inhibitor lock, held as long as its file descriptor is open. GNOME and KDE honour it."""

    def __init__(self) -> None:
        self._descriptor = -1
        self._is_wanted = False
        self._watcher: QDBusPendingCallWatcher | None = None

    def hold(self, reason: str) -> bool:
        """Whether it was asked for; the answer comes later, so that a slow bus never holds the window."""
        bus = QDBusConnection.systemBus()
        if not bus.isConnected():
            return False
        call = QDBusMessage.createMethodCall(
            "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager", "Inhibit"
        )
        call.setArguments(["sleep:idle", "Strata", reason, "block"])
        self._is_wanted = True
        self._watcher = QDBusPendingCallWatcher(bus.asyncCall(call, _LOGIND_TIMEOUT_MS))
        self._watcher.finished.connect(self._take_answer)
        return True

    def release(self) -> None:
        self._is_wanted = False
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _take_answer(self, watcher: QDBusPendingCallWatcher) -> None:
        answer = watcher.reply()
        given = answer.arguments()
        if answer.errorName() or not given or not isinstance(given[0], QDBusUnixFileDescriptor):
            _log.info("the system will not stay awake: %s", answer.errorMessage())
        elif self._is_wanted and self._descriptor < 0:
            self._descriptor = os.dup(given[0].fileDescriptor())


class WindowsBlock:
    """Windows: a state of this thread, so both calls must come from the same one."""

    _CONTINUOUS = 0x80000000
    _SYSTEM_REQUIRED = 0x00000001

    def hold(self, reason: str) -> bool:
        return self._set(self._CONTINUOUS | self._SYSTEM_REQUIRED)

    def release(self) -> None:
        self._set(self._CONTINUOUS)

    def _set(self, state: int) -> bool:
        import ctypes

        library = getattr(ctypes, "windll")  # noqa: B009  only there on Windows, so unknown elsewhere
        return bool(library.kernel32.SetThreadExecutionState(state))


class CaffeinateBlock:
    """macOS: the system's own program, which also ends when we do."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def hold(self, reason: str) -> bool:
        self._process = subprocess.Popen(["/usr/bin/caffeinate", "-i", "-w", str(os.getpid())])
        return True

    def release(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None


def system_block() -> SleepBlock:
    if sys.platform == "win32":
        return WindowsBlock()
    if sys.platform == "darwin":
        return CaffeinateBlock()
    return LogindBlock()


class KeepAwake(QObject):
    """Holds one block while there is work and the user allows it."""

    def __init__(self, block: SleepBlock, *, is_allowed: bool, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._block = block
        self._is_allowed = is_allowed
        self._is_working = False
        self._is_held = False

    def set_allowed(self, is_allowed: bool) -> None:
        self._is_allowed = is_allowed
        self._update()

    def set_working(self, is_working: bool) -> None:
        self._is_working = is_working
        self._update()

    def is_held(self) -> bool:
        return self._is_held

    def _update(self) -> None:
        wanted = self._is_allowed and self._is_working
        if wanted and not self._is_held:
            self._is_held = self._block.hold(self.tr("A model is working"))
        elif not wanted and self._is_held:
            self._block.release()
            self._is_held = False
