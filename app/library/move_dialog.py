"""Where a model is to be moved: a drive or a folder with its room, before anything is copied."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QVBoxLayout, QWidget

from app.drive_picker import DrivePicker
from app.drive_watch import DriveWatch
from app.library.shelf import ShelfModel
from app.theme import tokens
from app.verdicts import disk_verdict
from app.widgets.buttons import button
from app.widgets.labels import label, paragraph, set_role
from engine.quantities import format_size

_WIDTH = 560


class MoveDialog(QDialog):
    """Accepted with ``folder`` set. ``floor_bytes`` of the drive stay free."""

    def __init__(
        self, model: ShelfModel, drives: DriveWatch, *, floor_bytes: int, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        look = tokens()
        self._model = model
        self._drives = drives
        self._floor = floor_bytes
        self._here = str(Path(model.info.path).parent)
        title = self.tr("Move {title}").format(title=model.short)
        self.setWindowTitle(title)
        self.setFixedWidth(_WIDTH)
        self.place = DrivePicker(self.tr("Where to"))
        self.place.leave_out(self._here)
        self.place.chosen.connect(self._show_room)
        self._room = paragraph("", "muted")
        self.move_button = button(self.tr("Move"), "primary", icon_name="move")
        self.move_button.clicked.connect(self.accept)
        cancel = button(self.tr("Leave it here"))
        cancel.clicked.connect(self.reject)
        column = self._column = QVBoxLayout(self)
        column.setContentsMargins(look.l, look.l, look.l, look.m)
        column.setSpacing(look.m)
        heading = label(title, "title")
        heading.setWordWrap(True)
        column.addWidget(heading)
        column.addWidget(
            paragraph(
                self.tr(
                    "It takes {size} and is in {folder} now. Every file is copied, read back and compared; only then "
                    "the old one is removed. You can pause it, close Strata, or go on chatting meanwhile."
                ).format(size=format_size(model.info.nbytes), folder=self._here),
                "muted",
            )
        )
        column.addWidget(self.place)
        column.addWidget(self._room)
        foot = QHBoxLayout()
        foot.setContentsMargins(0, look.s, 0, 0)
        foot.setSpacing(look.s)
        foot.addStretch(1)
        foot.addWidget(cancel)
        foot.addWidget(self.move_button)
        column.addLayout(foot)
        drives.changed.connect(self._show_drives)
        self._show_drives()
        self.place.box.setFocus()

    @property
    def folder(self) -> Path:
        return Path(self.place.folder)

    @Slot()
    def _show_drives(self) -> None:
        """The first drive it is not on yet is a good guess; the user's own choice stays."""
        drives = self._drives.drives
        others = [
            drive.report.folder
            for drive in drives
            if drive.report.is_writable and not self._is_here(drive.report.folder)
        ]
        self.place.show_drives(drives, self.place.folder or next(iter(others), ""))
        self._show_room()

    def _is_here(self, folder: str) -> bool:
        return Path(folder) == Path(self._here)

    @Slot()
    def _show_room(self) -> None:
        folder = self.place.folder
        free = self.place.free_bytes
        missing = disk_verdict(self._model.info.nbytes, free, self._floor) if free is not None else None
        self.move_button.setEnabled(bool(folder) and free is not None and missing is None and not self._is_here(folder))
        if not folder:
            text = self.tr("There is no other drive it could go to. Choose another folder.")
        elif self._is_here(folder):
            text = self.tr("It is there already.")
        elif free is None:
            text = self.tr("This drive is not connected.")
        else:
            left = format_size(free - self._model.info.nbytes)
            text = missing or self.tr("{left} stay free there.").format(left=left)
        self._room.setText(text)
        set_role(self._room, "warning" if missing else "muted")
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def _fit(self) -> None:
        """As high as its wrapped texts are at its width."""
        self._column.invalidate()
        self.setFixedHeight(self._column.heightForWidth(_WIDTH))
