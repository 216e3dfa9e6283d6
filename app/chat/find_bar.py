"""Finding words in the open chat: a field, how many messages have them, and the way from one to the next."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QWidget

from app.theme import tokens
from app.widgets.buttons import icon_button
from app.widgets.labels import label


class FindBar(QFrame):
    words_changed = Signal(str)
    message_wanted = Signal(int)
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look = tokens()
        self._found: list[int] = []
        self._place = 0
        self.field = QLineEdit()
        self.field.setPlaceholderText(self.tr("Find in this chat"))
        self.field.setAccessibleName(self.tr("Find in this chat"))
        self.field.textChanged.connect(self.words_changed)
        self.field.installEventFilter(self)
        self._count = label("", "small")
        self._count.setMinimumWidth(96)
        earlier = icon_button("chevron-up", self.tr("The message before"), size=16)
        later = icon_button("chevron-down", self.tr("The next message"), size=16)
        close = icon_button("close", self.tr("Close"), size=16)
        earlier.clicked.connect(lambda: self._step(-1))
        later.clicked.connect(lambda: self._step(1))
        close.clicked.connect(self.close_bar)
        row = QHBoxLayout(self)
        row.setContentsMargins(look.m, look.xs, look.m, look.xs)
        row.setSpacing(look.xs)
        row.addStretch(1)
        self.field.setFixedWidth(280)
        for each in (self.field, self._count, earlier, later, close):
            row.addWidget(each)
        self.hide()

    def open_bar(self) -> None:
        self.show()
        self.field.setFocus()
        self.field.selectAll()
        self.words_changed.emit(self.field.text())

    def close_bar(self) -> None:
        self.hide()
        self.words_changed.emit("")
        self.closed.emit()

    def show_found(self, message_ids: list[int]) -> None:
        """The last one is gone to first: it is the nearest."""
        self._found = message_ids
        self._place = len(message_ids) - 1
        self._tell()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.KeyPress:
            pressed = cast(QKeyEvent, event)
            if pressed.key() == Qt.Key.Key_Escape:
                self.close_bar()
                return True
            if pressed.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
                self._step(1 if pressed.modifiers() & Qt.KeyboardModifier.ShiftModifier else -1)
                return True
        return super().eventFilter(watched, event)

    def _step(self, step: int) -> None:
        if self._found:
            self._place = (self._place + step) % len(self._found)
            self._tell()

    def _tell(self) -> None:
        if self._found:
            count = self.tr("{place} of %n messages", "", len(self._found))
            self._count.setText(count.format(place=self._place + 1))
            self.message_wanted.emit(self._found[self._place])
        else:
            self._count.setText(self.tr("Not found") if self.field.text() else "")
