"""How many tokens a conversation has: asked of the engine after a pause in the writing.

What was said before is counted once, what is being written anew; the sum is off by the few tokens of a template, and
by all images: only a model that is loaded knows what they take.
"""

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
        self._model: ModelInfo | None = None
        self._conversation: Conversation | None = None
        self._path: Sequence[StoredMessage] = ()
        self._draft = Draft()
        self._history: _Share | None = None
        self._written: _Share | None = None
        self._call: EngineCall | None = None
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._go)

    def ask(
        self, conversation: Conversation, path: Sequence[StoredMessage], draft: Draft, model: ModelInfo | None
    ) -> None:
        """The latest question counts; what is known meanwhile stays shown. ``path`` the same object: unchanged."""
        if model is None or model.state != "ready" or (not path and draft.is_empty):
            self._model = None
            self._pause.stop()
            self.counted.emit(None, None)
            return
        self._conversation, self._path, self._draft, self._model = conversation, path, draft, model
        self._pause.start()

    @Slot()
    def _go(self) -> None:
        """Asks for one share that is not known yet; when both are, tells the sum."""
        if self._call is not None or self._model is None or self._conversation is None:
            return
        history_key = (self._model.name, self._conversation.system_prompt, self._conversation.context_start_id)
        if self._history is None or not self._history.is_for(history_key, self._path):
            done = [each for each in self._path if each.state not in WORKING]
            self._history = _Share(history_key, self._path)
            self._count(self._history, prompt_messages(self._conversation, done) if done else ())
            return
        written_key = (self._model.name, self._draft)
        if self._written is None or not self._written.is_for(written_key, None):
            text = question_text(
                StoredMessage(0, 0, None, "user", self._draft.text, 0.0, attachments=self._draft.attachments)
            )
            self._written = _Share(written_key, None)
            self._count(self._written, (Message("user", text),) if text.strip() else ())
            return
        if self._history.tokens is None or self._written.tokens is None:
            self.counted.emit(None, None)
        else:
            self.counted.emit(self._history.tokens + self._written.tokens, self._model.context)

    def _count(self, share: _Share, messages: Sequence[Message]) -> None:
        # What can be counted ends with a question: an answer at the end is counted as one, which comes close.
        if messages and messages[-1].role == "assistant":
            messages = (*messages[:-1], Message("user", messages[-1].text))
        if not messages or messages[-1].role != "user" or self._model is None:
            share.tokens = 0
            self._go()
            return
        folder = Path(self._model.path)
        call = self._call = EngineCall(self._engine, "count_tokens", tuple(messages), parent=self, folder=folder)
        # A share that cannot be counted stays None: sending it says what is the matter.
        call.result.connect(share.take)
        call.finished.connect(self._ended)

    @Slot()
    def _ended(self) -> None:
        self._call = None
        self._go()


class _Share:
    """What was counted, and for what."""

    def __init__(self, key: object, path: Sequence[StoredMessage] | None) -> None:
        self._key = key
        self._path = path
        self.tokens: int | None = None

    def is_for(self, key: object, path: Sequence[StoredMessage] | None) -> bool:
        return self._key == key and self._path is path

    def take(self, tokens: int) -> None:
        self.tokens = tokens
