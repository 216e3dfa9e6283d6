"""Services for the tests of the chat page: a real store and queue of answers, a fake engine with one model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject

from app.answers import AnswerQueue
from app.conversations.records import StoredMessage
from app.conversations.store import ConversationStore
from app.services import Services
from engine.api import LoadOptions, ModelInfo
from tests.helpers.fake_engine import FakeEngineHost, FakeRequest
from tests.helpers.page_services import close_page_services, page_services

MODEL = "owner--tiny@01234567"


def model_info(
    name: str = MODEL, title: str = "owner/tiny", *, state: str = "ready", has_thinking_switch: bool = False
) -> ModelInfo:
    return ModelInfo(
        name=name,
        title=title,
        state=state,
        nbytes=98_000_000,
        path=f"/models/{name}",
        dtype="bfloat16",
        architecture="LlamaForCausalLM",
        context=8192,
        can_chat=True,
        has_thinking_switch=has_thinking_switch,
        source=None,
    )


@contextmanager
def chat_services(folder: Path, parent: QObject | None = None) -> Iterator[tuple[Services, FakeEngineHost]]:
    engine = FakeEngineHost(parent)
    engine.reply("list_models", [model_info()])
    plain = page_services(folder, engine, parent)
    queue = AnswerQueue(
        engine,
        plain.conversations,
        models_folder=lambda: folder / "models",
        load_options=lambda model: LoadOptions(),
        parent=parent,
    )
    try:
        yield replace(plain, answers=queue), engine
    finally:
        queue.close()
        close_page_services(plain)


def answer_request(engine: FakeEngineHost) -> FakeRequest:
    """The answer that waits for the test."""
    return next(each for each in engine.waiting if each.method == "answer")


def add_chat(store: ConversationStore, *texts: str) -> tuple[int, list[StoredMessage]]:
    """A conversation of questions and answers in turn."""
    chat = store.add_conversation(texts[0] if texts else "", model=MODEL)
    parent: int | None = None
    for index, text in enumerate(texts):
        role = "assistant" if index % 2 else "user"
        parent = store.add_message(chat.id, role, text, parent_id=parent, model=MODEL if index % 2 else "").id
    return chat.id, store.messages(chat.id)
