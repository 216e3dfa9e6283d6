"""What the engine's process has to tell, on its way through the pipe: in order, and never faster than is useful.

Progress of the same kind and request is sampled: the newest replaces the one that still waits. Everything else
is sent, tokens above all. One thread sends, so that no lane ever waits for the reader at the other end.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable

from engine.events import Finished, JobProgress, LayerProgress, LoadProgress
from engine.worker_messages import Failed, FromWorker, Occurred, Result

PROGRESS_INTERVAL_S = 1 / 30

_SAMPLED = (LayerProgress, JobProgress, LoadProgress)


class Outbox:
    """``post`` from any thread. ``send`` is called from the outbox's own thread, and may block or raise ``OSError``."""

    def __init__(self, send: Callable[[FromWorker], None], *, interval_s: float = PROGRESS_INTERVAL_S) -> None:
        self._send = send
        self._interval_s = interval_s
        self._condition = threading.Condition()
        self._messages: deque[FromWorker] = deque()
        self._waiting: dict[int, Occurred] = {}
        self._last_sent: dict[int, float] = {}
        self._is_closed = False
        self._thread = threading.Thread(target=self._work, name="strata-outbox", daemon=True)
        self._thread.start()

    def post(self, message: FromWorker) -> None:
        """Queues a message. Progress that still waits is dropped where something newer of its request comes."""
        with self._condition:
            if isinstance(message, Occurred) and isinstance(message.event, _SAMPLED):
                self._waiting[message.request_id] = message
            else:
                self._supersede_progress(message)
                self._messages.append(message)
            self._condition.notify()

    def close(self, timeout_s: float) -> None:
        """Sends what is queued, for ``timeout_s`` at most."""
        with self._condition:
            self._is_closed = True
            self._condition.notify()
        self._thread.join(timeout_s)

    def _supersede_progress(self, message: FromWorker) -> None:
        if not isinstance(message, Occurred | Result | Failed):
            return
        self._waiting.pop(message.request_id, None)
        if not isinstance(message, Occurred) or isinstance(message.event, Finished):
            self._last_sent.pop(message.request_id, None)

    def _work(self) -> None:
        while True:
            with self._condition:
                ready = self._take()
                while not ready:
                    if self._is_closed:
                        return
                    self._condition.wait(self._next_due_s())
                    ready = self._take()
            try:
                for message in ready:
                    self._send(message)
            except OSError:  # nobody reads any more; the process is about to notice and end
                return

    def _take(self) -> list[FromWorker]:
        """What may go now. Progress goes last: whatever its request said after it has replaced it already."""
        now = time.monotonic()
        due = [each for each in self._waiting if now - self._last_sent.get(each, -math.inf) >= self._interval_s]
        ready = [*self._messages, *(self._waiting.pop(each) for each in due)]
        self._messages.clear()
        for request_id in due:
            self._last_sent[request_id] = now
        return ready

    def _next_due_s(self) -> float | None:
        """Seconds until the next waiting progress may go; None where none waits."""
        if not self._waiting:
            return None
        now = time.monotonic()
        dues = [self._last_sent.get(each, -math.inf) + self._interval_s - now for each in self._waiting]
        return max(min(dues), 0.0)
