"""The list of chats at the left: search, groups by date, renaming in place, deleting with a way back.

Owns no conversation: it shows what the store has and says where to go.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QListView,
    QMenu,
    QVBoxLayout,
    QWidget,
)

from app.chat.chat_rows import ChatRowDelegate
from app.conversations.exchange import Headings, export_json, export_markdown, import_json
from app.conversations.model import ChatRow, ConversationList
from app.conversations.records import StoreError
from app.icons import icon
from app.services import Services
from app.theme import tokens
from app.widgets.buttons import button, icon_button
from app.widgets.labels import ElidedLabel, paragraph

_SEARCH_MS = 150
_UNDO_MS = 10_000
_SPIN_MS = 60


class ChatSidebar(QWidget):
    navigate = Signal(str)

    def __init__(self, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = services.conversations
        self._queue = services.answers
        self.model = ConversationList(self._store, self)
        self.search = QLineEdit()
        self.list = QListView()
        self._delegate = ChatRowDelegate(self.list)
        self._nothing = paragraph("", "muted")
        self._deleted: int | None = None
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
        self.list.setAccessibleName(self.tr("Chats"))
        self.list.setModel(self.model)
        self.list.setItemDelegate(self._delegate)
        self.list.setMouseTracking(True)
        self.list.setUniformItemSizes(False)
        self.list.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setEditTriggers(QListView.EditTrigger.EditKeyPressed)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
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
        self.list.activated.connect(self._open)
        self.list.customContextMenuRequested.connect(self._show_menu)
        self.model.refreshed.connect(self._refreshed)
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

    def _row(self, index: QModelIndex) -> ChatRow | None:
        row = self.model.rows()[index.row()] if index.isValid() else None
        return row if isinstance(row, ChatRow) else None

    # Deeds

    def _open(self, index: QModelIndex) -> None:
        if row := self._row(index):
            self.navigate.emit(f"chat:{row.id}")

    def _show_menu(self, point: QPoint) -> None:
        index = self.list.indexAt(point)
        if row := self._row(index):
            menu = self.menu_for(row, index)
            menu.popup(self.list.viewport().mapToGlobal(point))

    def menu_for(self, row: ChatRow, index: QModelIndex) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(icon("edit"), self.tr("Rename")).triggered.connect(lambda: self.list.edit(index))
        pin = self.tr("Unpin") if row.is_pinned else self.tr("Pin")
        menu.addAction(icon("pin"), pin).triggered.connect(lambda: self._store.set_pinned(row.id, not row.is_pinned))
        if row.is_unread:
            menu.addAction(icon("check"), self.tr("Mark as read")).triggered.connect(
                lambda: self._store.set_unread(row.id, False)
            )
        menu.addSeparator()
        menu.addAction(icon("export"), self.tr("Export as Markdown…")).triggered.connect(
            lambda: self._export_markdown(row)
        )
        menu.addAction(icon("export"), self.tr("Export as JSON…")).triggered.connect(lambda: self._export_json(row))
        menu.addAction(icon("upload"), self.tr("Import chats…")).triggered.connect(self._import)
        menu.addSeparator()
        menu.addAction(icon("trash", colour="danger"), self.tr("Delete")).triggered.connect(lambda: self.delete(row))
        return menu

    def delete(self, row: ChatRow) -> None:
        """Gone from the list at once; Undo brings it back for a while. An answer in the making is stopped."""
        for unfinished in self._store.unfinished_answers():
            if unfinished.conversation_id == row.id:
                self._queue.cancel(unfinished.message_id)
        self._store.delete_conversation(row.id)
        self._deleted = row.id
        self._say(self.tr("Chat deleted"), can_undo=True)
        if self._store.open_id == row.id:
            self._store.open_conversation(None)
            self.navigate.emit(self._next_place())

    def _next_place(self) -> str:
        """After the open chat was deleted: the latest one, or a new one."""
        latest = next(iter(self._store.conversations()), None)
        return f"chat:{latest.id}" if latest else "chat:0"

    def _undo(self) -> None:
        self.notice.hide()
        if self._deleted is not None:
            self._store.restore_conversation(self._deleted)
            self.navigate.emit(f"chat:{self._deleted}")
            self._deleted = None

    def _say(self, text: str, *, can_undo: bool = False) -> None:
        self._notice_text.set_text(text)
        self.undo.setVisible(can_undo)
        self.notice.show()
        self._undo_timer.start()

    def _export_markdown(self, row: ChatRow) -> None:
        headings = Headings(self.tr("You"), self.tr("Answer"), self.tr("File"))
        self._write(f"{_file_name(row.title)}.md", "Markdown (*.md)", export_markdown(self._store, row.id, headings))

    def _export_json(self, row: ChatRow) -> None:
        self._write(f"{_file_name(row.title)}.json", "JSON (*.json)", export_json(self._store, [row.id]))

    def _write(self, name: str, kinds: str, text: str) -> None:
        path, _ = QFileDialog.getSaveFileName(self, self.tr("Export the chat"), name, kinds)
        if not path:
            return
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            self._say(self.tr("Not exported: {reason}").format(reason=error.strerror or str(error)))
        else:
            self._say(self.tr("Exported to {name}").format(name=Path(path).name))

    def _import(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, self.tr("Import chats"), "", "JSON (*.json)")
        if not path:
            return
        try:
            added = import_json(self._store, Path(path).read_text(encoding="utf-8", errors="replace"))
        except OSError as error:
            self._say(self.tr("Not imported: {reason}").format(reason=error.strerror or str(error)))
        except StoreError as error:
            self._say(error.message)
        else:
            self._say(self.tr("{count} chats imported").format(count=len(added)))

    # Keys

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.KeyPress:
            key = cast(QKeyEvent, event).key()
            if watched is self.search and self._search_key(key):
                return True
            if watched is self.list and self._list_key(key):
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
        row = self._row(self.list.currentIndex())
        if row is None:
            return False
        if key == Qt.Key.Key_Delete:
            self.delete(row)
        elif key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self._open(self.list.currentIndex())
        elif key == Qt.Key.Key_Menu:
            self._show_menu(self.list.visualRect(self.list.currentIndex()).center())
        else:
            return False
        return True


def _file_name(title: str) -> str:
    """A title that every system takes as a file's name."""
    kept = "".join(each if each.isalnum() or each in " -_" else " " for each in title)
    return " ".join(kept.split())[:60] or "chat"
