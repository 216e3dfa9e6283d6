"""One Strata per data folder: a second start brings the first one's window to the front and ends.

Owns the lock file and the local socket. Must not know windows.
"""

from __future__ import annotations

import hashlib
import json
import logging
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Qt, Signal, Slot
from PySide6.QtNetwork import QLocalServer, QLocalSocket

_log = logging.getLogger(__name__)

_ANSWER_MS = 2000


class SingleInstance(QObject):
    """``activated`` when another start asked for the window, with the file it was given or ""."""

    activated = Signal(str)

    def __init__(self, lock_file: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lock = QLockFile(str(lock_file))
        # Without a limit a lock is only stale when its process is gone.
        self._lock.setStaleLockTime(0)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._connections: list[QLocalSocket] = []
        self._server.newConnection.connect(self._take_connections)
        self._name = "strata-" + hashlib.sha256(str(lock_file.absolute()).encode()).hexdigest()[:16]

    def acquire(self) -> bool:
        """Whether this is the first one."""
        if not self._lock.tryLock(0):
            return False
        QLocalServer.removeServer(self._name)
        if not self._server.listen(self._name):
            _log.warning("a second start cannot reach this one: %s", self._server.errorString())
        return True

    def activate_other(self, file: str = "") -> bool:
        """Asks the first one to show itself, and a file. False where it does not answer."""
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        if not socket.waitForConnected(_ANSWER_MS):
            return False
        socket.write(json.dumps(file).encode())
        socket.waitForBytesWritten(_ANSWER_MS)
        socket.disconnectFromServer()
        return True

    def release(self) -> None:
        self._server.close()
        self._lock.unlock()

    def _take_connections(self) -> None:
        while self._server.hasPendingConnections():
            connection = self._server.nextPendingConnection()
            connection.disconnected.connect(self._take_requests, Qt.ConnectionType.QueuedConnection)
            self._connections.append(connection)
        self._take_requests()

    @Slot()
    def _take_requests(self) -> None:
        """Of those that have written all they had to say, and gone."""
        gone = [each for each in self._connections if each.state() is QLocalSocket.LocalSocketState.UnconnectedState]
        for connection in gone:
            self._connections.remove(connection)
            file: object = ""
            with suppress(ValueError):  # whoever else writes there still means us
                file = json.loads(bytes(connection.readAll().data()))
            connection.deleteLater()
            self.activated.emit(file if isinstance(file, str) else "")
