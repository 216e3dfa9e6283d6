"""A conversation store of nothing but answers in the making, with the face ``app.answers`` wants."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from engine.api import Message, SamplingOptions
from engine.events import GenerationResult


@dataclass(frozen=True, slots=True)
class FakeUnfinished:
    conversation_id: int
    message_id: int
    model: str
    messages: Sequence[Message]
    sampling: SamplingOptions
    thinking: bool | None
    token_ids: Sequence[int]
    text: str = ""


class FakeAnswerStore:
    """``broken`` is raised by every write until it is taken away. ``threads`` are the names of those that wrote."""

    def __init__(self) -> None:
        self.unfinished: list[FakeUnfinished] = []
        self.begun: list[int] = []
        self.token_ids: dict[int, list[int]] = {}
        self.texts: dict[int, str] = {}
        self.results: dict[int, GenerationResult] = {}
        self.failures: dict[int, str] = {}
        self.stopped: list[int] = []
        self.appends = 0
        self.broken: Exception | None = None
        self.threads: set[str] = set()

    def begin_answer(self, message_id: int) -> None:
        self._write()
        self.begun.append(message_id)

    def append_tokens(self, message_id: int, token_ids: Sequence[int], text: str) -> None:
        self._write()
        self.appends += 1
        self.token_ids.setdefault(message_id, []).extend(token_ids)
        self.texts[message_id] = self.texts.get(message_id, "") + text

    def finish_answer(self, message_id: int, result: GenerationResult) -> None:
        self._write()
        self.results[message_id] = result

    def fail_answer(self, message_id: int, sentence: str) -> None:
        self._write()
        self.failures[message_id] = sentence

    def stop_answer(self, message_id: int) -> None:
        self._write()
        self.stopped.append(message_id)

    def unfinished_answers(self) -> Sequence[FakeUnfinished]:
        return self.unfinished

    def _write(self) -> None:
        self.threads.add(threading.current_thread().name)
        if self.broken is not None:
            raise self.broken
