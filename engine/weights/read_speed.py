"""How fast a drive reads, as the streamer would read it. Writes at most one small file of its own, and removes it."""

from __future__ import annotations

import math
import os
import tempfile
import time
from pathlib import Path

from engine.weights.direct_io import ALIGNMENT, DirectWriter, ReadHandle, aligned_buffer
from engine.weights.reader import DEFAULT_THREADS, Reader

SAMPLE_BYTES = 256 << 20
_BLOCK_BYTES = 32 << 20


def measure_folder_speed(folder: Path, sample_bytes: int = SAMPLE_BYTES, *, most_s: float = math.inf) -> float:
    """Bytes per second of reading a fresh file past the page cache. Raises ``OSError`` where none can be written.

    The file is smaller than ``sample_bytes`` where writing that much takes longer than ``most_s``.
    """
    with tempfile.TemporaryDirectory(prefix=".strata-probe-", dir=folder) as scratch:
        path = Path(scratch) / "sample"
        sample = memoryview(os.urandom(1 << 20))
        started = time.monotonic()
        with DirectWriter(path) as writer:
            while writer.nbytes < sample_bytes and (not writer.nbytes or time.monotonic() - started < most_s):
                writer.write(sample)
            writer.finish()
        return measure_read_speed([path])


def measure_read_speed(
    paths: list[Path], *, most_bytes: int = SAMPLE_BYTES, most_s: float = math.inf, threads: int = DEFAULT_THREADS
) -> float:
    """Bytes per second the streamer's own reader reaches on these files, into three slots in turn.

    No more is read after ``most_bytes``, and none is begun after ``most_s``.
    """
    reader = Reader(threads)
    slots = [aligned_buffer(_BLOCK_BYTES) for _ in range(3)]
    handles = [ReadHandle(path) for path in paths]
    try:
        ranges = [
            (handle, offset, min(_BLOCK_BYTES, handle.size - offset))
            for handle in handles
            for offset in range(0, handle.size, _BLOCK_BYTES)
        ]
        done, started, pending = 0, time.perf_counter(), []
        for index, (handle, offset, nbytes) in enumerate(ranges):
            if len(pending) == len(slots):
                pending.pop(0).wait()
            pending.append(reader.submit(handle, offset, nbytes, slots[index % len(slots)]))
            done += nbytes
            if done >= most_bytes or time.perf_counter() - started >= most_s:
                break
        for ticket in pending:
            ticket.wait()
        return max(done, ALIGNMENT) / (time.perf_counter() - started)
    finally:
        reader.close()
        for handle in handles:
            handle.close()
