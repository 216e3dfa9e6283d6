"""Under a growing answer: the strip of blocks, the line that says where it is, how long already, and Stop."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, QTimer, Signal
from PySide6.QtGui import QColor, QHideEvent, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.chat.live_progress import LiveProgress, Strip
from app.chat.part_views import PartView
from app.chat.parts import Part
from app.theme import tokens
from app.widgets.buttons import button
from app.widgets.labels import ElidedLabel, label, set_role

_REFRESH_MS = 250
_CELL_HEIGHT = 6
_WIDEST_CELL = 28
_RESIDENT_OPACITY = 0.55


class BlockStrip(QWidget):
    """A slim row of cells, one for each block of the model, filling as blocks arrive. Resident ones are quieter."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._strip = Strip()
        self.setAccessibleName(self.tr("Blocks of this pass"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(_CELL_HEIGHT)

    def show_strip(self, strip: Strip) -> None:
        if strip != self._strip:
            self._strip = strip
            self.setAccessibleDescription(
                self.tr("{done} of {count} blocks").format(done=strip.done, count=strip.count) if strip.count else ""
            )
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, _CELL_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(0, 0, 0, 0))
        if not self._strip.count:
            self._paint_bar(painter)
            painter.end()
            return
        step = min(self.width() / self._strip.count, _WIDEST_CELL)
        gap = 2.0 if step > 5 else 0.5 if step > 2 else 0.0
        for number in range(1, self._strip.count + 1):
            painter.setBrush(self._colour(number))
            cell = QRectF((number - 1) * step, 0, step - gap, _CELL_HEIGHT)
            painter.drawRoundedRect(cell, min(2.0, cell.width() / 2), 2)
        painter.end()

    def _paint_bar(self, painter: QPainter) -> None:
        look, radius = tokens(), _CELL_HEIGHT / 2
        painter.setBrush(QColor(look.hover))
        painter.drawRoundedRect(QRectF(self.rect()), radius, radius)
        if self._strip.share > 0:
            painter.setBrush(QColor(look.accent))
            filled = max(self.width() * min(self._strip.share, 1.0), 2 * radius)
            painter.drawRoundedRect(QRectF(0, 0, filled, _CELL_HEIGHT), radius, radius)

    def _colour(self, number: int) -> QColor:
        look = tokens()
        is_resident = number in self._strip.resident
        if number > self._strip.done:
            return QColor(look.accent_soft if is_resident else look.pressed)
        colour = QColor(look.accent)
        colour.setAlphaF(_RESIDENT_OPACITY if is_resident else 1.0)
        return colour


class LiveView(PartView):
    stop_asked = Signal()

    def __init__(self, parent: QWidget, progress: LiveProgress) -> None:
        super().__init__(parent)
        look = tokens()
        self.progress = progress
        self.strip = BlockStrip(self)
        self.line = ElidedLabel("", "small")
        self._elapsed = label("", "faint")
        self.stop = button(self.tr("Stop"), "quiet", icon_name="stop")
        self.stop.setToolTip(self.tr("Stop the answer (Esc)"))
        self.stop.clicked.connect(self.stop_asked)
        texts = QHBoxLayout()
        texts.setContentsMargins(0, 0, 0, 0)
        texts.setSpacing(look.m)
        texts.addWidget(self.line, 1)
        texts.addWidget(self._elapsed)
        left = QVBoxLayout()
        left.setContentsMargins(0, 0, 0, 0)
        left.setSpacing(6)
        left.addStretch(1)
        left.addWidget(self.strip)
        left.addLayout(texts)
        left.addStretch(1)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(look.m)
        row.addLayout(left, 1)
        row.addWidget(self.stop)
        self._timer = QTimer(self, interval=_REFRESH_MS)
        self._timer.timeout.connect(self.refresh)
        self.refresh()

    def set_part(self, part: Part) -> None:
        self.refresh()

    def height_for(self, width: int) -> int:
        return 52

    def refresh(self) -> None:
        set_role(self.line, "warning" if self.progress.is_stalled else "small")
        self.line.set_text(self.progress.line())
        self._elapsed.setText(self.progress.elapsed())
        self.strip.show_strip(self.progress.strip)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()
