"""Asking a long call to stop. Owns one flag; knows nothing of what is being cancelled."""

from __future__ import annotations

import threading


class Cancelled(BaseException):
    """Unwinds the stack to the call that owns the token. Never leaves the engine: there it is an outcome."""


class CancelToken:
    """Set once from any thread, looked at between blocks by the thread that works."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        self._event.set()

    @property
    def is_cancelled(self) -> bool:
        return self._event.is_set()

    def raise_if_cancelled(self) -> None:
        """Raises ``Cancelled`` once ``cancel`` has been called."""
        if self._event.is_set():
            raise Cancelled

    def wait(self, seconds: float) -> bool:
        """Sleeps until ``cancel`` is called, ``seconds`` at most; whether it was."""
        return self._event.wait(seconds)
