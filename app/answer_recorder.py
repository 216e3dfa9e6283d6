"""Answers on their way to the disk: gathered for half a second, written by one thread, in order.

Owns the batching and the writing thread, so that a busy drive never holds up the window. Must not know where the
tokens come from.
"""

from __future__ import annotations

import logging
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from PySide6.QtCore import QObject, QTimer, Signal

from engine.api import Message, SamplingOptions
from engine.errors import EngineError
from engine.events import GenerationResult

log = logging.getLogger(__name__)

WRITE_INTERVAL_MS = 500
RETRY_INTERVAL_MS = 3000
_PASSING = (sqlite3.OperationalError, OSError)
"""A full, locked or missing drive. Anything else would fail again, and must not hold up what comes after it."""


class UnfinishedAnswer(Protocol):
    """All it takes to go on with an answer."""

    @property
    def conversation_id(self) -> int: ...
    @property
    def message_id(self) -> int: ...
    @property
    def model(self) -> str: ...
    @property
    def messages(self) -> Sequence[Message]: ...
    @property
    def sampling(self) -> SamplingOptions: ...
    @property
    def thinking(self) -> bool | None: ...
    @property
    def token_ids(self) -> Sequence[int]: ...
    @property
    def text(self) -> str: ...


class AnswerStore(Protocol):
    """What is needed of the conversation store. Called from another thread than the window's."""

    def begin_answer(self, message_id: int) -> None: ...
    def append_tokens(self, message_id: int, token_ids: Sequence[int], text: str) -> None: ...
    def finish_answer(self, message_id: int, result: GenerationResult) -> None: ...
    def fail_answer(self, message_id: int, sentence: str) -> None: ...
    def stop_answer(self, message_id: int) -> None: ...
    def unfinished_answers(self) -> Sequence[UnfinishedAnswer]: ...


@dataclass(slots=True)
class _Batch:
    token_ids: list[int] = field(default_factory=list[int])
    text: str = ""


class AnswerRecorder(QObject):
    """Lives in the GUI thread. ``ended`` comes when the end of an answer is in the store, or waits to be written.

    ``failed`` (an exception) tells once that something could not be written. What fails for a drive that is full, gone
    or locked is kept, in order, and tried again until it works; then ``recovered`` comes.
    """

    ended = Signal(int)
    failed = Signal(object)
    recovered = Signal()

    def __init__(self, store: AnswerStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="strata-answers")
        self._gathered: dict[int, _Batch] = {}
        self._is_closed = False
        # Only the writing thread touches these two.
        self._unwritten: deque[Callable[[], None]] = deque()
        self._has_failed = False
        self._timer = QTimer(self, interval=WRITE_INTERVAL_MS, singleShot=True)
        self._timer.timeout.connect(self.flush)
        self._retry = QTimer(self, interval=RETRY_INTERVAL_MS)
        self._retry.timeout.connect(lambda: self._thread.submit(self._write_all))
        self.failed.connect(self._take_failure)
        self.recovered.connect(self._retry.stop)

    def begin(self, message_id: int) -> None:
        self._submit(lambda: self._store.begin_answer(message_id))

    def add(self, message_id: int, token_ids: Sequence[int], text: str) -> None:
        """On the disk within a second."""
        batch = self._gathered.setdefault(message_id, _Batch())
        batch.token_ids += token_ids
        batch.text += text
        if not self._timer.isActive():
            self._timer.start()

    def flush(self) -> None:
        """Hands what was gathered to the writing thread."""
        self._timer.stop()
        gathered, self._gathered = self._gathered, {}
        for message_id, batch in gathered.items():
            self._submit(
                lambda message_id=message_id, batch=batch: self._store.append_tokens(
                    message_id, batch.token_ids, batch.text
                )
            )

    def finish(self, message_id: int, result: GenerationResult) -> None:
        """The result has all of the answer's text: what was gathered of it is not needed any more."""
        self._gathered.pop(message_id, None)
        self._end(message_id, lambda: self._store.finish_answer(message_id, result))

    def fail(self, message_id: int, sentence: str) -> None:
        self.flush()
        self._end(message_id, lambda: self._store.fail_answer(message_id, sentence))

    def stop(self, message_id: int) -> None:
        self.flush()
        self._end(message_id, lambda: self._store.stop_answer(message_id))

    def _take_failure(self, error: Exception) -> None:
        if isinstance(error, _PASSING):
            self._retry.start()

    def close(self) -> None:
        """Writes what is left and waits for it. May be called again."""
        if self._is_closed:
            return
        self._is_closed = True
        self._retry.stop()
        self.flush()
        self._thread.submit(self._write_all)
        self._thread.shutdown(wait=True)

    def _end(self, message_id: int, write: Callable[[], None]) -> None:
        self._submit(write, lambda: self.ended.emit(message_id))

    def _submit(self, write: Callable[[], None], tried: Callable[[], None] = lambda: None) -> None:
        def run() -> None:
            self._unwritten.append(write)
            self._write_all()
            tried()

        self._thread.submit(run)

    def _write_all(self) -> None:
        """In the order in which it came: the end of an answer must not overtake its tokens."""
        while self._unwritten:
            try:
                self._unwritten[0]()
            except (EngineError, sqlite3.Error, OSError) as error:
                log.warning("an answer could not be written: %r", error)
                is_passing = isinstance(error, _PASSING)
                if not self._has_failed:
                    self._has_failed = is_passing
                    self.failed.emit(error)
                if is_passing:
                    return
            self._unwritten.popleft()
        if self._has_failed:
            self._has_failed = False
            self.recovered.emit()
