"""Reads on Windows, where they say their offset themselves. On other systems kernel32 is played by this module."""

from __future__ import annotations

import ctypes
import os
import random
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine.weights import windows_file
from engine.weights.direct_io import ALIGNMENT, aligned_buffer
from engine.weights.windows_file import WindowsFile

NO_BUFFERING = 0x20000000


class PlayedKernel:
    """Files by number. Direct reads are refused where ``refuses`` says so, as a file system might."""

    def __init__(self) -> None:
        self.refuses_at_open = self.refuses_reads = False
        self.open_flags: dict[int, int] = {}
        self.events: set[int] = set()
        self.closed: list[int] = []
        self.error = threading.local()
        self._counts: dict[int, int] = {}
        self._next_event = 1000

    def CreateFileW(self, path: str, _access: int, _share: int, _none: None, _mode: int, flags: int, _no: None) -> int:
        if flags & NO_BUFFERING and self.refuses_at_open:
            self.error.number = 87
            return -1
        try:
            number = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            self.error.number = 2
            return -1
        self.open_flags[number] = flags
        return number

    def CreateEventW(self, *_: object) -> int:
        self._next_event += 1
        self.events.add(self._next_event)
        return self._next_event

    def ReadFile(self, handle: int, memory: Any, nbytes: int, _none: None, request: Any) -> bool:
        asked = request._obj
        assert asked.event in self.events
        offset = asked.offset | asked.offset_high << 32
        is_direct = bool(self.open_flags[handle] & NO_BUFFERING)
        aligned = (offset, nbytes, ctypes.addressof(memory))
        if is_direct and (self.refuses_reads or any(number % ALIGNMENT for number in aligned)):
            self.error.number = 87
            return False
        data = os.pread(handle, nbytes, offset)
        ctypes.memmove(memory, data, len(data))
        self._counts[asked.event] = len(data)
        self.error.number = 997 if data else 38
        return False

    def GetOverlappedResult(self, _handle: int, request: Any, count: Any, _wait: bool) -> bool:
        count._obj.value = self._counts.pop(request._obj.event)
        return True

    def CloseHandle(self, handle: int) -> bool:
        assert handle not in self.closed
        self.closed.append(handle)
        if handle in self.open_flags:
            os.close(handle)
        return True


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[PlayedKernel]:
    if sys.platform == "win32":
        pytest.skip("the real one is there, and tests/unit/engine/test_reader.py reads with it")
    played = PlayedKernel()

    def os_error(number: int, path: Path) -> OSError:
        made = FileNotFoundError(2, "not there", str(path)) if number == 2 else OSError(22, "refused", str(path))
        vars(made)["winerror"] = number
        return made

    monkeypatch.setattr(windows_file, "kernel", lambda: played)
    monkeypatch.setattr(windows_file, "last_error", lambda: played.error.number)
    monkeypatch.setattr(windows_file, "_os_error", os_error)
    monkeypatch.setattr(windows_file, "_INVALID_HANDLE", -1)
    yield played
    assert set(played.closed) == set(played.open_flags) | played.events


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "file"
    found.write_bytes(random.Random(0).randbytes(3 * ALIGNMENT + 100))
    return found


@pytest.mark.parametrize("refusal", ["", "at open", "at the first read"])
def test_ranges_arrive_whole_direct_or_not(kernel: PlayedKernel, path: Path, refusal: str) -> None:
    kernel.refuses_at_open = refusal == "at open"
    kernel.refuses_reads = refusal == "at the first read"
    data = path.read_bytes()
    file = WindowsFile(path)
    assert file.size == len(data)
    memory = aligned_buffer(2 * ALIGNMENT)
    assert file.read(ALIGNMENT, memory) == 2 * ALIGNMENT
    assert bytes(memory) == data[ALIGNMENT : 3 * ALIGNMENT]
    assert file.read(3 * ALIGNMENT, memory) == 100
    assert bytes(memory[:100]) == data[3 * ALIGNMENT :]
    assert file.read(4 * ALIGNMENT, memory) == 0
    assert file.is_direct is not bool(refusal)
    file.close()
    file.close()


def test_threads_read_side_by_side_each_with_an_event_of_its_own(kernel: PlayedKernel, path: Path) -> None:
    data = path.read_bytes()
    file = WindowsFile(path)
    met = threading.Barrier(3)

    def read(part: int) -> bytes:
        memory = aligned_buffer(ALIGNMENT)
        met.wait(10)
        assert file.read(part * ALIGNMENT, memory) == ALIGNMENT
        return bytes(memory)

    with ThreadPoolExecutor(3) as threads:
        assert b"".join(threads.map(read, range(3))) == data[: 3 * ALIGNMENT]
    assert len(kernel.events) == 3
    file.close()


def test_offsets_beyond_four_gigabytes_are_told_in_two_halves(kernel: PlayedKernel, tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as large:
        large.seek(5 << 30)
        large.write(b"there" + bytes(ALIGNMENT - 5))
    file = WindowsFile(path)
    memory = aligned_buffer(ALIGNMENT)
    assert file.read(5 << 30, memory) == ALIGNMENT
    assert bytes(memory[:5]) == b"there"
    file.close()


def test_a_file_that_is_not_there_is_said_so(kernel: PlayedKernel, path: Path) -> None:
    path.unlink()
    with pytest.raises(FileNotFoundError):
        WindowsFile(path)
