"""One Strata per data folder: a second start brings the first one's window to the front and ends.

Owns the lock file and the local socket. Must not know windows.
"""

from __future__ import annotations

import hashlib
import json
import logging
from contextlib import suppress
from functools import partial
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Signal
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
            connection.disconnected.connect(connection.deleteLater)
            connection.disconnected.connect(partial(self._take_request, connection))

    def _take_request(self, connection: QLocalSocket) -> None:
        """The other has written all it had to say, and gone."""
        file: object = ""
        with suppress(ValueError):  # whoever else writes there still means us
            file = json.loads(connection.readAll().data())
        self.activated.emit(file if isinstance(file, str) else "")
