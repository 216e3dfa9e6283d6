"""The one queue that owns the accelerator: a single compute thread, and events streaming out of it.

One thread for the process' life: OpenMP keeps a pool of workers per calling thread, and a new one each
answer would cost what it saves.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from engine.cancel import CancelToken
from engine.events import Event, Finished

Emit = Callable[[Event], None]
Job = Callable[[Emit], Finished]


@dataclass(frozen=True, slots=True)
class _Failed:
    error: BaseException


class Lane:
    """Jobs run one after another in the order they were asked for."""

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._is_closed = False
        self._thread = threading.Thread(target=self._work, name=f"strata-{name}", daemon=True)
        self._thread.start()

    def events(self, job: Job, cancel: CancelToken) -> Iterator[Event]:
        """Runs ``job`` on the lane and yields what it emits, then its ``Finished``; raises what it raises.

        Leaving the iterator early cancels the job and waits for it.
        """
        channel: queue.SimpleQueue[Event | _Failed] = queue.SimpleQueue()
        ended = threading.Event()
        is_over = False

        def run() -> None:
            try:
                channel.put(job(channel.put))
            except BaseException as error:  # raised again in the thread that reads the events
                channel.put(_Failed(error))
            finally:
                ended.set()

        if self._is_closed:
            raise RuntimeError("this lane is closed")
        self._jobs.put(run)
        try:
            while not is_over:
                item = channel.get()
                is_over = isinstance(item, _Failed | Finished)
                if isinstance(item, _Failed):
                    raise item.error
                yield item
        finally:
            # Not merely "has it ended": the thread may still be between its last event and its end.
            if not is_over:
                cancel.cancel()
            ended.wait()

    def close(self) -> None:
        """Ends the thread after the jobs already queued."""
        self._is_closed = True
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
