"""sha256 of files as they are on the disk: read past the page cache, hashed while the next piece is read. No torch."""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Generator
from pathlib import Path

from engine.cancel import CancelToken
from engine.weights.direct_io import ReadHandle, aligned_buffer

_PIECE_BYTES = 8 << 20
_BUFFERS = 3


def digest_file(path: Path, cancel: CancelToken) -> Generator[int, None, str]:
    """Yields the number of bytes read, piece by piece; returns the digest. Raises ``OSError``, ``Cancelled``."""
    digest = hashlib.sha256()
    filled: queue.SimpleQueue[tuple[memoryview, int] | None] = queue.SimpleQueue()
    free: queue.SimpleQueue[memoryview] = queue.SimpleQueue()

    def hash_pieces() -> None:
        while (item := filled.get()) is not None:
            buffer, count = item
            digest.update(buffer[:count])
            free.put(buffer)

    thread = threading.Thread(target=hash_pieces, name="file-hasher", daemon=True)
    with ReadHandle(path) as handle:
        thread.start()
        try:
            for _ in range(_BUFFERS):
                free.put(aligned_buffer(_PIECE_BYTES))
            offset = 0
            while offset < handle.size:
                cancel.raise_if_cancelled()
                buffer = free.get()
                count = handle.read_into(offset, buffer)
                if count == 0:
                    break
                filled.put((buffer, count))
                offset += count
                yield count
        finally:
            filled.put(None)
            thread.join()
    return digest.hexdigest()


def digest_small_file(path: Path) -> str:
    """For files read as a whole: configs, tokenizers."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
