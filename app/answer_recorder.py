"""Answers on their way to the disk: gathered for half a second, written by one thread, in order.

Owns the batching and the writing thread, so that a busy drive never holds up the window. Must not know where the
tokens come from.
"""

from __future__ import annotations

import logging
import sqlite3
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
    """Lives in the GUI thread. ``ended`` comes when the end of an answer is in the store.

    ``failed`` (an exception) tells once that something could not be written; tokens are kept and written with the
    next ones.
    """

    ended = Signal(int)
    failed = Signal(object)

    def __init__(self, store: AnswerStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="strata-answers")
        self._gathered: dict[int, _Batch] = {}
        self._unwritten: dict[int, _Batch] = {}  # only the writing thread touches it
        self._has_failed = False
        self._timer = QTimer(self, interval=WRITE_INTERVAL_MS, singleShot=True)
        self._timer.timeout.connect(self.flush)

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
            self._submit(lambda message_id=message_id, batch=batch: self._append(message_id, batch))

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

    def close(self) -> None:
        """Writes what is left and waits for it."""
        self.flush()
        self._thread.shutdown(wait=True)

    def _append(self, message_id: int, batch: _Batch) -> None:
        earlier = self._unwritten.pop(message_id, _Batch())
        whole = _Batch(earlier.token_ids + batch.token_ids, earlier.text + batch.text)
        try:
            self._store.append_tokens(message_id, whole.token_ids, whole.text)
        except (EngineError, sqlite3.Error, OSError):
            self._unwritten[message_id] = whole
            raise

    def _end(self, message_id: int, write: Callable[[], None]) -> None:
        def run() -> None:
            try:
                write()
            finally:
                self.ended.emit(message_id)

        self._submit(run)

    def _submit(self, write: Callable[[], None]) -> None:
        def run() -> None:
            try:
                write()
            except (EngineError, sqlite3.Error, OSError) as error:
                log.warning("an answer could not be written: %r", error)
                if not self._has_failed:
                    self._has_failed = True
                    self.failed.emit(error)
            else:
                self._has_failed = False

        self._thread.submit(run)
