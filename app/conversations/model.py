"""The conversations as a Qt list: in groups by date, or the hits of a search. Rows know what they are.

Owns the grouping and keeps up with the store. Must not know how rows look.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QCoreApplication,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    QTimer,
    Signal,
)

from app.conversations.records import Conversation
from app.conversations.store import ConversationStore

Index = QModelIndex | QPersistentModelIndex

ROW_ROLE = int(Qt.ItemDataRole.UserRole)


@dataclass(frozen=True, slots=True)
class HeaderRow:
    """The name of a group."""

    text: str


@dataclass(frozen=True, slots=True)
class ChatRow:
    """One conversation. ``excerpt`` is where a search found it."""

    id: int
    title: str
    is_pinned: bool = False
    is_working: bool = False
    is_unread: bool = False
    excerpt: str = ""


Row = HeaderRow | ChatRow


class ConversationList(QAbstractListModel):
    """``refreshed`` after every look at the store; ``reset_done`` before it where the rows were replaced."""

    refreshed = Signal()
    reset_done = Signal()
    _store_changed = Signal()

    def __init__(
        self,
        store: ConversationStore,
        parent: QObject | None = None,
        *,
        today: Callable[[], date] = date.today,
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._today = today
        self._query = ""
        self._rows: list[Row] = []
        self._refreshing = QTimer(self, singleShot=True, interval=0)
        self._refreshing.timeout.connect(self.refresh)
        # The store may tell from the thread that writes answers: the signal brings it to this one.
        self._store_changed.connect(self._refresh_soon, Qt.ConnectionType.QueuedConnection)
        stop = store.listen(self._store_changed.emit)
        self.destroyed.connect(stop)
        self.refresh()

    def search(self, query: str) -> None:
        """Empty: all of them."""
        self._query = query.strip()
        self.refresh()

    @property
    def query(self) -> str:
        return self._query

    def rows(self) -> Sequence[Row]:
        return self._rows

    def row_of(self, conversation_id: int) -> int:
        """-1 where it is not listed."""
        return next(
            (i for i, each in enumerate(self._rows) if isinstance(each, ChatRow) and each.id == conversation_id), -1
        )

    @property
    def has_working(self) -> bool:
        return any(isinstance(each, ChatRow) and each.is_working for each in self._rows)

    def refresh(self) -> None:
        """Rows that only look different are told as changed, so that a view keeps its place."""
        self._take(self._found() if self._query else grouped(self._store.conversations(), self._today()))
        self.refreshed.emit()

    def _take(self, fresh: list[Row]) -> None:
        if [_identity(each) for each in fresh] == [_identity(each) for each in self._rows]:
            for number, (old, new) in enumerate(zip(self._rows, fresh, strict=True)):
                if old != new:
                    self._rows[number] = new
                    self.dataChanged.emit(self.index(number), self.index(number))
            return
        self.beginResetModel()
        self._rows = fresh
        self.endResetModel()
        self.reset_done.emit()

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role == ROW_ROLE:
            return row
        if role in {int(Qt.ItemDataRole.DisplayRole), int(Qt.ItemDataRole.EditRole)}:
            return row.text if isinstance(row, HeaderRow) else row.title
        if role == int(Qt.ItemDataRole.AccessibleTextRole):
            return _spoken(row)
        if role == int(Qt.ItemDataRole.ToolTipRole) and isinstance(row, ChatRow):
            return row.title
        return None

    def setData(self, index: Index, value: Any, role: int = int(Qt.ItemDataRole.EditRole)) -> bool:
        row = self._rows[index.row()]
        title = str(value).strip()
        if not isinstance(row, ChatRow) or not title:
            return False
        if title != row.title:
            self._store.rename_conversation(row.id, title)
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid() or isinstance(self._rows[index.row()], HeaderRow):
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEditable

    def _refresh_soon(self) -> None:
        if not self._refreshing.isActive():
            self._refreshing.start()

    def _found(self) -> list[Row]:
        known = {each.id: each for each in self._store.conversations()}
        return [
            _row(known[hit.conversation_id], hit.excerpt)
            for hit in self._store.search(self._query)
            if hit.conversation_id in known
        ]


def grouped(conversations: Sequence[Conversation], today: date) -> list[Row]:
    """Pinned ones first, then by the day of the last word, each group under its name."""
    groups: dict[str, list[Row]] = {}
    pinned = QCoreApplication.translate("ConversationList", "Pinned")
    for each in conversations:
        if each.is_pinned:
            groups.setdefault(pinned, []).append(_row(each))
    for each in conversations:
        if not each.is_pinned:
            groups.setdefault(group_name(each.updated_at, today), []).append(_row(each))
    return [row for name, rows in groups.items() for row in (HeaderRow(name), *rows)]


def group_name(updated_at: float, today: date) -> str:
    day = datetime.fromtimestamp(updated_at).date()
    if day >= today:
        return QCoreApplication.translate("ConversationList", "Today")
    if day == today - timedelta(days=1):
        return QCoreApplication.translate("ConversationList", "Yesterday")
    if day > today - timedelta(days=7):
        return QCoreApplication.translate("ConversationList", "Last 7 days")
    if day > today - timedelta(days=30):
        return QCoreApplication.translate("ConversationList", "Last 30 days")
    return (
        str(day.year) if day.year != today.year else QCoreApplication.translate("ConversationList", "Earlier this year")
    )


def _row(conversation: Conversation, excerpt: str = "") -> ChatRow:
    return ChatRow(
        conversation.id,
        conversation.title or QCoreApplication.translate("ConversationList", "New chat"),
        is_pinned=conversation.is_pinned,
        is_working=conversation.is_working,
        is_unread=conversation.is_unread,
        excerpt=excerpt,
    )


def _identity(row: Row) -> object:
    return row.text if isinstance(row, HeaderRow) else (row.id, bool(row.excerpt))


def _spoken(row: Row) -> str:
    if isinstance(row, HeaderRow):
        return row.text
    if row.is_working:
        return QCoreApplication.translate("ConversationList", "{title}, is being answered").format(title=row.title)
    if row.is_unread:
        return QCoreApplication.translate("ConversationList", "{title}, a new answer").format(title=row.title)
    return row.title
