"""A few large numbers in a row, each with what it means below."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.theme import tokens
from app.widgets.labels import label


class Figures(QWidget):
    """Replaced as a whole by ``show_figures``."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(tokens().l)

    def show_figures(self, figures: list[tuple[str, str]]) -> None:
        """(number, meaning) each."""
        while (item := self._row.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for number, meaning in figures:
            cell = QWidget()
            column = QVBoxLayout(cell)
            column.setContentsMargins(0, 0, 0, 0)
            column.setSpacing(2)
            figure = label(number, "heading")
            figure.setAccessibleName(f"{number} {meaning}")
            column.addWidget(figure)
            column.addWidget(label(meaning, "small"))
            self._row.addWidget(cell, 1)
