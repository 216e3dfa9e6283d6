"""Text with a role: headings, muted lines, badges, keys. The style sheet decides how each looks."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QWidget

from app.icons import pixmap


def label(text: str, role: str = "", *, parent: QWidget | None = None) -> QLabel:
    """One line. ``role`` as listed in ``app.stylesheet``."""
    result = QLabel(text, parent)
    result.setTextFormat(Qt.TextFormat.PlainText)
    if role:
        result.setProperty("role", role)
    return result


def paragraph(text: str, role: str = "", *, parent: QWidget | None = None) -> QLabel:
    """Wraps, and can be selected with the mouse."""
    result = label(text, role, parent=parent)
    result.setWordWrap(True)
    result.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    result.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
    return result


def set_role(widget: QWidget, role: str) -> None:
    """Changes the role of a widget that is already shown."""
    if widget.property("role") == role:
        return
    widget.setProperty("role", role)
    widget.style().unpolish(widget)
    widget.style().polish(widget)


def line(parent: QWidget | None = None) -> QFrame:
    """A hairline across."""
    result = QFrame(parent)
    result.setProperty("role", "line")
    return result


class ElidedLabel(QLabel):
    """One line that ends in an ellipsis where there is no room; the whole text is its tooltip and accessible name."""

    def __init__(self, text: str = "", role: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._whole = ""
        self.mode = Qt.TextElideMode.ElideRight
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        if role:
            self.setProperty("role", role)
        self.set_text(text)

    def set_text(self, text: str) -> None:
        self._whole = text
        self.setAccessibleName(text)
        self._elide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        shown = self.fontMetrics().elidedText(self._whole, self.mode, max(self.width(), 0))
        self.setText(shown)
        self.setToolTip(self._whole if shown != self._whole else "")


class IconLabel(QLabel):
    """An icon that is decoration: it follows the theme and is silent to a screen reader."""

    def __init__(self, name: str, *, size: int = 18, colour: str = "text_muted", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._size = size
        self._colour = colour
        self.setFixedSize(size, size)
        self._draw()

    def set_icon(self, name: str, colour: str) -> None:
        self._name, self._colour = name, colour
        self._draw()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._draw()

    def _draw(self) -> None:
        self.setPixmap(pixmap(self._name, self._size, colour=self._colour, ratio=self.devicePixelRatioF()))
