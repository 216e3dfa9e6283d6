"""What somebody may do before the engine has said which models there are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.background import wait_for_background
from app.chat.page import ChatPage
from tests.helpers.chat_services import chat_services, model_info
from tests.helpers.fake_engine import FakeEngineHost

Start = tuple[ChatPage, FakeEngineHost]


@pytest.fixture
def start(tmp_path: Path, qtbot: QtBot) -> Iterator[Start]:
    with chat_services(tmp_path) as (services, engine):
        engine.reply_nothing("list_models")
        page = ChatPage(services)
        qtbot.addWidget(page)
        page.show()
        page.open()
        yield page, engine
        page.close()
        wait_for_background()


def send(page: ChatPage, qtbot: QtBot, text: str) -> None:
    page.composer.text.set_text(text)
    qtbot.keyClick(page.composer.text, Qt.Key.Key_Return)


def tell_models(engine: FakeEngineHost, page: ChatPage, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: bool(engine.waiting))
    engine.give(engine.asked("list_models")[-1].request_id, [model_info()])
    qtbot.waitUntil(lambda: page.models.is_known)


def test_a_message_sent_before_the_models_are_known_is_sent_when_they_are(start: Start, qtbot: QtBot) -> None:
    page, engine = start
    send(page, qtbot, "Name a tree")
    assert page.notice.message() == "Your message is sent as soon as the engine is ready."
    assert page.composer.text.toPlainText() == "Name a tree"
    tell_models(engine, page, qtbot)
    assert [each.text for each in page.desk.messages()] == ["Name a tree", ""]
    assert page.composer.text.toPlainText() == ""
    assert page.notice.isHidden()


def test_a_message_that_was_changed_meanwhile_is_not_sent(start: Start, qtbot: QtBot) -> None:
    page, engine = start
    send(page, qtbot, "Name a tree")
    page.composer.text.set_text("Name a tree, no, a flower")
    tell_models(engine, page, qtbot)
    assert not page.desk.messages()
    assert page.composer.text.toPlainText() == "Name a tree, no, a flower"
