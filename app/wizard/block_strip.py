"""The blocks of a model as a row of cells: done, being worked on, still to come. Painted."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import tokens

_MOST_CELLS = 160
"""More blocks than this share cells: below four pixels a cell is no longer one."""


class BlockStrip(QWidget):
    """``done`` of ``blocks`` are finished; the next one glows while ``is_working``."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._done = self._blocks = 0
        self._is_working = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_blocks(self, done: int, blocks: int, *, is_working: bool) -> None:
        self._done, self._blocks, self._is_working = done, blocks, is_working
        self.setAccessibleName(self.tr("{done} of {blocks} blocks").format(done=done, blocks=blocks))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, 20)

    def paintEvent(self, event: QPaintEvent) -> None:
        cells = min(self._blocks, _MOST_CELLS)
        if not cells:
            return
        look = tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(0, 0, 0, 0))
        gap = 2.0 if self.width() / cells > 5 else 1.0
        width = (self.width() - gap * (cells - 1)) / cells
        done = self._done * cells // self._blocks
        glow = QColor(look.accent)
        glow.setAlphaF(0.45)
        for cell in range(cells):
            is_next = cell == done and self._is_working
            painter.setBrush(QColor(look.accent) if cell < done else glow if is_next else QColor(look.pressed))
            painter.drawRoundedRect(QRectF(cell * (width + gap), 0, width, self.height()), 2, 2)
        painter.end()
