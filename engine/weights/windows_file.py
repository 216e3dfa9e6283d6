"""Reading a file on Windows past its cache, at any offset, from several threads at once.

Windows keeps one position for an open file and lets one reader at it; only overlapped reads say their offset
themselves and run side by side. Owns handles and error numbers; knows nothing of what is read.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from ctypes import wintypes
from pathlib import Path
from typing import Any

_GENERIC_READ = 0x80000000
_SHARED = 0x1 | 0x2 | 0x4  # with those who read, write and delete
_OPEN_EXISTING = 3
_NO_BUFFERING, _OVERLAPPED, _RANDOM, _SEQUENTIAL = 0x20000000, 0x40000000, 0x10000000, 0x08000000
_INVALID_HANDLE = ctypes.c_void_p(-1).value
_END_OF_FILE, _INVALID_PARAMETER, _IO_PENDING = 38, 87, 997


class _Request(ctypes.Structure):
    """``OVERLAPPED``: where a read begins, and the event that is set when it has ended."""

    _fields_ = (
        ("internal", ctypes.c_size_t),
        ("internal_high", ctypes.c_size_t),
        ("offset", wintypes.DWORD),
        ("offset_high", wintypes.DWORD),
        ("event", wintypes.HANDLE),
    )


class WindowsFile:
    """One file open for reading. ``is_direct``: offsets, lengths and memory have to be multiples of its sectors.

    Buffered where a file system refuses direct reads, when it is opened or later. Raises ``OSError``.
    """

    def __init__(self, path: Path, *, is_random: bool = False) -> None:
        self._path = path
        self._is_random = is_random
        self._lock = threading.Lock()
        self._events = threading.local()
        self._all_events: list[int] = []
        self.is_direct = True
        self.size = path.stat().st_size
        try:
            self._handle = self._open()
        except OSError as error:
            if getattr(error, "winerror", None) != _INVALID_PARAMETER:
                raise
            self.is_direct = False
            self._handle = self._open()

    def read(self, offset: int, destination: memoryview) -> int:
        """Fills ``destination`` from ``offset``; fewer bytes at the end of the file, none past it."""
        handle, is_direct = self._handle, self.is_direct
        error, count = self._read_from(handle, offset, destination)
        if error == _INVALID_PARAMETER and is_direct:
            # Some file systems allow direct reads when a file is opened, and refuse the first one.
            self._reopen_buffered(handle)
            error, count = self._read_from(self._handle, offset, destination)
        if error not in (0, _END_OF_FILE):
            raise _os_error(error, self._path)
        return count

    def close(self) -> None:
        if self._handle:
            for handle in (self._handle, *self._all_events):
                kernel().CloseHandle(handle)
            self._all_events.clear()
            self._handle = 0

    def _open(self) -> int:
        kind = _NO_BUFFERING if self.is_direct else _RANDOM if self._is_random else _SEQUENTIAL
        handle = kernel().CreateFileW(
            str(self._path), _GENERIC_READ, _SHARED, None, _OPEN_EXISTING, kind | _OVERLAPPED, None
        )
        if handle in (None, _INVALID_HANDLE):
            raise _os_error(last_error(), self._path)
        return int(handle)

    def _reopen_buffered(self, refused: int) -> None:
        with self._lock:
            if self._handle == refused:
                self.is_direct = False
                self._handle = self._open()
                self._all_events.append(refused)  # others may be reading from it: closed with the rest

    def _read_from(self, handle: int, offset: int, destination: memoryview) -> tuple[int, int]:
        """The error, 0 where there was none, and the bytes that were read."""
        request = _Request(0, 0, offset & 0xFFFFFFFF, offset >> 32, self._event())
        memory = (ctypes.c_char * len(destination)).from_buffer(destination)
        count = wintypes.DWORD()
        if not kernel().ReadFile(handle, memory, len(destination), None, ctypes.byref(request)):
            error = last_error()
            if error != _IO_PENDING:
                return error, 0
        if not kernel().GetOverlappedResult(handle, ctypes.byref(request), ctypes.byref(count), True):
            return last_error(), 0
        return 0, count.value

    def _event(self) -> int:
        """One for each thread, since a thread waits for one read at a time."""
        event: int | None = getattr(self._events, "handle", None)
        if event is None:
            event = kernel().CreateEventW(None, True, False, None)
            if not event:
                raise _os_error(last_error(), self._path)
            self._events.handle = event
            with self._lock:
                self._all_events.append(event)
        return event


def _os_error(error: int, path: Path) -> OSError:
    """``ctypes.WinError`` with the file's name: a ``FileNotFoundError`` where that is what happened."""
    if sys.platform == "win32":
        return OSError(0, ctypes.FormatError(error).strip(), str(path), error)
    raise AssertionError("not Windows")


def last_error() -> int:
    if sys.platform == "win32":
        return ctypes.get_last_error()
    raise AssertionError("not Windows")


@functools.cache
def kernel() -> Any:
    """kernel32 with the types of what is called: without them a handle is cut to 32 bits."""
    if sys.platform != "win32":
        raise AssertionError("not Windows")
    library = ctypes.WinDLL("kernel32", use_last_error=True)
    pointer = ctypes.c_void_p
    library.CreateFileW.restype = pointer
    library.CreateFileW.argtypes = [
        wintypes.LPCWSTR, wintypes.DWORD, wintypes.DWORD, pointer, wintypes.DWORD, wintypes.DWORD, pointer,
    ]  # fmt: skip
    library.ReadFile.restype = wintypes.BOOL
    library.ReadFile.argtypes = [pointer, pointer, wintypes.DWORD, pointer, pointer]
    library.GetOverlappedResult.restype = wintypes.BOOL
    library.GetOverlappedResult.argtypes = [pointer, pointer, pointer, wintypes.BOOL]
    library.CreateEventW.restype = pointer
    library.CreateEventW.argtypes = [pointer, wintypes.BOOL, wintypes.BOOL, wintypes.LPCWSTR]
    library.CloseHandle.restype = wintypes.BOOL
    library.CloseHandle.argtypes = [pointer]
    return library
