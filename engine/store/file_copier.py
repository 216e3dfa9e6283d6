"""One file of a split onto another drive: copied, flushed, read back past the page cache, compared with its digest.

What has its own name is whole; a part is gone on with where it ends. Knows no stores. No torch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from engine.cancel import CancelToken
from engine.errors import DamagedFile
from engine.events import JobProgress
from engine.store.file_digest import digest_file
from engine.store.job_meter import JobMeter
from engine.weights.direct_io import ALIGNMENT, DirectWriter, ReadHandle, aligned_buffer, sync_folder

_PART_SUFFIX = ".part"
_PIECE_BYTES = 8 << 20
_ATTEMPTS = 2
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MovedFile:
    """``name`` is relative to the split. ``block`` counts weight files from 1, and is 0 for the small ones."""

    name: str
    size: int
    sha256: str
    block: int
    title: str


def part_of(path: Path) -> Path:
    """Where a file is until it is whole."""
    return path.with_name(path.name + _PART_SUFFIX)


class FileCopier:
    """From the folder ``old`` of a model into ``new``. Use as a context manager: it reads ahead in a thread.

    The meter counts every byte when it is copied and again when it is read back; ``copied`` and ``compared`` are those
    of this run.
    """

    def __init__(self, model: str, old: Path, new: Path, meter: JobMeter, cancel: CancelToken) -> None:
        self._model = model
        self._old = old
        self._new = new
        self._meter = meter
        self._cancel = cancel
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="strata-copy")
        self.copied = 0
        self.compared = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.shutdown(wait=True)

    def bring(self, file: MovedFile) -> Iterator[JobProgress]:
        """Until the file is there under its own name. Raises ``DamagedFile``, ``Cancelled``, ``OSError`` of ``new``."""
        final = self._new / file.name
        part = part_of(final)
        final.parent.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, _ATTEMPTS + 1):
            moved = yield from self._copy(file, part)
            sha256, compared = yield from self._digest(file, part)
            if sha256 == file.sha256:
                break
            part.unlink()
            self._meter.advance(-moved - compared)
            yield from self._require_sound(file)
            if attempt == _ATTEMPTS:
                raise DamagedFile(
                    f"{file.name} could not be read back from {self._new.parent} as it was written.",
                    "Check that drive, or choose another one. Nothing was removed.",
                    files=(file.name,),
                    detail=f"wrote {file.sha256}, read {sha256}",
                )
        times = (self._old / file.name).stat()
        os.utime(part, ns=(times.st_atime_ns, times.st_mtime_ns))
        part.replace(final)
        sync_folder(final.parent)

    def _copy(self, file: MovedFile, part: Path) -> Generator[JobProgress, None, int]:
        """Goes on where the part ends; returns the bytes of it that count now."""
        self._meter.start("copying", file.block, file.title)
        there = part.stat().st_size if part.exists() else 0
        offset = min(there, file.size) // ALIGNMENT * ALIGNMENT
        if not offset:
            part.unlink(missing_ok=True)
        self._meter.advance(offset)
        source = self._old / file.name
        with self._readable(file, lambda: ReadHandle(source)) as handle, DirectWriter(part, start=offset) as writer:
            buffers = [aligned_buffer(_PIECE_BYTES) for _ in range(2)]
            number = 0
            coming = self._reader.submit(handle.read_into, offset, buffers[0])
            try:
                while offset < file.size and (count := self._readable(file, coming.result)):
                    piece = buffers[number % 2][:count]
                    number += 1
                    coming = self._reader.submit(handle.read_into, offset + count, buffers[number % 2])
                    self._cancel.raise_if_cancelled()
                    writer.write(piece)
                    offset += count
                    self.copied += count
                    self._meter.advance(count)
                    yield from self._meter.due()
            finally:
                coming.exception()  # the reader is done with the buffers and the file
            writer.finish()
        return offset

    def _digest(self, file: MovedFile, path: Path) -> Generator[JobProgress, None, tuple[str, int]]:
        """The sha256 of a file as it is on the drive, and the bytes read for it."""
        self._meter.start("comparing", file.block, file.title)
        reading = digest_file(path, self._cancel)
        count = 0
        while True:
            try:
                piece = next(reading)
            except StopIteration as stop:
                self.compared += count
                return stop.value, count
            count += piece
            self._meter.advance(piece)
            yield from self._meter.due()

    def _require_sound(self, file: MovedFile) -> Iterator[JobProgress]:
        """Raises ``DamagedFile`` where the old file itself is not what the manifest records."""
        try:
            sha256, count = yield from self._digest(file, self._old / file.name)
        except OSError as error:
            raise self._unreadable(file, error) from error
        self._meter.advance(-count)
        if sha256 != file.sha256:
            raise DamagedFile(
                f"{file.name} of {self._model} is damaged where it is, so it cannot be moved.",
                f"Repair it first: verify {self._model} --repair",
                files=(file.name,),
            )

    def _readable(self, file: MovedFile, read: Callable[[], T]) -> T:
        try:
            return read()
        except OSError as error:
            raise self._unreadable(file, error) from error

    def _unreadable(self, file: MovedFile, error: OSError) -> DamagedFile:
        reason = os.strerror(error.errno) if error.errno else str(error)
        return DamagedFile(
            f"{file.name} in {self._old} cannot be read: {reason}.",
            "Check that its drive is connected, then go on. Nothing was removed.",
            files=(file.name,),
            detail=repr(error),
        )
