"""The chat page on a real store and queue and a fake engine, for tests that use it as a person does."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.background import wait_for_background
from app.chat.page import ChatPage
from app.services import Services
from tests.helpers.chat_services import answer_request
from tests.helpers.fake_engine import FakeEngineHost


class Chat:
    """The page and what is behind it."""

    def __init__(self, services: Services, engine: FakeEngineHost, qtbot: QtBot) -> None:
        self.services = services
        self.store = services.conversations
        self.engine = engine
        self.qtbot = qtbot
        self.pages: list[ChatPage] = []
        self.page = self.new_page()

    def new_page(self) -> ChatPage:
        page = ChatPage(self.services)
        self.qtbot.addWidget(page)
        self.pages.append(page)
        page.resize(1000, 700)
        page.show()
        page.open()
        self.qtbot.waitUntil(lambda: page.models.is_known)
        return page

    def close(self) -> None:
        """As the program does it: the pages go before the store."""
        for page in self.pages:
            page.close()
        wait_for_background()
        QApplication.processEvents()

    def write(self, text: str) -> None:
        self.page.composer.text.setFocus()
        self.page.composer.text.set_text(text)
        self.qtbot.keyClick(self.page.composer.text, Qt.Key.Key_Return)

    def texts(self) -> list[str]:
        return [each.text for each in self.page.desk.messages()]

    def wait_for_end(self) -> None:
        self.qtbot.waitUntil(lambda: self.services.answers.current is None)

    def wait_for_request(self) -> int:
        self.qtbot.waitUntil(lambda: any(each.method == "answer" for each in self.engine.waiting))
        return answer_request(self.engine).request_id
