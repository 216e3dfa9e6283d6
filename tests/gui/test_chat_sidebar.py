"""The list of chats: groups, search, marks, renaming, deleting and bringing back, all by keyboard too."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAction, QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QMenu
from pytestqt.qtbot import QtBot

from app.chat.sidebar import ChatSidebar
from app.conversations.model import ChatRow, ConversationList, HeaderRow, date_group, grouped
from app.conversations.records import AnswerState, Conversation, Folder
from app.services import Services
from app.settings import FOLDED_GROUPS
from tests.helpers.chat_services import add_chat, chat_services
from tests.helpers.fake_engine import FakeEngineHost

TODAY = date(2026, 3, 15)


@pytest.fixture
def services(tmp_path: Path, qtbot: QtBot) -> Iterator[Services]:
    with chat_services(tmp_path) as (made, _):
        yield made


@pytest.fixture
def sidebar(services: Services, qtbot: QtBot) -> ChatSidebar:
    add_chat(services.conversations, "Trees", "Oak, elm and ginkgo")
    add_chat(services.conversations, "旅行", "大理很美")
    shown = ChatSidebar(services)
    qtbot.addWidget(shown)
    shown.resize(260, 600)
    shown.show()
    return shown


def titles(model: ConversationList) -> list[str]:
    return [each.text if isinstance(each, HeaderRow) else each.title for each in model.rows()]


def row(sidebar: ChatSidebar, title: str) -> ChatRow:
    return next(each for each in sidebar.model.rows() if isinstance(each, ChatRow) and each.title == title)


@pytest.mark.parametrize(
    ("days", "name"),
    [(0, "Today"), (1, "Yesterday"), (2, "Last 7 days"), (6, "Last 7 days"), (7, "Last 30 days"),
     (40, "Earlier this year"), (400, "2025")],
)  # fmt: skip
def test_a_chat_stands_under_its_day(days: int, name: str) -> None:
    noon = datetime(2026, 3, 15, 12) - timedelta(days=days)
    assert date_group(noon.timestamp(), TODAY).text == name


def test_pinned_chats_come_first_and_only_once() -> None:
    now = datetime(2026, 3, 15, 12).timestamp()
    chats = [Conversation(1, "a", False, now, now), Conversation(2, "b", False, now, now, is_pinned=True)]
    rows = grouped(chats, TODAY)
    assert [each.text if isinstance(each, HeaderRow) else each.title for each in rows] == ["Pinned", "b", "Today", "a"]


def test_the_latest_chat_is_on_top(sidebar: ChatSidebar) -> None:
    assert titles(sidebar.model) == ["Today", "旅行", "Trees"]


def test_searching_shows_where_the_words_stand(sidebar: ChatSidebar, qtbot: QtBot) -> None:
    sidebar.focus_search()
    qtbot.keyClicks(sidebar.search, "ginkgo")
    qtbot.waitUntil(lambda: titles(sidebar.model) == ["Trees"])
    assert "ginkgo" in row(sidebar, "Trees").excerpt
    with qtbot.waitSignal(sidebar.navigate) as went:
        qtbot.keyClick(sidebar.search, Qt.Key.Key_Return)
    assert went.args == [f"chat:{row(sidebar, 'Trees').id}"]
    qtbot.keyClick(sidebar.search, Qt.Key.Key_Escape)
    qtbot.keyClick(sidebar.search, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: len(sidebar.model.rows()) == 3)


def test_two_chinese_characters_are_found(sidebar: ChatSidebar) -> None:
    sidebar.model.search("大理")
    assert titles(sidebar.model) == ["旅行"]


def test_a_chat_that_works_turns_and_a_new_answer_has_a_dot(
    sidebar: ChatSidebar, services: Services, qtbot: QtBot
) -> None:
    store = services.conversations
    chat = row(sidebar, "Trees").id
    answer = store.add_message(chat, "assistant", parent_id=None, state=AnswerState.WAITING)
    store.begin_answer(answer.id)
    qtbot.waitUntil(lambda: row(sidebar, "Trees").is_working)
    index = sidebar.model.index(sidebar.model.row_of(chat))
    assert "is being answered" in index.data(Qt.ItemDataRole.AccessibleTextRole)
    store.stop_answer(answer.id)
    qtbot.waitUntil(lambda: row(sidebar, "Trees").is_unread)
    store.open_conversation(chat)
    qtbot.waitUntil(lambda: not row(sidebar, "Trees").is_unread)


def test_a_chat_is_renamed_in_place(sidebar: ChatSidebar, services: Services, qtbot: QtBot) -> None:
    index = sidebar.model.index(sidebar.model.row_of(row(sidebar, "Trees").id))
    assert sidebar.model.setData(index, "  Woods ")
    qtbot.waitUntil(lambda: "Woods" in titles(sidebar.model))
    assert not sidebar.model.setData(index, "   ")


def test_a_name_can_be_typed_while_other_chats_change(sidebar: ChatSidebar, services: Services, qtbot: QtBot) -> None:
    index = sidebar.model.index(sidebar.model.row_of(row(sidebar, "Trees").id))
    sidebar.list.setCurrentIndex(index)
    sidebar.list.edit(index)
    editor = sidebar.list.findChild(QLineEdit)
    assert isinstance(editor, QLineEdit)
    editor.setText("Woods")
    services.conversations.add_conversation("Another")
    qtbot.wait(20)
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: titles(sidebar.model) == ["Today", "Another", "旅行", "Woods"])


def test_a_deleted_chat_comes_back_with_undo(sidebar: ChatSidebar, qtbot: QtBot) -> None:
    sidebar.list.setFocus()
    sidebar.list.setCurrentIndex(sidebar.model.index(sidebar.model.row_of(row(sidebar, "Trees").id)))
    qtbot.keyClick(sidebar.list, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: "Trees" not in titles(sidebar.model))
    assert sidebar.notice.isVisible()
    sidebar.undo.click()
    qtbot.waitUntil(lambda: "Trees" in titles(sidebar.model))
    assert not sidebar.notice.isVisible()


def test_deleting_the_open_chat_goes_to_the_next_one(sidebar: ChatSidebar, services: Services, qtbot: QtBot) -> None:
    open_one, other = row(sidebar, "旅行"), row(sidebar, "Trees")
    services.conversations.open_conversation(open_one.id)
    with qtbot.waitSignal(sidebar.navigate) as went:
        sidebar.delete(open_one)
    assert went.args == [f"chat:{other.id}"]


def test_deleting_a_chat_stops_its_answer(tmp_path: Path, qtbot: QtBot) -> None:
    with chat_services(tmp_path) as (services, engine):
        sidebar = ChatSidebar(services)
        qtbot.addWidget(sidebar)
        message_id = _ask(services, engine)
        qtbot.waitUntil(lambda: services.answers.current == message_id)
        qtbot.waitUntil(lambda: any(isinstance(each, ChatRow) for each in sidebar.model.rows()))
        sidebar.delete(next(each for each in sidebar.model.rows() if isinstance(each, ChatRow)))
        qtbot.waitUntil(lambda: services.answers.current is None)


def _ask(services: Services, engine: FakeEngineHost) -> int:
    store = services.conversations
    chat = store.add_conversation("Trees", model="tiny")
    question = store.add_message(chat.id, "user", "q", parent_id=None)
    answer = store.add_message(chat.id, "assistant", parent_id=question.id, state=AnswerState.WAITING)
    unfinished = store.unfinished_answer(answer.id)
    assert unfinished is not None
    services.answers.enqueue(chat.id, answer.id, "tiny", unfinished.messages, unfinished.sampling)
    return answer.id


def test_the_menu_offers_what_one_can_do(sidebar: ChatSidebar, services: Services, qtbot: QtBot) -> None:
    chat = row(sidebar, "Trees")
    menu = sidebar.menu_for(chat)
    names = [each.text() for each in menu.actions() if not each.isSeparator()]
    assert names == [
        "Rename",
        "Pin",
        "Move to folder",
        "Export as Markdown…",
        "Export as JSON…",
        "Import chats…",
        "Delete",
    ]
    next(each for each in menu.actions() if each.text() == "Pin").trigger()
    qtbot.waitUntil(lambda: titles(sidebar.model)[0] == "Pinned")


def test_the_open_chat_is_marked(sidebar: ChatSidebar, services: Services, qtbot: QtBot) -> None:
    chat = row(sidebar, "Trees")
    services.conversations.open_conversation(chat.id)
    qtbot.waitUntil(lambda: sidebar._delegate.open_id == chat.id)


def test_the_name_of_a_date_cannot_be_changed(sidebar: ChatSidebar) -> None:
    assert not sidebar.model.flags(sidebar.model.index(0)) & Qt.ItemFlag.ItemIsEditable
    assert not sidebar.model.setData(sidebar.model.index(0), "Once upon a time")


def test_after_midnight_what_was_said_today_was_said_yesterday(services: Services, qtbot: QtBot) -> None:
    day = [date.today()]
    services.conversations.add_conversation("Trees")
    model = ConversationList(services.conversations, today=lambda: day[0])
    assert titles(model) == ["Today", "Trees"]
    day[0] += timedelta(days=1)
    model._day_check.timeout.emit()
    qtbot.waitUntil(lambda: titles(model) == ["Yesterday", "Trees"])


# Folders and folding


def action(menu: QMenu, text: str) -> QAction:
    """In the menu or one of its own menus."""
    menus = [menu, *(inner for each in menu.actions() if isinstance(inner := each.menu(), QMenu))]
    return next(each for one in menus for each in one.actions() if each.text() == text)


def chat_menu(sidebar: ChatSidebar, title: str) -> QMenu:
    return sidebar.menu_at(sidebar.model.index(sidebar.model.row_of(row(sidebar, title).id)))


def header_menu(sidebar: ChatSidebar, text: str) -> QMenu:
    return sidebar.menu_at(sidebar.model.index(titles(sidebar.model).index(text)))


def test_folders_stand_between_the_pinned_chats_and_the_days() -> None:
    now = datetime(2026, 3, 15, 12).timestamp()
    chats = [
        Conversation(1, "today", False, now, now),
        Conversation(2, "inside", False, now, now, folder_id=7),
        Conversation(3, "pinned inside", False, now, now, folder_id=7, is_pinned=True),
        Conversation(4, "pinned", False, now, now, is_pinned=True),
        Conversation(5, "of a folder that is gone", False, now, now, folder_id=9),
    ]
    rows = grouped(chats, TODAY, [Folder(8, "Empty"), Folder(7, "Woods")])
    assert [each.text if isinstance(each, HeaderRow) else each.title for each in rows] == [
        "Pinned", "pinned", "Empty", "Woods", "pinned inside", "inside", "Today", "today", "of a folder that is gone"
    ]  # fmt: skip


def test_a_folded_group_is_its_name_its_count_and_whether_there_is_news() -> None:
    now = datetime(2026, 3, 15, 12).timestamp()
    chats = [Conversation(1, "a", False, now, now), Conversation(2, "b", False, now, now, is_unread=True)]
    assert grouped(chats, TODAY, (), {"today"}) == [HeaderRow("Today", "today", None, 2, True, True)]


def test_a_chat_is_moved_to_a_new_folder_which_is_named_in_place(sidebar: ChatSidebar, qtbot: QtBot) -> None:
    action(chat_menu(sidebar, "Trees"), "New folder…").trigger()
    assert titles(sidebar.model) == ["New folder", "Trees", "Today", "旅行"]
    editor = sidebar.list.findChild(QLineEdit)
    assert isinstance(editor, QLineEdit)
    assert editor.accessibleName() == "Name of the folder"
    editor.setText("Woods")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: titles(sidebar.model)[0] == "Woods")


def test_a_chat_goes_to_a_folder_and_out_of_it(sidebar: ChatSidebar, services: Services, qtbot: QtBot) -> None:
    services.conversations.add_folder("Woods & lakes")
    services.conversations.add_folder("Cities")
    sidebar.model.refresh()
    action(chat_menu(sidebar, "Trees"), "Woods && lakes").trigger()
    qtbot.waitUntil(lambda: titles(sidebar.model) == ["Cities", "Woods & lakes", "Trees", "Today", "旅行"])
    assert action(chat_menu(sidebar, "Trees"), "Woods && lakes").isChecked()
    action(chat_menu(sidebar, "Trees"), "Take out of the folder").trigger()
    qtbot.waitUntil(lambda: titles(sidebar.model) == ["Cities", "Woods & lakes", "Today", "旅行", "Trees"])


def test_a_deleted_folder_leaves_its_chats_and_comes_back_with_them(
    sidebar: ChatSidebar, services: Services, qtbot: QtBot
) -> None:
    folder = services.conversations.add_folder("Woods")
    services.conversations.set_folder(row(sidebar, "Trees").id, folder.id)
    qtbot.waitUntil(lambda: titles(sidebar.model)[0] == "Woods")
    action(header_menu(sidebar, "Woods"), "Delete the folder").trigger()
    qtbot.waitUntil(lambda: titles(sidebar.model) == ["Today", "旅行", "Trees"])
    sidebar.undo.click()
    qtbot.waitUntil(lambda: titles(sidebar.model) == ["Woods", "Trees", "Today", "旅行"])


def test_groups_are_folded_with_mouse_and_keys_and_stay_so(
    sidebar: ChatSidebar, services: Services, qtbot: QtBot
) -> None:
    place = sidebar.list.visualRect(sidebar.model.index(0)).center()
    qtbot.mouseClick(sidebar.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert titles(sidebar.model) == ["Today"]
    assert titles(ChatSidebar(services).model) == ["Today"]
    assert services.settings.value(FOLDED_GROUPS) == "today"
    assert "chats: 2" in sidebar.model.index(0).data(Qt.ItemDataRole.AccessibleTextRole)
    sidebar.list.setFocus()
    qtbot.keyClick(sidebar.list, Qt.Key.Key_Right)
    assert titles(sidebar.model) == ["Today", "旅行", "Trees"]
    assert sidebar.list.currentIndex().row() == 0
    qtbot.keyClick(sidebar.list, Qt.Key.Key_Space)
    assert titles(sidebar.model) == ["Today"]


def test_a_search_finds_what_is_folded(sidebar: ChatSidebar) -> None:
    sidebar.model.fold("today", True)
    sidebar.model.search("ginkgo")
    assert titles(sidebar.model) == ["Trees"]


def test_a_list_of_thousands_of_chats_is_refreshed_without_losing_the_place(services: Services, qtbot: QtBot) -> None:
    store = services.conversations
    for number in range(300):
        store.add_conversation(f"Chat {number}")
    sidebar = ChatSidebar(services)
    qtbot.addWidget(sidebar)
    resets: list[int] = []
    sidebar.model.reset_done.connect(lambda: resets.append(1))
    store.set_unread(5, True)
    qtbot.waitUntil(lambda: row(sidebar, "Chat 4").is_unread)
    assert resets == []


# Dragging


def drop(sidebar: ChatSidebar, title: str, onto: str) -> None:
    """A chat onto a row, or "" for the place below all."""
    model = sidebar.model
    data = model.mimeData([model.index(model.row_of(row(sidebar, title).id))])
    rows = titles(model)
    area = sidebar.list.viewport().rect()
    place = (
        sidebar.list.visualRect(model.index(rows.index(onto))).center() if onto else area.bottomLeft() - QPoint(0, 4)
    )
    how = (Qt.DropAction.MoveAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    for event in (QDragEnterEvent(place, *how), QDragMoveEvent(place, *how), QDropEvent(QPointF(place), *how)):
        QApplication.sendEvent(sidebar.list.viewport(), event)
        assert event.isAccepted()


def test_a_chat_is_dragged_onto_a_folder_to_the_pinned_ones_and_back(
    sidebar: ChatSidebar, services: Services, qtbot: QtBot
) -> None:
    services.conversations.add_folder("Woods")
    services.conversations.set_pinned(row(sidebar, "旅行").id, True)
    sidebar.model.refresh()
    drop(sidebar, "Trees", "Woods")
    qtbot.waitUntil(lambda: titles(sidebar.model) == ["Pinned", "旅行", "Woods", "Trees"])
    drop(sidebar, "旅行", "Trees")
    qtbot.waitUntil(lambda: titles(sidebar.model) == ["Woods", "旅行", "Trees"])
    drop(sidebar, "Trees", "")
    qtbot.waitUntil(lambda: titles(sidebar.model) == ["Woods", "旅行", "Today", "Trees"])


def test_what_a_search_found_is_not_dragged(sidebar: ChatSidebar) -> None:
    assert sidebar.model.flags(sidebar.model.index(1)) & Qt.ItemFlag.ItemIsDragEnabled
    assert not sidebar.model.flags(sidebar.model.index(0)) & Qt.ItemFlag.ItemIsDragEnabled
    sidebar.model.search("ginkgo")
    assert not sidebar.model.flags(sidebar.model.index(0)) & Qt.ItemFlag.ItemIsDragEnabled


# Export and import


def test_all_chats_are_exported_and_come_back_with_their_folder(
    sidebar: ChatSidebar, services: Services, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = services.conversations.add_folder("Woods")
    services.conversations.set_folder(row(sidebar, "Trees").id, folder.id)
    file = tmp_path / "chats.json"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(file), ""))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(file), ""))
    with qtbot.waitSignal(sidebar.exchange.said) as said:
        action(sidebar.menu_at(sidebar.model.index(-1)), "Export all chats as JSON…").trigger()
    assert said.args == ["Exported to chats.json"]
    services.conversations.remove_folder(folder.id)
    with qtbot.waitSignal(sidebar.exchange.said):
        action(sidebar.menu_at(sidebar.model.index(-1)), "Import chats…").trigger()
    qtbot.waitUntil(lambda: titles(sidebar.model)[:2] == ["Woods", "Trees"])
    assert len(services.conversations.conversations()) == 4


def test_what_cannot_be_exported_or_imported_is_said(
    sidebar: ChatSidebar, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = str(tmp_path / "gone" / "chat.md")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (nowhere, ""))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (__file__, ""))
    with qtbot.waitSignal(sidebar.exchange.said) as said:
        action(chat_menu(sidebar, "Trees"), "Export as Markdown…").trigger()
    assert said.args is not None
    assert said.args[0].startswith("Not exported: ")
    with qtbot.waitSignal(sidebar.exchange.said) as said:
        action(chat_menu(sidebar, "Trees"), "Import chats…").trigger()
    assert said.args == ["Not imported: This file is not an export of Strata's conversations."]
