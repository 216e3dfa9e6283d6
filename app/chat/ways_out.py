"""What is offered where an answer could not begin and the user can decide that it may. Nothing before they said so.

A conversation longer than there is room for, and a model whose own code nobody has allowed yet.

Owns which ways out there are and what each leads to. Must not know how they are shown.
"""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtWidgets import QWidget

from app.answers import AnswerQueue
from app.chat.chat_desk import ChatDesk
from app.chat.overflow_dialog import OverflowDialog, larger_context
from app.code_dialog import ask_about_code
from app.conversations.records import Draft
from app.engine_calls import EngineCall
from app.engine_host import EngineHost
from app.model_code import code_of
from engine.api import ModelInfo
from engine.errors import CodeNotAllowed, ContextOverflow


class WaysOut:
    def __init__(self, desk: ChatDesk, queue: AnswerQueue, engine: EngineHost) -> None:
        self._desk = desk
        self._queue = queue
        self._engine = engine

    def offer(self, message_id: int, error: ContextOverflow, model: ModelInfo | None, parent: QWidget) -> None:
        """For the answer that found no room; ``model`` is the one that was to give it."""
        messages = self._desk.messages()
        index = next((i for i, each in enumerate(messages) if each.id == message_id), len(messages))
        asked = messages[index - 1] if index else None
        question = Draft(asked.text, asked.attachments, asked.images) if asked else Draft()
        dialog = OverflowDialog(error.need, error.have, messages[: max(index - 1, 0)], parent)
        dialog.drop_chosen.connect(lambda: self._desk.drop_oldest(message_id))
        dialog.fresh_chosen.connect(lambda summary: self._desk.start_fresh(summary, question))
        dialog.larger_chosen.connect(lambda tokens: self._desk.enlarge_context(message_id, tokens))
        if model is not None:
            self._plan_larger(dialog, error, model)
        dialog.open()

    def ask_about_code(self, message_id: int, error: CodeNotAllowed, parent: QWidget) -> None:
        """For the answer whose model was not loaded; it is tried again after a yes."""
        question = ask_about_code(code_of(error), self._engine, parent)
        question.accepted.connect(lambda: self._desk.regenerate(message_id))

    def _plan_larger(self, dialog: OverflowDialog, error: ContextOverflow, model: ModelInfo) -> None:
        """More room is offered with its price; a plan that is refused leaves the other ways out."""
        wanted = larger_context(error.need, error.have, model.context)
        if wanted is not None:
            options = replace(self._queue.load_options(model.name), context=wanted)
            call = EngineCall(self._engine, "plan", model.name, options, parent=dialog)
            call.result.connect(dialog.offer_larger)
