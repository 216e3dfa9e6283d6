"""A page's column: as wide as one reads well, in the middle, scrolling when the window is low."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.theme import tokens
from app.widgets.labels import label


class CentredColumn(QScrollArea):
    """A column of at most ``width`` in the middle, scrolling when the window is low."""

    def __init__(self, width: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look = tokens()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        around = _Around()
        row = self._row = QHBoxLayout(around)
        row.setContentsMargins(look.xl, look.xl, look.xl, look.xl)
        self.verticalScrollBar().rangeChanged.connect(self._balance)
        inner = QWidget()
        inner.setMaximumWidth(width)
        self.column = QVBoxLayout(inner)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(look.m)
        row.addStretch(1)
        row.addWidget(inner, 1000)
        row.addStretch(1)
        self.setWidget(around)

    def _balance(self, lowest: int, highest: int) -> None:
        """The scroll bar takes its width from the margin: the column stays in the middle, and does not move."""
        margin = self._row.contentsMargins()
        bar = self.verticalScrollBar().sizeHint().width() if highest > lowest else 0
        margin.setRight(max(margin.left() - bar, 0))
        self._row.setContentsMargins(margin)


class _Around(QWidget):
    """Wrapped text is as high as it is at the width there is: Qt's own minimum counts with a far narrower column."""

    def minimumSizeHint(self) -> QSize:
        if self.hasHeightForWidth():
            return QSize(0, 0)
        return super().minimumSizeHint()


def section(text: str) -> QWidget:
    """A small heading between groups."""
    result = label(text, "section")
    result.setContentsMargins(0, tokens().m, 0, 0)
    return result
