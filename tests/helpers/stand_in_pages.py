"""Pages without content, for tests of the window around them: they remember what they were asked."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.pages import PageName, PageSet


class StandInPage(QWidget):
    """``opened`` counts ``open``; ``opened_conversations`` and ``new_chats`` are for the chat page."""

    navigate = Signal(str)
    title_changed = Signal()
    restart_requested = Signal()
    shortcuts_requested = Signal()
    about_requested = Signal()

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title
        self.opened = 0
        self.opened_conversations: list[str] = []
        self.new_chats = 0
        QVBoxLayout(self).addWidget(QLabel(title))

    def open(self) -> None:
        self.opened += 1

    def open_conversation(self, conversation_id: str) -> None:
        self.opened_conversations.append(conversation_id)

    def new_chat(self) -> None:
        self.new_chats += 1

    def focus_search(self) -> None:
        self.setFocus()


def stand_in_pages() -> PageSet:
    """A title for each page, and nothing else."""
    return PageSet(
        {name: lambda _services, name=name: StandInPage(name.value.title()) for name in PageName},
        lambda _services: StandInPage("Chats"),
    )
