"""The folders models are kept in: what each holds, how much room its drive has, and whether it is connected."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QMenu, QVBoxLayout, QWidget

from app.icons import icon
from app.theme import tokens
from app.user_folders import downloads
from app.widgets.buttons import button, icon_button
from app.widgets.column import section
from app.widgets.labels import ElidedLabel, IconLabel, label
from app.widgets.popups import button_menu
from engine.api import FolderReport
from engine.quantities import format_size


class FoldersView(QWidget):
    """Signals carry a folder's path. ``add_asked``: look for models there too; ``main_asked``: new ones go there."""

    add_asked = Signal(str)
    main_asked = Signal(str)
    forget_asked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look = tokens()
        self.rows: list[FolderRow] = []
        column = QVBoxLayout(self)
        column.setContentsMargins(0, look.m, 0, 0)
        column.setSpacing(look.s)
        column.addWidget(section(self.tr("Folders of models")))
        self._list = QVBoxLayout()
        self._list.setSpacing(0)
        column.addLayout(self._list)
        foot = QHBoxLayout()
        self.add = button(self.tr("Add a folder…"), "quiet", icon_name="plus")
        self.add.setToolTip(self.tr("A folder that holds models of Strata already, on another drive for example"))
        self.add.clicked.connect(self._ask_folder)
        foot.addWidget(self.add)
        foot.addStretch(1)
        column.addLayout(foot)

    def show_folders(self, folders: Sequence[FolderReport]) -> None:
        for row in self.rows:
            row.hide()
            row.deleteLater()
        self.rows = [self._row(folder) for folder in folders]
        for row in self.rows:
            self._list.addWidget(row)

    def _row(self, folder: FolderReport) -> FolderRow:
        row = FolderRow(folder)
        row.main_asked.connect(lambda: self.main_asked.emit(folder.path))
        row.forget_asked.connect(lambda: self.forget_asked.emit(folder.path))
        return row

    def _ask_folder(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, self.tr("A folder of models"), str(downloads()))
        if chosen:
            self.add_asked.emit(chosen)


class FolderRow(QWidget):
    main_asked = Signal()
    forget_asked = Signal()

    def __init__(self, folder: FolderReport) -> None:
        super().__init__()
        look = tokens()
        self.folder = folder
        row = QHBoxLayout(self)
        row.setContentsMargins(0, look.s, 0, look.s)
        row.setSpacing(look.m)
        mark = IconLabel("disk", colour="text_muted" if folder.is_connected else "text_faint")
        row.addWidget(mark, alignment=Qt.AlignmentFlag.AlignTop)
        texts = QVBoxLayout()
        texts.setSpacing(look.xs)
        head = QHBoxLayout()
        head.setSpacing(look.s)
        path = ElidedLabel(role="strong")
        path.mode = Qt.TextElideMode.ElideMiddle
        path.set_text(folder.path)
        head.addWidget(path, 1)
        texts.addLayout(head)
        facts = QHBoxLayout()
        facts.setSpacing(look.s)
        if folder.is_main:
            facts.addWidget(label(self.tr("New models go here"), "badge-muted"))
        if not folder.is_connected:
            facts.addWidget(label(self.tr("Not connected"), "badge-warning"))
        facts.addWidget(ElidedLabel(self._said(), "small"), 1)
        texts.addLayout(facts)
        row.addLayout(texts, 1)
        self.more = icon_button("more", self.tr("More for {folder}").format(folder=folder.path))
        menu = self._menu()
        self.more.setMenu(menu)
        self.more.setPopupMode(self.more.ToolButtonPopupMode.InstantPopup)
        self.more.setVisible(not menu.isEmpty())
        row.addWidget(self.more, alignment=Qt.AlignmentFlag.AlignTop)
        self.setAccessibleName(f"{folder.path}: {self._said()}")

    def _said(self) -> str:
        folder = self.folder
        models = self.tr("One model") if folder.models == 1 else self.tr("{count} models").format(count=folder.models)
        size = format_size(folder.nbytes)
        held = (
            self.tr("{models}, {size}").format(models=models, size=size) if folder.models else self.tr("No models yet")
        )
        if not folder.is_connected:
            return self.tr("{models} when it was last seen. Connect its drive to use them.").format(models=held)
        return self.tr("{models} · {free} of {total} free").format(
            models=held, free=format_size(folder.free_bytes), total=format_size(folder.total_bytes)
        )

    def _menu(self) -> QMenu:
        """Only what can be done now."""
        menu = button_menu(self)
        folder = self.folder
        if folder.is_connected and Path(folder.path).is_dir():
            open_it = menu.addAction(icon("folder-open"), self.tr("Open it"))
            open_it.triggered.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(folder.path)))
        if folder.is_connected and not folder.is_main:
            main = menu.addAction(icon("check"), self.tr("Put new models here"))
            main.triggered.connect(self.main_asked)
        if folder.can_be_forgotten:
            menu.addSeparator()
            forget = menu.addAction(icon("close"), self.tr("Take it off this list…"))
            forget.triggered.connect(self.forget_asked)
        return menu
