"""Brings a source's weight files while it is being cut: one thread fetches, in the order of the cutting, a bit ahead.

The files wanted next are named with ``want``; ``wait_for`` lets the fetching go on to them and yields what happens
until they are here. Nothing is fetched further ahead than allowed, so that the drive never holds more than planned.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping

from engine.cancel import Cancelled, CancelToken
from engine.errors import EngineError
from engine.events import Event
from engine.store.file_fetcher import FileFetcher
from engine.store.hub import HubFile
from engine.store.transfer import Transfer

POLL_S = 0.1
_PATIENCE_S = 0.5
_ROOM_POLL_S = 0.5


class FileSupply:
    """A context manager: leaving it stops the fetching at once, and keeps what has arrived.

    ``heads`` are the first bytes of files that were read already. ``stop`` is the fetcher's own token.
    """

    def __init__(
        self,
        fetcher: FileFetcher,
        files: Mapping[str, HubFile],
        transfer: Transfer,
        *,
        heads: Mapping[str, bytes],
        ahead: int,
        stop: CancelToken,
        cancel: CancelToken,
    ) -> None:
        self._fetcher = fetcher
        self._files = files
        self._transfer = transfer
        self._heads = heads
        self._ahead = ahead
        self._stop = stop
        self._cancel = cancel
        self._changed = threading.Condition()
        self._order: list[str] = []
        self._next = 0
        self._limit = 0
        self._arrived: set[str] = set()
        self._failure: EngineError | Exception | None = None
        self._thread = threading.Thread(target=self._work, name="strata-download", daemon=True)

    def __enter__(self) -> FileSupply:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.cancel()
        with self._changed:
            self._changed.notify_all()
        self._fetcher.interrupt()
        # A thread that looks up an address cannot be woken; it writes nothing any more once it comes back.
        self._thread.join(_PATIENCE_S)

    def want(self, names: Iterable[str]) -> None:
        """Files in the order in which they will be waited for."""
        with self._changed:
            self._order += [name for name in dict.fromkeys(names) if name in self._files and name not in self._order]

    def wait_for(self, names: Iterable[str], *, room_bytes: int = 0) -> Iterator[Event]:
        """Ends when these files are here and so much room beside them. Raises what the fetching did, ``Cancelled``."""
        wanted = [name for name in names if name in self._files]
        self.want(wanted)
        with self._changed:
            places = [self._order.index(name) + 1 + self._ahead for name in wanted]
            self._limit = max([self._limit, *places])
            self._changed.notify_all()
        while True:
            yield from self._transfer.due()
            with self._changed:
                if all(name in self._arrived for name in wanted):
                    break
                if self._failure is not None:
                    raise self._failure
                self._changed.wait(POLL_S)
            self._cancel.raise_if_cancelled()
        while not self._fetcher.has_room(room_bytes):
            yield from self._transfer.due()
            self._cancel.wait(_ROOM_POLL_S)
            self._cancel.raise_if_cancelled()

    def due(self) -> list[Event]:
        """What the fetching has to tell meanwhile; nothing once it stands idle."""
        with self._changed:
            is_idle = self._next >= min(self._limit, len(self._order)) and len(self._arrived) >= self._next
        return [] if is_idle else self._transfer.due()

    def _work(self) -> None:
        try:
            while (name := self._take()) is not None:
                self._fetcher.fetch(self._files[name], self._heads.get(name, b""))
                with self._changed:
                    self._arrived.add(name)
                    self._changed.notify_all()
        except Cancelled:
            return
        except Exception as error:  # raised again in the thread that waits
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _take(self) -> str | None:
        """The next file to fetch, once it may be; None when stopped."""
        with self._changed:
            while self._next >= min(self._limit, len(self._order)):
                if self._stop.is_cancelled:
                    return None
                self._changed.wait()
            if self._stop.is_cancelled:
                return None
            name = self._order[self._next]
            self._next += 1
        number = list(self._files).index(name) + 1
        self._transfer.begin(number, name)
        return name
