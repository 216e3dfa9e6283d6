"""How much of the model's context the conversation takes: a ring and two numbers."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.theme import tokens
from app.widgets.labels import label

_NEARLY_FULL = 0.85


class ContextMeter(QWidget):
    """Hidden while nothing is known."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        self._ring = _Ring()
        self._text = label("", "faint")
        row.addWidget(self._ring)
        row.addWidget(self._text)
        self.hide()

    def show_tokens(self, used: int | None, context: int | None) -> None:
        """``used`` None: unknown. ``context`` None: a model without a limit of its own."""
        if used is None:
            self.hide()
            return
        share = used / context if context else 0.0
        self._ring.setVisible(context is not None)
        self._ring.show_share(share)
        if context:
            self._text.setText(f"{short_count(used)} / {short_count(context)}")
            name = self.tr("{used} of {context} tokens of the context are used").format(used=used, context=context)
        else:
            self._text.setText(short_count(used))
            name = self.tr("The conversation has {used} tokens").format(used=used)
        self.setToolTip(name)
        self.setAccessibleName(name)
        self.show()


class _Ring(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self._share = 0.0
        self.setFixedSize(16, 16)

    def show_share(self, share: float) -> None:
        self._share = min(max(share, 0.0), 1.0)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(16, 16)

    def paintEvent(self, event: QPaintEvent) -> None:
        look = tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(2, 2, 12, 12)
        painter.setPen(QPen(QColor(look.pressed), 2.5))
        painter.drawEllipse(area)
        colour = look.warning if self._share >= _NEARLY_FULL else look.accent
        painter.setPen(QPen(QColor(colour), 2.5, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawArc(area, 90 * 16, -round(self._share * 360 * 16))
        painter.end()


def short_count(count: int) -> str:
    """``812``, ``4.1k``, ``131k``."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 10_000 else f"{count / 1000:.0f}k"
