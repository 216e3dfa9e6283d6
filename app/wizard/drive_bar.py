"""The drive as a bar: what is taken, what this model adds, what stays free. Painted, with its figures in words."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import tokens
from engine.quantities import format_size


class DriveBar(QWidget):
    """Bytes. ``after`` is what stays there, ``peak`` the most there is while the model is prepared."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._total = self._free = self._peak = self._after = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_bytes(self, *, total: int, free: int, peak: int, after: int) -> None:
        self._total, self._free, self._peak, self._after = total, free, max(peak, 0), max(after, 0)
        self.setAccessibleName(
            self.tr("Drive: {free} free, {peak} more at the peak, {after} more afterwards").format(
                free=format_size(free), peak=format_size(peak), after=format_size(after)
            )
        )
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, 12)

    def paintEvent(self, event: QPaintEvent) -> None:
        look = tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        shape = QPainterPath()
        shape.addRoundedRect(QRectF(self.rect()), self.height() / 2, self.height() / 2)
        painter.setClipPath(shape)
        painter.fillRect(self.rect(), QColor(look.hover))
        if self._total:
            used = self._x(self._total - self._free)
            peak = max(self._x(self._total - self._free + self._peak) - used, 2 if self._peak else 0)
            after = max(self._x(self._total - self._free + self._after) - used, 2 if self._after else 0)
            painter.fillRect(QRectF(0, 0, used, self.height()), QColor(look.line_strong))
            faint = QColor(look.accent)
            faint.setAlphaF(0.4)
            painter.fillRect(QRectF(used, 0, peak, self.height()), faint)
            painter.fillRect(QRectF(used, 0, after, self.height()), QColor(look.accent))
        painter.end()

    def _x(self, nbytes: int) -> float:
        return self.width() * min(nbytes / self._total, 1.0)
