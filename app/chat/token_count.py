"""How many tokens a conversation has: asked of the engine after a pause in the writing, one question at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.conversations.answers import prompt_messages, question_text
from app.conversations.records import WORKING, Conversation, Draft, StoredMessage
from app.engine_calls import EngineCall
from app.engine_host import EngineHost
from engine.api import Message, ModelInfo

_PAUSE_MS = 600


class TokenCount(QObject):
    """``counted`` carries the tokens (None: unknown) and the model's context (None: without a limit)."""

    counted = Signal(object, object)

    def __init__(self, engine: EngineHost, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._wanted: tuple[tuple[Message, ...], ModelInfo] | None = None
        self._asked: tuple[tuple[Message, ...], ModelInfo] | None = None
        self._call: EngineCall | None = None
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._go)

    def ask(
        self, conversation: Conversation, path: Sequence[StoredMessage], draft: Draft, model: ModelInfo | None
    ) -> None:
        """The latest question counts; what is known meanwhile stays shown."""
        done = [each for each in path if each.state not in WORKING]
        messages = prompt_messages(conversation, done)
        words = question_text_of(draft)
        if words.strip():
            messages = (*messages, Message("user", words))
        # What can be counted ends with a question: an answer at the end is counted as one, which comes close.
        if messages and messages[-1].role == "assistant":
            messages = (*messages[:-1], Message("user", messages[-1].text))
        if model is None or model.state != "ready" or not messages or messages[-1].role != "user":
            self._wanted = None
            self._pause.stop()
            self.counted.emit(None, None)
            return
        self._wanted = (messages, model)
        self._pause.start()

    def _go(self) -> None:
        if self._call is not None or self._wanted is None or self._wanted == self._asked:
            return
        self._asked = self._wanted
        messages, model = self._wanted
        call = self._call = EngineCall(self._engine, "count_tokens", messages, parent=self, folder=Path(model.path))
        call.result.connect(lambda count: self.counted.emit(count, model.context))
        # A conversation that cannot be counted is no news: sending it says what is the matter.
        call.failed.connect(lambda: self.counted.emit(None, None))
        call.finished.connect(self._ended)

    @Slot()
    def _ended(self) -> None:
        self._call = None
        if self._wanted is not None and self._wanted != self._asked:
            self._pause.start()


def question_text_of(draft: Draft) -> str:
    """A draft as it would be sent."""
    return question_text(StoredMessage(0, 0, None, "user", draft.text, created_at=0.0, attachments=draft.attachments))
