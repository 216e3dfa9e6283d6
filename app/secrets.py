"""The hub token: in the system's keyring, or for this session only where there is none, and it says which.

Owns the only copy in memory. Must not be written to settings, logs or reports (``app.redaction`` takes it out). The
keyring may ask the user or be slow, so it is only used from a thread of its own; ``changed`` comes in the GUI thread.
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import Protocol

from PySide6.QtCore import QObject, Signal

_log = logging.getLogger(__name__)

SERVICE = "Strata"
TOKEN = "hub-token"
PROBE = "keyring-probe"
ENVIRONMENT = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


class TokenPlace(StrEnum):
    """Where the token is. UNKNOWN until the keyring has answered once."""

    UNKNOWN = "unknown"
    KEYRING = "keyring"
    SESSION = "session"
    ENVIRONMENT = "environment"


class Keyring(Protocol):
    """What is used of the keyring library."""

    def get_password(self, service: str, name: str) -> str | None: ...

    def set_password(self, service: str, name: str, value: str) -> None: ...

    def delete_password(self, service: str, name: str) -> None: ...


class KeyringUnavailable(Exception):
    """No keyring, a locked one, or one that lost what it was given."""


class Secrets(QObject):
    """``token()`` answers at once with what is known; ``open()`` asks the keyring in the background."""

    changed = Signal()
    _answered = Signal(object, object)

    def __init__(self, open_keyring: Callable[[], Keyring] | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._open_keyring = open_keyring or system_keyring
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="keyring")
        self._keyring: Keyring | None = None
        self._token = ""
        self._place = TokenPlace.UNKNOWN
        self._answered.connect(self._take_answer)
        given = next((value for name in ENVIRONMENT if (value := os.environ.get(name, "").strip())), "")
        if given:
            self._token, self._place = given, TokenPlace.ENVIRONMENT

    def token(self) -> str | None:
        """None where there is none, or where the keyring has not answered yet."""
        return self._token or None

    def place(self) -> TokenPlace:
        return self._place

    def known_values(self) -> tuple[str, ...]:
        """What must never be seen in a log or a report."""
        return (self._token,) if self._token else ()

    def open(self) -> None:
        """Once, after the window is there. A token from the environment is used as it is."""
        if self._place is TokenPlace.UNKNOWN:
            self._thread.submit(self._read)

    def set_token(self, token: str) -> None:
        """Holds from now on; kept in the keyring where there is one. Empty removes it."""
        self._token = token.strip()
        if self._place is TokenPlace.ENVIRONMENT:
            self._place = TokenPlace.SESSION
        self.changed.emit()
        self._thread.submit(self._write, self._token)

    def close(self) -> None:
        self._thread.shutdown(wait=True, cancel_futures=False)

    def _read(self) -> None:
        try:
            keyring = self._ready_keyring()
            self._answered.emit(TokenPlace.KEYRING, keyring.get_password(SERVICE, TOKEN) or "")
        except KeyringUnavailable as error:
            _log.info("no keyring: %s", error)
            self._answered.emit(TokenPlace.SESSION, None)

    def _write(self, token: str) -> None:
        try:
            keyring = self._ready_keyring()
            if token:
                keyring.set_password(SERVICE, TOKEN, token)
            elif keyring.get_password(SERVICE, TOKEN) is not None:
                keyring.delete_password(SERVICE, TOKEN)
            self._answered.emit(TokenPlace.KEYRING, None)
        except KeyringUnavailable as error:
            _log.info("no keyring: %s", error)
            self._answered.emit(TokenPlace.SESSION, None)

    def _ready_keyring(self) -> Keyring:
        """Proved once. Raises ``KeyringUnavailable``."""
        if self._keyring is None:
            self._keyring = proved_keyring(self._open_keyring)
        return self._keyring

    def _take_answer(self, place: TokenPlace, token: str | None) -> None:
        self._place = place
        if token is not None and not self._token:
            self._token = token
        self.changed.emit()


def proved_keyring(open_keyring: Callable[[], Keyring]) -> Keyring:
    """A keyring that gave back what it was given. Raises ``KeyringUnavailable``."""
    keyring = open_keyring()
    value = uuid.uuid4().hex
    keyring.set_password(SERVICE, PROBE, value)
    if keyring.get_password(SERVICE, PROBE) != value:
        raise KeyringUnavailable("what was stored did not come back")
    keyring.delete_password(SERVICE, PROBE)
    return keyring


def system_keyring() -> Keyring:
    """The system's keyring, its own failures turned into one. Importing it takes a moment."""
    import keyring

    class SystemKeyring:
        def get_password(self, service: str, name: str) -> str | None:
            return _asked(lambda: keyring.get_password(service, name))

        def set_password(self, service: str, name: str, value: str) -> None:
            _asked(lambda: keyring.set_password(service, name, value))

        def delete_password(self, service: str, name: str) -> None:
            _asked(lambda: keyring.delete_password(service, name))

    def _asked(call: Callable[[], str | None]) -> str | None:
        # Backends raise more than keyring's own errors: D-Bus and Windows ones pass through (keyring 25.7).
        try:
            return call()
        except Exception as error:
            raise KeyringUnavailable(f"{type(error).__name__}: {error}") from error

    return SystemKeyring()
