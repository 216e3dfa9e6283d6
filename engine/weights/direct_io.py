"""Files past the page cache: aligned memory, direct reads and direct writes, buffered where refused.

Offsets, lengths and addresses of a direct transfer are multiples of ``ALIGNMENT``; the last read of a file
may come back short. Reads and writes release the GIL. Knows nothing of tensors or blocks.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from engine.weights.windows_file import WindowsFile

ALIGNMENT = 4096
_HUGE_PAGE = 2 << 20
_REFUSALS = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


def round_up(nbytes: int, multiple: int = ALIGNMENT) -> int:
    return -(-nbytes // multiple) * multiple


def aligned_buffer(nbytes: int) -> memoryview:
    """Zeroed page-aligned memory of ``nbytes`` rounded up to ``ALIGNMENT``, in huge pages where there are any."""
    memory = mmap.mmap(-1, max(round_up(nbytes), ALIGNMENT))
    if nbytes >= _HUGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel built without transparent huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(memory)


class ReadHandle:
    """One file open for reading at any offset, from any number of threads.

    ``is_random``: of small pieces far apart, so that a system that reads ahead had better not.
    """

    def __init__(self, path: Path, *, is_random: bool = False) -> None:
        self.path = path
        self._file = open_for_reading(path, is_random=is_random)
        self.size = self._file.size

    @property
    def is_direct(self) -> bool:
        return self._file.is_direct

    def read_into(self, offset: int, destination: memoryview) -> int:
        """Fills ``destination`` from ``offset``; fewer bytes only at the end of the file. Raises ``OSError``."""
        done = 0
        while done < len(destination):
            count = self._file.read(offset + done, destination[done:])
            if count == 0:
                break
            done += count
            if done % ALIGNMENT and self.is_direct:
                break  # a direct read ends off a block boundary only at the end of the file
        return done

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _OpenFile(Protocol):
    """``is_direct``: offsets, lengths and memory have to be aligned. Bytes."""

    @property
    def is_direct(self) -> bool: ...

    @property
    def size(self) -> int: ...

    def read(self, offset: int, destination: memoryview) -> int:
        """Fills ``destination``, or less of it; 0 at the end of the file. Raises ``OSError``."""
        ...

    def close(self) -> None: ...


class _PosixFile:
    def __init__(self, path: Path, *, is_random: bool) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._fd, self.is_direct = _open_unbuffered(path, is_random)
        self.size = os.fstat(self._fd).st_size

    def read(self, offset: int, destination: memoryview) -> int:
        try:
            return os.preadv(self._fd, [destination], offset)
        except OSError as error:
            if not self.is_direct or error.errno not in _REFUSALS:
                raise
            # Some file systems accept O_DIRECT at open and refuse it at the first read.
            self._reopen_buffered()
            return os.preadv(self._fd, [destination], offset)

    def _reopen_buffered(self) -> None:
        with self._lock:
            if self.is_direct:
                replacement = os.open(self._path, os.O_RDONLY)
                os.dup2(replacement, self._fd)
                os.close(replacement)
                self.is_direct = False

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def open_for_reading(path: Path, *, is_random: bool) -> _OpenFile:
    return WindowsFile(path, is_random=is_random) if sys.platform == "win32" else _PosixFile(path, is_random=is_random)


def _open_unbuffered(path: Path, is_random: bool) -> tuple[int, bool]:
    """A descriptor that bypasses the page cache where the system allows it, and whether it does so directly."""
    if sys.platform == "darwin":
        import fcntl

        descriptor = os.open(path, os.O_RDONLY)
        fcntl.fcntl(descriptor, fcntl.F_NOCACHE, 1)
        return descriptor, False
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECT), True
    except OSError as error:
        if error.errno not in _REFUSALS:
            raise
        descriptor = os.open(path, os.O_RDONLY)
        if is_random:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        return descriptor, False


class DirectWriter:
    """Writes one new file front to back past the page cache, so that cutting a model never evicts the user's.

    ``write`` takes any bytes; they leave in aligned chunks. ``finish`` writes the tail, cuts the file to its
    true length and flushes it to the disk. The path must not exist, unless writing goes on at ``start``, a multiple of
    ``ALIGNMENT`` within the file that is there.
    """

    def __init__(self, path: Path, *, chunk_bytes: int = 8 << 20, start: int = 0) -> None:
        self._buffer = aligned_buffer(round_up(chunk_bytes))
        self._filled = 0
        self._written = start
        is_new = not start
        flags = os.O_WRONLY | (os.O_CREAT | os.O_EXCL if is_new else 0) | getattr(os, "O_BINARY", 0)
        self._fd = -1
        if sys.platform == "linux":
            try:
                self._fd = os.open(path, flags | os.O_DIRECT, 0o644)
            except OSError as error:
                if error.errno not in _REFUSALS:
                    raise
                if is_new:
                    path.unlink(missing_ok=True)
        if self._fd < 0:
            self._fd = os.open(path, flags, 0o644)
        os.lseek(self._fd, start, os.SEEK_SET)

    @property
    def nbytes(self) -> int:
        """Bytes taken so far."""
        return self._written + self._filled

    def write(self, data: memoryview) -> None:
        """Raises ``OSError`` (``ENOSPC`` on a full disk)."""
        start = 0
        while start < len(data):
            count = min(len(data) - start, len(self._buffer) - self._filled)
            self._buffer[self._filled : self._filled + count] = data[start : start + count]
            self._filled += count
            start += count
            if self._filled == len(self._buffer):
                self._flush(self._filled)

    def finish(self) -> int:
        """The file's length in bytes, once all of it is on the disk."""
        length = self.nbytes
        if self._filled:
            self._buffer[self._filled : round_up(self._filled)] = bytes(round_up(self._filled) - self._filled)
            self._flush(round_up(self._filled))
        os.ftruncate(self._fd, length)
        os.fsync(self._fd)
        return length

    def sync(self) -> None:
        """Flushes what was taken so far, which must be whole pages, to the disk. Raises ``OSError``."""
        assert self._filled % ALIGNMENT == 0
        self._flush(self._filled)
        os.fsync(self._fd)

    def _flush(self, nbytes: int) -> None:
        done = 0
        while done < nbytes:
            try:
                done += os.write(self._fd, self._buffer[done:nbytes])
            except OSError as error:
                if error.errno not in _REFUSALS or not self._become_buffered():
                    raise
        self._written += self._filled
        self._filled = 0

    def _become_buffered(self) -> bool:
        """Turns direct writing off where a file system refuses it late, or a short write broke the alignment."""
        if sys.platform != "linux":
            return False
        import fcntl

        flags = fcntl.fcntl(self._fd, fcntl.F_GETFL)
        if not flags & os.O_DIRECT:
            return False
        fcntl.fcntl(self._fd, fcntl.F_SETFL, flags & ~os.O_DIRECT)
        return True

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def sync_folder(folder: Path) -> None:
    """Makes renames inside ``folder`` survive a power cut, where the system has such a thing."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
