"""The icon near the clock while the window is closed and work goes on, and the notices when something is done.

Owns the icon, its menu and what a click on a notice opens. Must not know what the work is: ``app.work`` says it.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from app.icons import app_icon
from app.work import Work


class Tray(QObject):
    """``opened`` carries where to go, nothing for just the window."""

    opened = Signal(str)
    quit_requested = Signal()

    def __init__(self, work: Work, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._work = work
        self._target = ""
        self._stays = False
        self._icon = QSystemTrayIcon(app_icon(), self)
        self._menu = QMenu()
        self._sentence = QAction(self)
        self._sentence.setEnabled(False)
        self._menu.addAction(self._sentence)
        self._menu.addSeparator()
        self._menu.addAction(self.tr("Open Strata"), lambda: self.opened.emit(""))
        self._menu.addAction(self.tr("Quit Strata"), self.quit_requested.emit)
        self._icon.setContextMenu(self._menu)
        self._icon.activated.connect(self._take_click)
        self._icon.messageClicked.connect(lambda: self.opened.emit(self._target))
        work.changed.connect(self._follow)

    @staticmethod
    def is_available() -> bool:
        return QSystemTrayIcon.isSystemTrayAvailable()

    def is_shown(self) -> bool:
        return self._icon.isVisible()

    def tooltip(self) -> str:
        return self._icon.toolTip()

    def stay(self) -> None:
        """The window was closed; the icon takes its place."""
        self._stays = True
        self._follow()
        self._icon.show()

    def leave(self) -> None:
        """The window is there again."""
        self._stays = False
        self._icon.hide()

    def notify(self, title: str, text: str, target: str) -> None:
        """One notice of the system. ``target`` is where a click on it goes."""
        if not QSystemTrayIcon.supportsMessages():
            return
        self._target = target
        # A notice needs the icon to be there; without the window it stays.
        self._icon.show()
        self._icon.showMessage(title, text, app_icon(), 10_000)

    def _follow(self) -> None:
        if not self._icon.isVisible() and not self._stays:
            return
        sentence = self._work.sentence() or self.tr("Nothing is under way")
        self._icon.setToolTip(f"Strata\n{sentence}")
        self._sentence.setText(sentence)

    def _take_click(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason is not QSystemTrayIcon.ActivationReason.Context:
            self.opened.emit("")
