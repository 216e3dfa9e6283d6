"""Which folder a model goes to: one of the drives with its room and speed, or any other folder.

Owns the list and the choice. Must not know what the folder is chosen for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QFileDialog, QSizePolicy, QVBoxLayout, QWidget

from app.drive_texts import choice_text, free_words
from app.drive_watch import Drive
from app.icons import icon
from app.models_folder import free_on_drive
from app.theme import tokens
from app.widgets.labels import ElidedLabel
from app.widgets.popups import combo_box

_OTHER = "other"
"""In place of a folder, for the entry that asks for one."""


class DrivePicker(QWidget):
    """``chosen`` carries the folder, as a text. A drive on which nothing can be chosen is left out."""

    chosen = Signal(str)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._drives: Sequence[Drive] = ()
        self._left_out = ""
        self._folder = ""
        self.box = combo_box(name)
        self.box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.box.setMinimumContentsLength(24)
        self.box.activated.connect(self._take)
        self._place = ElidedLabel(role="small")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(tokens().xs)
        column.addWidget(self.box)
        column.addWidget(self._place)

    @property
    def folder(self) -> str:
        return self._folder

    @property
    def free_bytes(self) -> int | None:
        """On the drive of the chosen folder; None where it is gone, or nothing is chosen."""
        for drive in self._drives:
            if drive.report.folder == self._folder:
                return drive.report.free_bytes
        return free_on_drive(Path(self._folder)) if self._folder else None

    def leave_out(self, folder: str) -> None:
        """Where it is already."""
        self._left_out = folder

    def show_drives(self, drives: Sequence[Drive], folder: str) -> None:
        """``folder`` is the one in use; it has an entry of its own where it is none of the drives'."""
        self._drives = drives
        self._folder = folder
        self._fill()

    def set_changeable(self, is_changeable: bool) -> None:
        self.box.setEnabled(is_changeable)

    def say(self, text: str) -> None:
        """Below the choice, in place of the folder's path."""
        self._place.set_text(text)

    def _fill(self) -> None:
        offered = [
            drive for drive in self._drives if drive.report.is_writable and drive.report.folder != self._left_out
        ]
        self.box.clear()
        for drive in offered:
            self.box.addItem(icon("disk"), choice_text(drive), drive.report.folder)
        if self._folder and self._folder not in [drive.report.folder for drive in offered]:
            self.box.insertItem(0, icon("folder"), _folder_text(self._folder), self._folder)
        self.box.insertSeparator(self.box.count())
        self.box.addItem(icon("folder-open"), self.tr("Other folder…"), _OTHER)
        self.box.setCurrentIndex(self.box.findData(self._folder))
        self._place.set_text(self._folder)

    def _take(self, index: int) -> None:
        folder = str(self.box.itemData(index))
        if folder == _OTHER:
            folder = QFileDialog.getExistingDirectory(self, self.tr("The folder for this model"), self._folder)
        if folder and folder != self._folder:
            self._folder = folder
            self._fill()
            self.chosen.emit(folder)
        else:
            self.box.setCurrentIndex(self.box.findData(self._folder))


def _folder_text(folder: str) -> str:
    """The last part of a path says most; the whole of it stands below."""
    name = Path(folder).name or folder
    free = free_on_drive(Path(folder))
    return name if free is None else f"{name} · {free_words(free)}"
