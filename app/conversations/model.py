"""The conversations as a Qt list: in folders and groups by date, or the hits of a search. Rows know what they are.

Owns the grouping and keeps up with the store. Must not know how rows look.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QCoreApplication,
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    QTimer,
    Signal,
)

from app.conversations.records import Conversation, Folder
from app.conversations.store import ConversationStore

Index = QModelIndex | QPersistentModelIndex

CHAT_MIME_TYPE = "application/x-strata-chat"
"""What is dragged: the id of a conversation, as decimal digits."""

ROW_ROLE = int(Qt.ItemDataRole.UserRole)
PINNED_KEY = "pinned"
_DAY_CHECK_MS = 60_000


@dataclass(frozen=True, slots=True)
class HeaderRow:
    """The name of a group, under ``key`` in what is folded. ``folder_id`` where the user made it."""

    text: str
    key: str = ""
    folder_id: int | None = None
    count: int = 0
    is_folded: bool = False
    has_news: bool = False


@dataclass(frozen=True, slots=True)
class ChatRow:
    """One conversation. ``excerpt`` is where a search found it."""

    id: int
    title: str
    is_pinned: bool = False
    is_working: bool = False
    is_unread: bool = False
    excerpt: str = ""
    folder_id: int | None = None


Row = HeaderRow | ChatRow


class ConversationList(QAbstractListModel):
    """``refreshed`` after every look at the store; ``reset_done`` before it where the rows were replaced."""

    refreshed = Signal()
    reset_done = Signal()
    folded_changed = Signal(object)
    _store_changed = Signal()

    def __init__(
        self,
        store: ConversationStore,
        parent: QObject | None = None,
        *,
        folded: Collection[str] = (),
        today: Callable[[], date] = date.today,
    ) -> None:
        """``folded`` are the keys of groups whose chats are hidden; ``folded_changed`` carries the new ones."""
        super().__init__(parent)
        self._store = store
        self._today = today
        self._day = today()
        self._folded = frozenset(folded)
        self._query = ""
        self._is_held = False
        self._rows: list[Row] = []
        self._refreshing = QTimer(self, singleShot=True, interval=0)
        self._refreshing.timeout.connect(self.refresh)
        # Asked rather than waited for: a computer that slept through midnight, or travelled, is right again soon.
        self._day_check = QTimer(self, interval=_DAY_CHECK_MS)
        self._day_check.setTimerType(Qt.TimerType.VeryCoarseTimer)
        self._day_check.timeout.connect(self.check_day)
        self._day_check.start()
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

    def set_held(self, is_held: bool) -> None:
        """While a name is being typed the rows stay: an answer that ends meanwhile must not take the field away."""
        self._is_held = is_held
        if not is_held:
            self._refresh_soon()

    def check_day(self) -> None:
        """After midnight, what was said today was said yesterday."""
        if self._today() != self._day:
            self._refresh_soon()

    def fold(self, key: str, is_folded: bool) -> None:
        """Hides the chats of a group, or shows them."""
        folded = self._folded | {key} if is_folded else self._folded - {key}
        if folded != self._folded:
            self._folded = folded
            self.refresh()
            self.folded_changed.emit(folded)

    def rows(self) -> Sequence[Row]:
        return self._rows

    def row_of(self, conversation_id: int) -> int:
        """-1 where it is not listed."""
        return next(
            (i for i, each in enumerate(self._rows) if isinstance(each, ChatRow) and each.id == conversation_id), -1
        )

    def row_of_group(self, key: str) -> int:
        """-1 where it is not listed."""
        return next((i for i, each in enumerate(self._rows) if isinstance(each, HeaderRow) and each.key == key), -1)

    @property
    def has_working(self) -> bool:
        return any(isinstance(each, ChatRow) and each.is_working for each in self._rows)

    def refresh(self) -> None:
        """Rows that only look different are told as changed, so that a view keeps its place."""
        self._day = self._today()
        if self._query:
            self._take(self._found())
        else:
            self._take(grouped(self._store.conversations(), self._day, self._store.folders(), self._folded))
        self.refreshed.emit()

    def _take(self, fresh: list[Row]) -> None:
        if [_identity(each) for each in fresh] == [_identity(each) for each in self._rows]:
            for number, (old, new) in enumerate(zip(self._rows, fresh, strict=True)):
                if old != new:
                    self._rows[number] = new
                    self.dataChanged.emit(self.index(number), self.index(number))
            return
        self._is_held = False
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
        if not title:
            return False
        if isinstance(row, ChatRow):
            if title != row.title:
                self._store.rename_conversation(row.id, title)
            return True
        if row.folder_id is None:
            return False
        if title != row.text:
            self._store.rename_folder(row.folder_id, title)
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        row = self._rows[index.row()]
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        if isinstance(row, HeaderRow):
            return flags if row.folder_id is None else flags | Qt.ItemFlag.ItemIsEditable
        # What a search found is in no group that it could be taken from or to.
        drag = Qt.ItemFlag.NoItemFlags if self._query else Qt.ItemFlag.ItemIsDragEnabled
        return flags | Qt.ItemFlag.ItemIsEditable | drag

    def mimeTypes(self) -> list[str]:
        return [CHAT_MIME_TYPE]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        data = QMimeData()
        rows = [self._rows[each.row()] for each in indexes]
        chat = next((each for each in rows if isinstance(each, ChatRow)), None)
        if chat is not None:
            data.setData(CHAT_MIME_TYPE, str(chat.id).encode())
        return data

    def group_at(self, number: int) -> HeaderRow | None:
        """The group that a row belongs to; None below the last one."""
        if not 0 <= number < len(self._rows):
            return None
        return next((each for each in reversed(self._rows[: number + 1]) if isinstance(each, HeaderRow)), None)

    def _refresh_soon(self) -> None:
        if not self._is_held and not self._refreshing.isActive():
            self._refreshing.start()

    def _found(self) -> list[Row]:
        known = {each.id: each for each in self._store.conversations()}
        return [
            _row(known[hit.conversation_id], hit.excerpt)
            for hit in self._store.search(self._query)
            if hit.conversation_id in known
        ]


def grouped(
    conversations: Sequence[Conversation],
    today: date,
    folders: Sequence[Folder] = (),
    folded: Collection[str] = (),
) -> list[Row]:
    """Pinned ones, then each folder with its pinned ones first, then the others by the day of the last word.

    Folders are there without chats too; any other group only with some. A group that is folded is its name alone.
    """
    groups: dict[str, tuple[HeaderRow, list[Conversation]]] = {}
    pinned = HeaderRow(QCoreApplication.translate("ConversationList", "Pinned"), PINNED_KEY)
    if any(_belongs_to_pinned(each, folders) for each in conversations):
        groups[pinned.key] = pinned, []
    for folder in folders:
        groups[_folder_key(folder.id)] = HeaderRow(folder.name, _folder_key(folder.id), folder.id), []
    for each in sorted(conversations, key=lambda each: not each.is_pinned):
        header = _header_of(each, today, folders, pinned)
        groups.setdefault(header.key, (header, []))[1].append(each)
    rows: list[Row] = []
    for header, members in groups.values():
        is_folded = header.key in folded
        has_news = any(each.is_unread or each.is_working for each in members)
        rows.append(replace(header, count=len(members), is_folded=is_folded, has_news=is_folded and has_news))
        rows += [] if is_folded else [_row(each) for each in members]
    return rows


def date_group(updated_at: float, today: date) -> HeaderRow:
    """The group of a day: its key stays the same in every language."""
    day = datetime.fromtimestamp(updated_at).date()
    if day >= today:
        return HeaderRow(QCoreApplication.translate("ConversationList", "Today"), "today")
    if day == today - timedelta(days=1):
        return HeaderRow(QCoreApplication.translate("ConversationList", "Yesterday"), "yesterday")
    if day > today - timedelta(days=7):
        return HeaderRow(QCoreApplication.translate("ConversationList", "Last 7 days"), "week")
    if day > today - timedelta(days=30):
        return HeaderRow(QCoreApplication.translate("ConversationList", "Last 30 days"), "month")
    if day.year == today.year:
        return HeaderRow(QCoreApplication.translate("ConversationList", "Earlier this year"), "year")
    return HeaderRow(str(day.year), str(day.year))


def _header_of(conversation: Conversation, today: date, folders: Sequence[Folder], pinned: HeaderRow) -> HeaderRow:
    if _belongs_to_pinned(conversation, folders):
        return pinned
    folder = next((each for each in folders if each.id == conversation.folder_id), None)
    if folder is not None:
        return HeaderRow(folder.name, _folder_key(folder.id), folder.id)
    return date_group(conversation.updated_at, today)


def _belongs_to_pinned(conversation: Conversation, folders: Sequence[Folder]) -> bool:
    return conversation.is_pinned and all(each.id != conversation.folder_id for each in folders)


def _folder_key(folder_id: int) -> str:
    return f"folder-{folder_id}"


def _row(conversation: Conversation, excerpt: str = "") -> ChatRow:
    return ChatRow(
        conversation.id,
        conversation.title or QCoreApplication.translate("ConversationList", "New chat"),
        is_pinned=conversation.is_pinned,
        is_working=conversation.is_working,
        is_unread=conversation.is_unread,
        excerpt=excerpt,
        folder_id=conversation.folder_id,
    )


def _identity(row: Row) -> object:
    """A header by its name too: without it two groups could look the same after the day changed."""
    if isinstance(row, HeaderRow):
        return (row.key, row.text)
    return (row.id, bool(row.excerpt))


def _spoken(row: Row) -> str:
    if isinstance(row, HeaderRow):
        return _spoken_header(row)
    if row.is_working:
        return QCoreApplication.translate("ConversationList", "{title}, is being answered").format(title=row.title)
    if row.is_unread:
        return QCoreApplication.translate("ConversationList", "{title}, a new answer").format(title=row.title)
    return row.title


def _spoken_header(row: HeaderRow) -> str:
    state = (
        QCoreApplication.translate("ConversationList", "{group}, folded, chats: {count}")
        if row.is_folded
        else QCoreApplication.translate("ConversationList", "{group}, chats: {count}")
    )
    return state.format(group=row.text, count=row.count)
