"""On Windows, what tells the installer that Strata runs: a named object of the system, which goes with the process.

The installer refuses to replace or remove a program that runs (packaging/windows/strata.nsi looks for the name).
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

NAME = "Strata-is-running"

_log = logging.getLogger(__name__)

CreateMutex = Callable[[None, bool, str], int | None]


def set_running_mark(create: CreateMutex | None = None) -> None:
    """Until this process ends, however it ends. Does nothing on other systems, whose installers look at processes."""
    if create is None:
        if sys.platform != "win32":
            return
        create = _create_mutex()
    # A second start finds the object there, and holds it too. It is never closed: the system does that at the end.
    if not create(None, False, NAME):
        _log.warning("the installer will not see that Strata runs")


def _create_mutex() -> CreateMutex:
    import ctypes
    from ctypes import wintypes

    function = ctypes.WinDLL("kernel32", use_last_error=True).CreateMutexW  # pyright: ignore
    function.argtypes = (wintypes.LPVOID, wintypes.BOOL, wintypes.LPCWSTR)
    function.restype = wintypes.HANDLE
    return function
