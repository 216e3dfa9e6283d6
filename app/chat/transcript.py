"""The conversation as it is read: messages, the answer that grows, what the reader chooses.

Owns the current message and how tokens become drawings: only the last parts of a growing answer are
drawn again. Must not know who sends messages or where they are kept.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QColor,
    QFocusEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QWidget

from app.chat.footer_view import FooterView, MessageAction
from app.chat.formulas import Formulas
from app.chat.live_progress import LiveProgress
from app.chat.marked_column import MarkedColumn
from app.chat.part_views import PartView
from app.chat.thumbnails import Thumbnails
from app.chat.transcript_item import TranscriptItem
from app.chat.virtual_column import Key
from app.conversations.records import WORKING, StoredMessage
from app.theme import tokens
from app.widgets.buttons import icon_button

_FLUSH_MS = 40
# Of the time between two drawings of a growing answer, drawing may take a fifth: the window stays quick.
_REST_PER_WORK = 4.0


class Transcript(MarkedColumn):
    """``action_chosen`` carries a message's id and a ``MessageAction``; ``typed`` what was typed while reading."""

    action_chosen = Signal(int, object)
    stop_asked = Signal(int)
    image_chosen = Signal(object)  # StoredImage
    typed = Signal(str)

    def __init__(self, formulas: Formulas, thumbnails: Thumbnails, parent: QWidget | None = None) -> None:
        super().__init__(formulas, thumbnails, parent)
        self.setAccessibleName(self.tr("Conversation"))
        self.setAccessibleDescription(
            self.tr(
                "Up and Down go through the messages, Enter goes to the buttons of one, Left and Right to its versions"
            )
        )
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self._index: dict[int, int] = {}
        self._current: int | None = None
        self._hovered: int | None = None
        self._words = ""
        self._growing: set[int] = set()
        self._flush = QTimer(self, singleShot=True, interval=_FLUSH_MS)
        self._flush.timeout.connect(self.flush_text)
        self.jump = icon_button("arrow-down", self.tr("Jump to the latest"), size=18, parent=self)
        self.jump.setProperty("kind", "floating")
        self.jump.clicked.connect(self.jump_to_end)
        self.jump.hide()

    # What is shown

    @property
    def count(self) -> int:
        return len(self._items)

    def message_at(self, index: int) -> StoredMessage:
        return self._items[index].message

    def set_messages(
        self, messages: Sequence[StoredMessage], progress: Mapping[int, LiveProgress] | None = None
    ) -> None:
        """Another conversation, seen from its end."""
        self._sticks = True
        self._current = None
        self._show_from(0, messages, progress or {})

    def change_messages(
        self, messages: Sequence[StoredMessage], progress: Mapping[int, LiveProgress] | None = None
    ) -> None:
        """The same conversation after something was sent, deleted, or another version chosen."""
        same = 0
        while same < min(len(messages), len(self._items)) and messages[same].id == self._items[same].message.id:
            if messages[same] != self._items[same].message:
                self.update_message(messages[same])
            same += 1
        if self._current is not None and self._current >= len(messages):
            self._current = None
        self._show_from(same, messages, progress or {})

    def update_message(self, message: StoredMessage) -> None:
        """An answer ended, or its versions changed."""
        index = self._index.get(message.id)
        if index is None:
            return
        item = self._items[index]
        self._growing.discard(index)
        item.flush()
        before = item.parts if item.is_made else []
        item.update(message)
        if before:
            self._redraw_parts(index, before)
            if footer := self._footer(index):
                footer.set_message(message)
        self.place()

    def append_text(self, message_id: int, text: str) -> None:
        """Tokens of a growing answer; drawn within a few frames."""
        index = self._index.get(message_id)
        if index is None or self._items[index].message.state not in WORKING:
            return
        self._items[index].append(text)
        self._growing.add(index)
        if not self._flush.isActive():
            self._flush.start()

    def flush_text(self) -> None:
        """Draws what has arrived."""
        begun = time.perf_counter()
        for index in self._growing:
            item = self._items[index]
            before = item.parts
            item.flush()
            self._redraw_parts(index, before)
        self._growing.clear()
        self.place()
        spent_ms = (time.perf_counter() - begun) * 1000
        self._flush.setInterval(max(_FLUSH_MS, round(spent_ms * _REST_PER_WORK)))

    def toggle_thinking(self, index: int) -> None:
        item = self._items[index]
        before = item.parts
        self._sticks = False
        item.toggle_thinking()
        self._redraw_parts(index, before)
        self.place()

    def code_at(self, index: int, part: int) -> str:
        """The whole fence that the part is a piece of."""
        parts = self._items[index].parts
        first = last = part
        while not parts[first].is_first and first > 0:
            first -= 1
        while not parts[last].is_last and last < len(parts) - 1:
            last += 1
        return "\n".join(each.text for each in parts[first : last + 1])

    def show_message(self, message_id: int) -> None:
        """Scrolls so that the message begins near the top."""
        if message_id in self._index:
            self.show_item(self._index[message_id])

    def mark_words(self, words: str) -> list[int]:
        """Marks them wherever they are drawn; the ids of all messages that contain them."""
        self._words = words
        for view in self._views.values():
            if view.document is not None:
                view.document.mark_words(words)
        folded = words.casefold()
        return [each.message.id for each in self._items if folded and folded in each.source_text.casefold()]

    def make_current(self, index: int | None) -> None:
        """The message that the keys are about."""
        before, self._current = self._current, index
        for each in {before, index} - {None}:
            self._show_actions(each)
        if index is not None:
            self._keep_visible(index)
            self._announce(self._items[index].message)
        self.viewport().update()

    @property
    def current(self) -> int | None:
        return self._current

    # Keys and pointer

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self._copy()
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self.select_all()
        elif event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier & ~Qt.KeyboardModifier.ShiftModifier:
            super().keyPressEvent(event)
        elif self._walk(event.key()) or self._act(event.key()):
            event.accept()
        elif event.text().strip() and event.text().isprintable():
            self.typed.emit(event.text())
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._hover(None)
        return super().viewportEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._move_selection(event.globalPosition().toPoint())
            return
        y = event.position().toPoint().y() + self.verticalScrollBar().value()
        self._hover(self._heights.row_at(y) if self._items and y < self._heights.total else None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Beside the texts: a selection may begin there, at the nearest character."""
        self.clear_selection()
        self.setFocus()
        if event.button() == Qt.MouseButton.LeftButton:
            self._begin_at(event.position().toPoint())

    def _copy(self) -> None:
        if not self.has_selection and self._current is not None:
            self._choose(MessageAction.COPY)
        else:
            self.copy_selection()

    def _walk(self, key: int) -> bool:
        last = len(self._items) - 1
        if last < 0:
            return False
        steps = {
            int(Qt.Key.Key_Up): last if self._current is None else max(self._current - 1, 0),
            int(Qt.Key.Key_Down): last if self._current is None else min(self._current + 1, last),
            int(Qt.Key.Key_Home): 0,
            int(Qt.Key.Key_End): last,
        }
        if key not in steps:
            return False
        self.make_current(steps[key])
        if key == Qt.Key.Key_End:
            self.jump_to_end()
        return True

    def _act(self, key: int) -> bool:
        if self._current is None:
            return False
        if key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            if footer := self._footer(self._current):
                footer.focus_first()
            return True
        actions = {
            int(Qt.Key.Key_Left): MessageAction.OLDER,
            int(Qt.Key.Key_Right): MessageAction.NEWER,
            int(Qt.Key.Key_Delete): MessageAction.DELETE,
            int(Qt.Key.Key_F2): MessageAction.EDIT,
        }
        if key not in actions:
            return False
        self._choose(actions[key])
        return True

    def _choose(self, action: MessageAction) -> None:
        if self._current is not None:
            self.action_chosen.emit(self._items[self._current].message.id, action)

    def _hover(self, index: int | None) -> None:
        if index == self._hovered:
            return
        before, self._hovered = self._hovered, index
        for each in {before, index} - {None}:
            self._show_actions(each)

    # Placing

    def _view_made(self, key: Key, view: PartView) -> None:
        super()._view_made(key, view)
        index, part = key
        self._factory.connect(view, self, index, part)
        view.entered.connect(lambda: self._hover(index))
        if self._words and view.document is not None:
            view.document.mark_words(self._words)

    def _placed(self) -> None:
        super()._placed()
        for index in {key[0] for key in self._views}:
            self._show_actions(index)
        bar = self.verticalScrollBar()
        self.jump.setVisible(not self._sticks and bar.value() < bar.maximum())
        size = self.jump.sizeHint()
        area = self.viewport().geometry()
        self.jump.setGeometry(
            area.center().x() - size.width() // 2, area.bottom() - size.height() - 8, size.width(), size.height()
        )
        self.jump.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._current is None or not self.hasFocus() or self._current >= len(self._items):
            return
        top = self._heights.top_of(self._current) - self.verticalScrollBar().value() + 16
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens().accent))
        painter.drawRoundedRect(
            self.column_left() - 16, top, 3, max(self._items[self._current].height - 32, 8), 1.5, 1.5
        )
        painter.end()

    def _show_from(self, first: int, messages: Sequence[StoredMessage], progress: Mapping[int, LiveProgress]) -> None:
        width, line_height = self.column_width(), self._line_height()
        fresh = [TranscriptItem(each, width, line_height, progress.get(each.id)) for each in messages[first:]]
        if self._anchor[0] >= first:
            self._sticks = True
        self._replace_items(fresh, first)
        self._index = {each.message.id: index for index, each in enumerate(self._items)}
        self._growing.clear()
        self.clear_selection()
        self._hovered = None
        self.place()

    def _announce(self, message: StoredMessage) -> None:
        who = self.tr("Answer") if message.role == "assistant" else self.tr("You")
        images = [self.tr("Image {name}").format(name=each.name) for each in message.images]
        text = self.tr("{who}: {text}").format(who=who, text=". ".join([*images, message.text[:2000]]))
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))

    def _keep_visible(self, index: int) -> None:
        top = self._heights.top_of(index)
        value, height = self.verticalScrollBar().value(), self.viewport().height()
        shown = min(self._items[index].height, height - 16)
        if top < value:
            self.show_item(index)
        elif top + shown > value + height:
            self.verticalScrollBar().setValue(top + shown - height + 16)

    def _show_actions(self, index: int | None) -> None:
        footer = None if index is None else self._footer(index)
        if footer is not None:
            is_wanted = index in {self._hovered, self._current, len(self._items) - 1}
            footer.set_actions_shown(is_wanted or footer.has_focus_inside())

    def _footer(self, index: int) -> FooterView | None:
        if index >= len(self._items) or not self._items[index].is_made:
            return None
        view = self._views.get((index, len(self._items[index].parts) - 1))
        return view if isinstance(view, FooterView) else None
