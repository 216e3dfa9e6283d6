"""The list of chats at the left: search, folders and dates, renaming in place, deleting with a way back.

Owns no conversation: it shows what the store has and says where to go.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QListView,
    QMenu,
    QVBoxLayout,
    QWidget,
)

from app.chat.chat_list_view import ChatListView
from app.chat.exchange_deeds import ExchangeDeeds
from app.chat.folder_deeds import FolderDeeds
from app.conversations.model import ChatRow, ConversationList, HeaderRow
from app.icons import icon
from app.services import Services
from app.settings import FOLDED_GROUPS
from app.theme import tokens
from app.widgets.buttons import button, icon_button
from app.widgets.labels import ElidedLabel, paragraph
from app.widgets.popups import popup_menu

_SEARCH_MS = 150
_UNDO_MS = 10_000
_SPIN_MS = 60


class ChatSidebar(QWidget):
    navigate = Signal(str)

    def __init__(self, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = services.conversations
        self._queue = services.answers
        self._settings = services.settings
        self.model = ConversationList(self._store, self, folded=self._settings.value(FOLDED_GROUPS).split())
        self.folders = FolderDeeds(self._store, self.model, self)
        self.exchange = ExchangeDeeds(self._store, self)
        self.search = QLineEdit()
        self.list = ChatListView(self.model)
        self._delegate = self.list.delegate
        self._nothing = paragraph("", "muted")
        self._way_back: Callable[[], None] | None = None
        self._notice_text = ElidedLabel("")
        self.undo = button(self.tr("Undo"), "link")
        self.notice = self._notice()
        self._search_timer = QTimer(self, singleShot=True, interval=_SEARCH_MS)
        self._undo_timer = QTimer(self, singleShot=True, interval=_UNDO_MS)
        self._spinning = QTimer(self, interval=_SPIN_MS)
        self._lay_out()
        self._wire()
        self._refreshed()

    def focus_search(self) -> None:
        self.search.setFocus()
        self.search.selectAll()

    # Putting together

    def _lay_out(self) -> None:
        look = tokens()
        self.search.setPlaceholderText(self.tr("Search chats"))
        self.search.setAccessibleName(self.tr("Search chats"))
        self.search.setClearButtonEnabled(True)
        self.search.addAction(icon("search"), QLineEdit.ActionPosition.LeadingPosition)
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, look.xs, 0, 0)
        column.setSpacing(look.xs)
        column.addWidget(self.search)
        column.addWidget(self._nothing)
        column.addWidget(self.list, 1)
        column.addWidget(self.notice)

    def _notice(self) -> QFrame:
        look = tokens()
        frame = QFrame()
        frame.setProperty("role", "card")
        row = QHBoxLayout(frame)
        row.setContentsMargins(look.s + look.xs, look.xs, look.xs, look.xs)
        row.addWidget(self._notice_text, 1)
        row.addWidget(self.undo)
        close = icon_button("close", self.tr("Close"), size=12)
        close.clicked.connect(frame.hide)
        row.addWidget(close)
        frame.hide()
        return frame

    def _wire(self) -> None:
        self.search.textChanged.connect(self._search_soon)
        self.search.installEventFilter(self)
        self._search_timer.timeout.connect(lambda: self.model.search(self.search.text()))
        self.list.installEventFilter(self)
        self.list.clicked.connect(self._open)
        self.list.clicked.connect(self._toggle)
        self.list.activated.connect(self._open)
        self.list.customContextMenuRequested.connect(self._show_menu)
        self.list.chat_dropped.connect(self.folders.drop)
        self._delegate.naming_begun.connect(lambda: self.model.set_held(True))
        self._delegate.closeEditor.connect(lambda: self.model.set_held(False))
        self.model.refreshed.connect(self._refreshed)
        self.model.folded_changed.connect(lambda keys: self._settings.set(FOLDED_GROUPS, " ".join(sorted(keys))))
        self.folders.naming_wanted.connect(self._name_group)
        self.folders.deleted.connect(self._say_folder_deleted)
        self.exchange.said.connect(self._say)
        self.undo.clicked.connect(self._undo)
        self._undo_timer.timeout.connect(self.notice.hide)
        self._spinning.timeout.connect(self._spin)

    # Showing

    def _search_soon(self, words: str) -> None:
        self._search_timer.start()

    def _refreshed(self) -> None:
        open_id = self._store.open_id
        self._delegate.open_id = open_id
        row = self.model.row_of(open_id) if open_id is not None else -1
        if row >= 0 and not self.list.hasFocus():
            self.list.setCurrentIndex(self.model.index(row))
        is_empty = not self.model.rows()
        self._nothing.setVisible(is_empty)
        self._nothing.setText(
            self.tr("Nothing found") if self.model.query else self.tr("Your chats will be listed here")
        )
        if self.model.has_working and not self._spinning.isActive():
            self._spinning.start()
        self.list.viewport().update()

    def _spin(self) -> None:
        """Only the rows that work are drawn again, and only while somebody can see them."""
        if not self.model.has_working:
            self._spinning.stop()
        if not self.list.isVisible():
            return
        self._delegate.spinner_turn = (self._delegate.spinner_turn + 18) % 360
        for number, row in enumerate(self.model.rows()):
            if isinstance(row, ChatRow) and row.is_working:
                self.list.update(self.model.index(number))

    def _header(self, index: QModelIndex) -> HeaderRow | None:
        row = self.model.rows()[index.row()] if index.isValid() else None
        return row if isinstance(row, HeaderRow) else None

    def _row(self, index: QModelIndex) -> ChatRow | None:
        row = self.model.rows()[index.row()] if index.isValid() else None
        return row if isinstance(row, ChatRow) else None

    # Deeds

    def _open(self, index: QModelIndex) -> None:
        if row := self._row(index):
            self.navigate.emit(f"chat:{row.id}")

    def _toggle(self, index: QModelIndex) -> None:
        if header := self._header(index):
            self.fold(header, not header.is_folded)

    def fold(self, header: HeaderRow, is_folded: bool) -> None:
        """The name of the group stays where the keyboard is."""
        self.model.fold(header.key, is_folded)
        self._choose_group(header.key)

    def _choose_group(self, key: str) -> None:
        row = self.model.row_of_group(key)
        if row >= 0:
            self.list.setCurrentIndex(self.model.index(row))

    def _name_group(self, key: str) -> None:
        self.list.setFocus()
        self._choose_group(key)
        if self.model.row_of_group(key) >= 0:
            self.list.edit(self.list.currentIndex())

    def _show_menu(self, point: QPoint) -> None:
        self.menu_at(self.list.indexAt(point)).popup(self.list.viewport().mapToGlobal(point))

    def menu_at(self, index: QModelIndex) -> QMenu:
        """For a chat, for a group, or for the empty place below."""
        if row := self._row(index):
            return self.menu_for(row)
        menu = popup_menu(self)
        if header := self._header(index):
            self.folders.fill_header_menu(menu, header)
        else:
            self.folders.add_new_folder(menu)
        menu.addSeparator()
        self._add_exchange(menu)
        return menu

    def _add_exchange(self, menu: QMenu) -> None:
        """For all chats at once."""
        everything = menu.addAction(icon("export"), self.tr("Export all chats as JSON…"))
        everything.triggered.connect(self._export_all)
        everything.setEnabled(bool(self._store.conversations()))
        menu.addAction(icon("upload"), self.tr("Import chats…")).triggered.connect(self.exchange.import_chats)

    def _export_all(self) -> None:
        self.exchange.export_as_json([each.id for each in self._store.conversations()], self.tr("All chats"))

    def _rename(self, conversation_id: int) -> None:
        """Where it stands now: chats may have moved while the menu was open."""
        number = self.model.row_of(conversation_id)
        if number >= 0:
            self.list.edit(self.model.index(number))

    def menu_for(self, row: ChatRow) -> QMenu:
        menu = popup_menu(self)
        menu.addAction(icon("edit"), self.tr("Rename")).triggered.connect(lambda: self._rename(row.id))
        pin = self.tr("Unpin") if row.is_pinned else self.tr("Pin")
        menu.addAction(icon("pin"), pin).triggered.connect(lambda: self._store.set_pinned(row.id, not row.is_pinned))
        self.folders.add_move_menu(menu, row)
        if row.is_unread:
            menu.addAction(icon("check"), self.tr("Mark as read")).triggered.connect(
                lambda: self._store.set_unread(row.id, False)
            )
        menu.addSeparator()
        menu.addAction(icon("export"), self.tr("Export as Markdown…")).triggered.connect(
            lambda: self.exchange.export_as_markdown(row.id, row.title)
        )
        menu.addAction(icon("export"), self.tr("Export as JSON…")).triggered.connect(
            lambda: self.exchange.export_as_json([row.id], row.title)
        )
        menu.addAction(icon("upload"), self.tr("Import chats…")).triggered.connect(self.exchange.import_chats)
        menu.addSeparator()
        menu.addAction(icon("trash", colour="danger"), self.tr("Delete")).triggered.connect(lambda: self.delete(row))
        return menu

    def delete(self, row: ChatRow) -> None:
        """Gone from the list at once; Undo brings it back for a while. An answer in the making is stopped."""
        for unfinished in self._store.unfinished_answers():
            if unfinished.conversation_id == row.id:
                self._queue.cancel(unfinished.message_id)
        self._store.delete_conversation(row.id)
        self._say(self.tr("Chat deleted"), way_back=partial(self._restore, row.id))
        if self._store.open_id == row.id:
            self._store.open_conversation(None)
            self.navigate.emit(self._next_place())

    def _next_place(self) -> str:
        """After the open chat was deleted: the latest one, or a new one."""
        latest = next(iter(self._store.conversations()), None)
        return f"chat:{latest.id}" if latest else "chat:0"

    def _undo(self) -> None:
        self.notice.hide()
        way_back, self._way_back = self._way_back, None
        if way_back is not None:
            way_back()

    def _restore(self, conversation_id: int) -> None:
        self._store.restore_conversation(conversation_id)
        self.navigate.emit(f"chat:{conversation_id}")

    def _say_folder_deleted(self, way_back: Callable[[], None]) -> None:
        self._say(self.tr("Folder deleted, chats kept"), way_back=way_back)

    def _say(self, text: str, *, way_back: Callable[[], None] | None = None) -> None:
        self._notice_text.set_text(text)
        self._way_back = way_back
        self.undo.setVisible(way_back is not None)
        self.notice.show()
        self._undo_timer.start()

    # Keys

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.KeyPress:
            key = cast(QKeyEvent, event).key()
            if watched is self.search and self._search_key(key):
                return True
            # Enter that ends the typing of a name comes on to the list, which must not take it for its own.
            is_naming = self.list.state() is QListView.State.EditingState
            if watched is self.list and not is_naming and self._list_key(key):
                return True
        return super().eventFilter(watched, event)

    def _search_key(self, key: int) -> bool:
        if key in {Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.model.search(self.search.text())
            first = next((i for i, each in enumerate(self.model.rows()) if isinstance(each, ChatRow)), -1)
            if first >= 0:
                self.list.setFocus()
                self.list.setCurrentIndex(self.model.index(first))
                if key != Qt.Key.Key_Down:
                    self._open(self.model.index(first))
            return True
        if key == Qt.Key.Key_Escape and self.search.text():
            self.search.clear()
            return True
        return False

    def _list_key(self, key: int) -> bool:
        index = self.list.currentIndex()
        if header := self._header(index):
            return self._header_key(header, key)
        row = self._row(index)
        if row is None:
            return False
        if key == Qt.Key.Key_Delete:
            self.delete(row)
        elif key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self._open(self.list.currentIndex())
        elif key == Qt.Key.Key_Menu:
            self._show_menu(self.list.visualRect(index).center())
        else:
            return False
        return True

    def _header_key(self, header: HeaderRow, key: int) -> bool:
        match key:
            case Qt.Key.Key_Return | Qt.Key.Key_Enter | Qt.Key.Key_Space:
                self.fold(header, not header.is_folded)
            case Qt.Key.Key_Left | Qt.Key.Key_Right:
                self.fold(header, key == Qt.Key.Key_Left)
            case Qt.Key.Key_Delete if header.folder_id is not None:
                self.folders.delete(header)
            case Qt.Key.Key_Menu:
                self._show_menu(self.list.visualRect(self.list.currentIndex()).center())
            case _:
                return False
        return True
