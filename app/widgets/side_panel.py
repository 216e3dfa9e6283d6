"""A page with a panel at its right: beside it where there is room for both, over it where there is not."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget


class SidePanel(QWidget):
    """``panel`` has a fixed width and is shown and hidden by whoever likes. ``narrowest`` is the least ``page`` gets
    before the panel lies over it.
    """

    def __init__(self, page: QWidget, panel: QWidget, narrowest: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._page = page
        self._panel = panel
        self._narrowest = narrowest
        page.setParent(self)
        panel.setParent(self)
        panel.installEventFilter(self)

    def sizeHint(self) -> QSize:
        return self._page.sizeHint()

    def minimumSizeHint(self) -> QSize:
        return self._page.minimumSizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in {QEvent.Type.ShowToParent, QEvent.Type.HideToParent}:
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        panel_width = 0 if self._panel.isHidden() else self._panel.maximumWidth()
        beside = self.width() - panel_width
        self._page.setGeometry(0, 0, beside if beside >= self._narrowest else self.width(), self.height())
        self._panel.setGeometry(self.width() - self._panel.maximumWidth(), 0, self._panel.maximumWidth(), self.height())
        self._panel.raise_()
