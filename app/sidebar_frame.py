"""The left side of the window: new chat, the list of chats, library and settings; or a narrow rail of icons.

Owns where these are and which is marked as open. Must not know chats: their list is a widget that is put in.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from app.icons import icon
from app.pages import PageName
from app.shortcuts import key_text, shortcut
from app.theme import tokens
from app.widgets.buttons import PressToolButton, icon_button
from app.widgets.labels import label, line

WIDE = 272
NARROW = 56


class SidebarFrame(QStackedWidget):
    """``page_chosen`` carries a page's name; ``new_chat_chosen`` and ``fold_chosen`` speak for themselves."""

    page_chosen = Signal(str)
    new_chat_chosen = Signal()
    fold_chosen = Signal()

    def __init__(self, chat_list: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "panel")
        self.setAccessibleName(self.tr("Sidebar"))
        self._page_buttons: list[tuple[PageName, QToolButton]] = []
        self.addWidget(self._wide(chat_list))
        self.addWidget(self._rail())
        self.set_folded(False)

    def is_folded(self) -> bool:
        return self.currentIndex() == 1

    def set_folded(self, is_folded: bool) -> None:
        self.setCurrentIndex(int(is_folded))
        self.setFixedWidth(NARROW if is_folded else WIDE)

    def mark(self, name: PageName) -> None:
        """Shows which page is open."""
        for each, button in self._page_buttons:
            button.setChecked(each is name)

    def _wide(self, chat_list: QWidget) -> QWidget:
        look = tokens()
        side = QWidget()
        column = QVBoxLayout(side)
        column.setContentsMargins(look.s, look.s, look.s, look.s)
        column.setSpacing(look.xs)
        head = QHBoxLayout()
        head.setContentsMargins(look.s, 0, 0, 0)
        head.addWidget(label("Strata", "title"), 1)
        head.addWidget(self._fold_button())
        column.addLayout(head)
        column.addSpacing(look.xs)
        new_chat = self._row("new-chat", self.tr("New chat"))
        new_chat.setToolTip(key_text(shortcut("new_chat")))
        new_chat.clicked.connect(self.new_chat_chosen)
        column.addWidget(new_chat)
        column.addWidget(chat_list, 1)
        column.addSpacing(look.xs)
        column.addWidget(line())
        column.addSpacing(look.xs)
        for name, icon_name, text in self._places():
            row = self._row(icon_name, text)
            self._wire_page(row, name)
            column.addWidget(row)
        return side

    def _rail(self) -> QWidget:
        look = tokens()
        rail = QWidget()
        column = QVBoxLayout(rail)
        column.setContentsMargins(look.s, look.s, look.s, look.s)
        column.setSpacing(look.xs)
        column.addWidget(self._fold_button(), alignment=Qt.AlignmentFlag.AlignHCenter)
        column.addSpacing(look.xs)
        new_chat = icon_button("new-chat", self.tr("New chat"))
        new_chat.clicked.connect(self.new_chat_chosen)
        column.addWidget(new_chat, alignment=Qt.AlignmentFlag.AlignHCenter)
        column.addStretch()
        for name, icon_name, text in self._places():
            place = icon_button(icon_name, text)
            self._wire_page(place, name)
            column.addWidget(place, alignment=Qt.AlignmentFlag.AlignHCenter)
        return rail

    def _places(self) -> tuple[tuple[PageName, str, str], ...]:
        return (
            (PageName.LIBRARY, "library", self.tr("Library")),
            (PageName.SETTINGS, "settings", self.tr("Settings")),
        )

    def _fold_button(self) -> QToolButton:
        fold = icon_button("sidebar", self.tr("Show or hide the sidebar"))
        fold.clicked.connect(self.fold_chosen)
        return fold

    def _row(self, icon_name: str, text: str) -> QToolButton:
        row = PressToolButton()
        row.setProperty("kind", "row")
        row.setIcon(icon(icon_name))
        row.setIconSize(QSize(tokens().icon, tokens().icon))
        row.setText(f"  {text}")
        row.setAccessibleName(text)
        row.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        row.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        row.setSizePolicy(row.sizePolicy().Policy.Expanding, row.sizePolicy().Policy.Fixed)
        return row

    def _wire_page(self, button: QToolButton, name: PageName) -> None:
        button.setCheckable(True)
        # Pressed again it stays marked: the page is still the open one.
        button.clicked.connect(lambda: (button.setChecked(True), self.page_chosen.emit(name.value)))
        self._page_buttons.append((name, button))
