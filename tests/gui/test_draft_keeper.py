"""Drafts reach the disk in a thread of their own: the latest of each chat, and none is lost on the way."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from app.background import wait_for_background
from app.chat.draft_keeper import DraftKeeper
from app.conversations.records import Draft
from app.conversations.store import ConversationStore


class SlowStore(ConversationStore):
    """Writes drafts only while ``may_write`` is set, as a drive that is busy."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.may_write = threading.Event()
        self.has_begun = threading.Event()
        self.written: list[str] = []

    def save_draft(self, conversation_id: int, draft: Draft) -> None:
        self.has_begun.set()
        self.may_write.wait(20)
        super().save_draft(conversation_id, draft)
        self.written.append(draft.text)


@pytest.fixture
def store(tmp_path: Path, qapp: QApplication) -> Iterator[SlowStore]:
    made = SlowStore(tmp_path / "c.db")
    yield made
    made.may_write.set()
    wait_for_background()
    QApplication.processEvents()
    made.close()


def test_what_is_typed_while_a_drive_is_busy_is_written_once_and_last(store: SlowStore) -> None:
    parent = QObject()
    keeper = DraftKeeper(store, parent)
    chat, other = store.add_conversation().id, store.add_conversation().id
    for text in ("a", "ab", "abc"):
        keeper.save(chat, Draft(text))
        assert store.has_begun.wait(20)
    keeper.save(other, Draft("x"))
    assert keeper.draft(chat) == Draft("abc")
    assert store.draft(chat) == Draft()
    store.may_write.set()
    wait_for_background()
    assert store.written == ["a", "abc", "x"]
    assert (store.draft(chat), store.draft(other)) == (Draft("abc"), Draft("x"))


def test_who_reads_does_not_wait_for_a_write_that_takes_long(store: SlowStore) -> None:
    chat = store.add_conversation("Trees").id
    with store._database.transaction() as connection:
        connection.execute("UPDATE conversations SET title = 'Woods' WHERE id = ?", (chat,))
        seen: list[str] = []
        reader = threading.Thread(target=lambda: seen.extend(each.title for each in store.conversations()))
        reader.start()
        reader.join(20)
        assert seen == ["Trees"]
        assert [each.title for each in store.conversations()] == ["Woods"]
    assert [each.title for each in store.conversations()] == ["Woods"]
