"""A setting as a row: what it is and why on the left, its control on the right, what went wrong below.

Where the window is too narrow for both, the control stands below the words.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from app.theme import tokens
from app.widgets.labels import label, line, paragraph

_NARROWEST_WORDS = 220


class SettingRow(QWidget):
    """``matches`` answers the search. ``control`` may be any widget; what it needs to say goes through ``say``."""

    def __init__(
        self,
        title: str,
        text: str,
        control: QWidget,
        *,
        keywords: str = "",
        is_wide: bool = False,
        below: QWidget | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """``is_wide``: the control always stands below the words, as wide as they. ``below``: what comes of it."""
        super().__init__(parent)
        look = tokens()
        self._searched = f"{title} {text} {keywords}".casefold()
        self._is_useful = True
        self._control = control
        self._is_wide = is_wide
        self._is_stacked: bool | None = None
        grid = self._grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, look.s + look.xs)
        grid.setHorizontalSpacing(look.l)
        grid.setVerticalSpacing(look.s)
        grid.setColumnStretch(0, 1)
        grid.addWidget(line(), 0, 0, 1, 2)
        grid.addWidget(_words(title, text), 1, 0, Qt.AlignmentFlag.AlignVCenter)
        self._note = paragraph("", "danger")
        self._note.hide()
        grid.addWidget(self._note, 3, 0, 1, 2)
        if below is not None:
            grid.addWidget(below, 4, 0, 1, 2)
        self._place(is_stacked=is_wide)

    def say(self, text: str) -> None:
        """Below the row; nothing takes it away again."""
        self._note.setText(text)
        self._note.setVisible(bool(text))

    def set_useful(self, is_useful: bool) -> None:
        """A row without a use is not shown, searched or not."""
        self._is_useful = is_useful

    def matches(self, words: str) -> bool:
        return self._is_useful and all(word in self._searched for word in words.casefold().split())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        left = event.size().width() - self._control.sizeHint().width() - self._grid.horizontalSpacing()
        self._place(is_stacked=self._is_wide or left < _NARROWEST_WORDS)

    def _place(self, *, is_stacked: bool) -> None:
        if is_stacked == self._is_stacked:
            return
        self._is_stacked = is_stacked
        middle = Qt.AlignmentFlag.AlignVCenter
        if self._is_wide:
            self._grid.addWidget(self._control, 2, 0, 1, 2)
        elif is_stacked:
            self._grid.addWidget(self._control, 2, 0, 1, 2, Qt.AlignmentFlag.AlignLeft | middle)
        else:
            self._grid.addWidget(self._control, 1, 1, Qt.AlignmentFlag.AlignRight | middle)


def _words(title: str, text: str) -> QWidget:
    """Close to each other however high the control beside them is."""
    words = QWidget()
    column = QVBoxLayout(words)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(2)
    column.addWidget(label(title))
    if text:
        column.addWidget(paragraph(text, "small"))
    return words
