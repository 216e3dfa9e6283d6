"""The window: a sidebar, one page at a time, and one bar for what concerns the whole program.

Owns navigation, the keys that work everywhere, and what closing means. Must not know what is on a page.
"""

from __future__ import annotations

import logging
from typing import cast

from PySide6.QtCore import QByteArray, QSettings, Qt, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QMainWindow, QStackedWidget, QVBoxLayout, QWidget

from app.bundle import bundle
from app.pages import ChatList, Chats, Page, PageName, PageSet, ProgramPage, Wizard
from app.services import Services
from app.settings import FONT_SCALE, SETUP_FINISHED
from app.shortcuts import add_action
from app.sidebar_frame import SidebarFrame
from app.tokens import FONT_SCALES
from app.widgets.notice_bar import NoticeBar, NoticeRow

_log = logging.getLogger(__name__)

_SMALLEST = (760, 520)
_USUAL = (1180, 780)


class MainWindow(QMainWindow):
    """``close_requested`` instead of closing: ``app.main`` decides whether that hides the window or quits."""

    close_requested = Signal()
    quit_requested = Signal()
    restart_requested = Signal()

    def __init__(self, services: Services, page_set: PageSet) -> None:
        super().__init__()
        self._services = services
        self._page_set = page_set
        self._pages: dict[PageName, QWidget] = {}
        self._shown: PageName | None = None
        self._may_close = False
        self.setWindowTitle("Strata")
        self.setMinimumSize(*_SMALLEST)
        chat_list = page_set.sidebar(services)
        self._chat_list = cast(ChatList, chat_list)
        self._chat_list.navigate.connect(self.go)
        self.sidebar = SidebarFrame(chat_list)
        self.sidebar.page_chosen.connect(self.go)
        self.sidebar.new_chat_chosen.connect(self.new_chat)
        self.sidebar.fold_chosen.connect(self.toggle_sidebar)
        self._stack = QStackedWidget()
        self.notice = NoticeBar()
        self._lay_out()
        self._add_actions()
        self._restore_place()

    def go(self, target: str) -> None:
        """A page's name, ``chat:<conversation id>`` or ``wizard:<a model's file>``."""
        place, _, detail = target.partition(":")
        name = PageName(place)
        if self._shown is PageName.WIZARD and name is PageName.CHAT:
            self._services.settings.set(SETUP_FINISHED, True)
        page = self._page(name)
        self._stack.setCurrentWidget(page)
        self._shown = name
        self.sidebar.mark(name)
        self.sidebar.setVisible(name is not PageName.WIZARD or self._services.settings.value(SETUP_FINISHED))
        cast(Page, page).open()
        if detail and name is PageName.CHAT:
            cast(Chats, page).open_conversation(detail)
        elif detail:
            cast(Wizard, page).open_file(detail)
        self._show_title()

    def new_chat(self) -> None:
        self.go(PageName.CHAT)
        cast(Chats, self._page(PageName.CHAT)).new_chat()
        self._show_title()

    def search_chats(self) -> None:
        self.sidebar.set_folded(False)
        self._chat_list.focus_search()

    def toggle_sidebar(self) -> None:
        self.sidebar.set_folded(not self.sidebar.is_folded())

    def show_shortcuts(self) -> None:
        from app.shortcuts_dialog import ShortcutsDialog

        _open(ShortcutsDialog(self))

    def show_about(self) -> None:
        from app.about_dialog import AboutDialog

        shipped = bundle()
        _open(AboutDialog(self, licences=shipped.licences_dir if shipped else None))

    def shown_page(self) -> PageName | None:
        return self._shown

    def bring_to_front(self) -> None:
        """From the tray, a notice, or a second start."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def close_for_good(self) -> None:
        self._may_close = True
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        self._keep_place()
        if self._may_close:
            event.accept()
        else:
            event.ignore()
            self.close_requested.emit()

    def _page(self, name: PageName) -> QWidget:
        if name not in self._pages:
            page = self._page_set.pages[name](self._services)
            cast(Page, page).navigate.connect(self.go)
            if name is PageName.SETTINGS:
                self._wire_settings(cast(ProgramPage, page))
            if name is PageName.CHAT:
                cast(Chats, page).title_changed.connect(self._show_title)
            self._pages[name] = page
            self._stack.addWidget(page)
        return self._pages[name]

    def _show_title(self) -> None:
        if self._shown is not None:
            self.setWindowTitle(self.tr("{page} – Strata").format(page=cast(Page, self._pages[self._shown]).title))

    def _wire_settings(self, page: ProgramPage) -> None:
        page.restart_requested.connect(self.restart_requested)
        page.shortcuts_requested.connect(self.show_shortcuts)
        page.about_requested.connect(self.show_about)

    def _lay_out(self) -> None:
        centre = QVBoxLayout()
        centre.setContentsMargins(0, 0, 0, 0)
        centre.setSpacing(0)
        centre.addWidget(NoticeRow(self.notice))
        centre.addWidget(self._stack, 1)
        whole = QWidget()
        row = QHBoxLayout(whole)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.sidebar)
        row.addLayout(centre, 1)
        self.setCentralWidget(whole)

    def _add_actions(self) -> None:
        add_action(self, "new_chat", self.new_chat)
        add_action(self, "search_chats", self.search_chats)
        add_action(self, "sidebar", self.toggle_sidebar)
        add_action(self, "settings", lambda: self.go(PageName.SETTINGS))
        add_action(self, "zoom_in", lambda: self._zoom(1))
        add_action(self, "zoom_out", lambda: self._zoom(-1))
        add_action(self, "zoom_reset", lambda: self._services.settings.reset(FONT_SCALE))
        add_action(self, "shortcuts", self.show_shortcuts)
        add_action(self, "quit", self.quit_requested.emit)

    def _zoom(self, steps: int) -> None:
        settings = self._services.settings
        index = FONT_SCALES.index(settings.value(FONT_SCALE)) + steps
        settings.set(FONT_SCALE, FONT_SCALES[min(max(index, 0), len(FONT_SCALES) - 1)])

    def _restore_place(self) -> None:
        kept = QSettings(str(self._services.paths.window_file), QSettings.Format.IniFormat)
        geometry = kept.value("geometry")
        if not (isinstance(geometry, QByteArray) and self.restoreGeometry(geometry)):
            self.resize(*_USUAL)
        self.sidebar.set_folded(kept.value("sidebar") == "folded")

    def _keep_place(self) -> None:
        kept = QSettings(str(self._services.paths.window_file), QSettings.Format.IniFormat)
        kept.setValue("geometry", self.saveGeometry())
        kept.setValue("sidebar", "folded" if self.sidebar.is_folded() else "wide")


def _open(dialog: QDialog) -> None:
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
