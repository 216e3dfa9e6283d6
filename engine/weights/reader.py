"""Reader threads: byte ranges of files into given memory, in the order they were asked for.

A few threads take chunks from one queue, so a single block is read by all of them at once and the next
block starts while the last chunks of this one arrive. Knows nothing of tensors, slots or plans.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from engine.weights.direct_io import ALIGNMENT, ReadHandle, round_up

CHUNK_BYTES = 8 << 20
DEFAULT_THREADS = 3


class ShortRead(OSError):
    """A file ended before the range that was asked for."""


@dataclass(slots=True, eq=False)
class ReadTicket:
    """One read under way. ``bytes_done`` grows while it runs; ``wait`` ends when all of it is in memory.

    It is read in ``_chunk_count`` chunks, all but the last of ``_chunk_nbytes``; ``_arrived`` are the numbers of those
    no reader is at any more.
    """

    nbytes: int
    bytes_done: int = 0
    error: BaseException | None = None
    is_abandoned: bool = False
    _chunk_count: int = 1
    _chunk_nbytes: int = 0
    _arrived: set[int] = field(default_factory=set[int])
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _on_done: Callable[[], None] | None = None

    @property
    def is_done(self) -> bool:
        return len(self._arrived) == self._chunk_count

    def wait(self, timeout_s: float | None = None, *, first_nbytes: int | None = None) -> bool:
        """True once everything arrived, or the ``first_nbytes`` of it; False after ``timeout_s``.

        Raises the ``OSError`` a reader met.
        """
        wanted = self._chunk_count
        if first_nbytes is not None and self._chunk_nbytes:
            wanted = min(-(-first_nbytes // self._chunk_nbytes), wanted)
        with self._changed:
            if not self._changed.wait_for(lambda: all(map(self._arrived.__contains__, range(wanted))), timeout_s):
                return False
        if self.error is not None:
            raise self.error
        return True

    def settle(self) -> None:
        """Waits until no reader touches the memory any more, whatever came of it."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_done)

    def chunk_done(self, number: int, nbytes: int, error: BaseException | None) -> None:
        """Called by a reader for each chunk, whatever came of it."""
        with self._changed:
            self.bytes_done += nbytes
            self.error = self.error or error
            self._arrived.add(number)
            is_last = self.is_done
            self._changed.notify_all()
        if is_last and self._on_done is not None:
            self._on_done()


@dataclass(frozen=True, slots=True)
class Piece:
    """``nbytes`` at ``offset`` of a file, and where they go: room for the aligned length."""

    offset: int
    nbytes: int
    destination: memoryview


@dataclass(frozen=True, slots=True)
class _Chunk:
    """What one reader does at a stretch."""

    ticket: ReadTicket
    number: int
    handle: ReadHandle
    pieces: Sequence[Piece]
    before: Callable[[], None] | None = None


class Reader:
    """``threads`` readers behind one queue. ``close`` ends them; tickets under way are finished first."""

    def __init__(self, threads: int = DEFAULT_THREADS, *, chunk_bytes: int = CHUNK_BYTES) -> None:
        self._chunk_bytes = round_up(chunk_bytes)
        self._queue: queue.SimpleQueue[_Chunk | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"strata-reader-{index}", daemon=True) for index in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(
        self,
        handle: ReadHandle,
        offset: int,
        nbytes: int,
        destination: memoryview,
        *,
        before: Callable[[], None] | None = None,
        on_done: Callable[[], None] | None = None,
    ) -> ReadTicket:
        """Starts reading ``nbytes`` at ``offset`` into ``destination`` (room for the aligned length).

        ``before`` runs in a reader before it writes (to wait for a copy out of the same memory);
        ``on_done`` runs in a reader after the last byte. ``offset`` and the memory are aligned.
        """
        starts = range(0, nbytes, self._chunk_bytes)
        ticket = ReadTicket(nbytes, _chunk_count=max(len(starts), 1), _chunk_nbytes=self._chunk_bytes, _on_done=on_done)
        if nbytes == 0:
            ticket.chunk_done(0, 0, None)
        for number, start in enumerate(starts):
            expected = min(self._chunk_bytes, nbytes - start)
            view = destination[start : start + round_up(expected, ALIGNMENT)]
            self._queue.put(_Chunk(ticket, number, handle, (Piece(offset + start, expected, view),), before))
        return ticket

    def submit_scattered(self, handle: ReadHandle, pieces: Sequence[Piece]) -> ReadTicket:
        """Starts reading many small pieces, shared out among the readers. Offsets and memory are aligned.

        One ticket for all: a queue entry and a wait for each would take longer than the reading.
        """
        shares = [share for first in range(len(self._threads)) if (share := pieces[first :: len(self._threads)])]
        ticket = ReadTicket(sum(piece.nbytes for piece in pieces), _chunk_count=max(len(shares), 1))
        if not shares:
            ticket.chunk_done(0, 0, None)
        for number, share in enumerate(shares):
            self._queue.put(_Chunk(ticket, number, handle, share))
        return ticket

    def close(self) -> None:
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _work(self) -> None:
        while (chunk := self._queue.get()) is not None:
            done, error = 0, None
            try:
                if chunk.before is not None and not chunk.ticket.is_abandoned:
                    chunk.before()
                for piece in chunk.pieces:
                    if chunk.ticket.is_abandoned:
                        break
                    count = min(chunk.handle.read_into(piece.offset, piece.destination), piece.nbytes)
                    done += count
                    if count < piece.nbytes:
                        raise ShortRead(
                            f"{chunk.handle.path} ended {piece.nbytes - count} bytes early at {piece.offset}"
                        )
            except Exception as caught:  # carried to the thread that waits for the ticket
                error = caught
            chunk.ticket.chunk_done(chunk.number, done, error)
