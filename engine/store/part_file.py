"""A file that arrives in pieces, hashed as it is written; an earlier run's bytes are hashed first. No network."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from engine.cancel import CancelToken
from engine.store.hub import HubFile

_PIECE_BYTES = 1 << 20


class Digest(Protocol):
    """One of hashlib's."""

    def update(self, data: bytes | memoryview, /) -> None: ...

    def hexdigest(self) -> str: ...


class PartFile:
    """Open for one thread. Raises ``OSError``; ``Cancelled`` while it hashes what is there."""

    def __init__(self, path: Path, file: HubFile, stop: CancelToken) -> None:
        self._path = path
        self._expected = file
        self._digest = _digest_for(file)
        self.size = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("r+b" if path.exists() else "w+b")
        try:
            if path.stat().st_size > file.size:
                self._file.truncate(0)
            while piece := self._file.read(_PIECE_BYTES):
                stop.raise_if_cancelled()
                self._digest.update(piece)
                self.size += len(piece)
        except BaseException:
            self._file.close()
            raise

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self._digest.update(data)
        self.size += len(data)

    def restart(self) -> None:
        """Forgets everything."""
        self._file.seek(0)
        self._file.truncate()
        self._digest = _digest_for(self._expected)
        self.size = 0

    def is_sound(self) -> bool:
        """Whether the whole file is here and is what the hub says it is; flushed to the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        wanted = self._expected.sha256 or self._expected.blob_id
        return self.size == self._expected.size and (wanted is None or self._digest.hexdigest() == wanted)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _digest_for(file: HubFile) -> Digest:
    """sha256 of a big file; git's own digest of a small one: sha1 of its length and its bytes."""
    if file.sha256 is not None:
        return hashlib.sha256()
    digest = hashlib.sha1(usedforsecurity=False)
    digest.update(b"blob %d\0" % file.size)
    return digest
