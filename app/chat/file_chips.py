"""The files that will go with a message: a chip each, with a button that takes it off."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.chat.flow_layout import FlowLayout
from app.conversations.records import Attachment
from app.theme import tokens
from app.widgets.buttons import icon_button
from app.widgets.labels import IconLabel, label


class FileChips(QWidget):
    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Attached files"))
        self._files: list[Attachment] = []
        self._row = FlowLayout(self, spacing=tokens().s)

    @property
    def files(self) -> tuple[Attachment, ...]:
        return tuple(self._files)

    def set_files(self, files: tuple[Attachment, ...]) -> None:
        self._files = list(files)
        self._draw()

    def add(self, file: Attachment) -> None:
        """One of the same name takes the place of the old one."""
        self._files = [each for each in self._files if each.name != file.name] + [file]
        self._draw()
        self.changed.emit()

    def remove(self, name: str) -> None:
        self._files = [each for each in self._files if each.name != name]
        self._draw()
        self.changed.emit()

    def _draw(self) -> None:
        self._row.clear()
        for each in self._files:
            self._row.addWidget(self._chip(each))
        self.setVisible(bool(self._files))

    def _chip(self, file: Attachment) -> QWidget:
        look = tokens()
        chip = QFrame()
        chip.setProperty("role", "chip")
        chip.setToolTip(self.tr("{name}, {count} characters").format(name=file.name, count=f"{len(file.text):,}"))
        row = QHBoxLayout(chip)
        row.setContentsMargins(look.s, 2, 2, 2)
        row.setSpacing(look.xs)
        row.addWidget(IconLabel("file", size=14))
        row.addWidget(label(file.name, "small"))
        off = icon_button("close", self.tr("Remove {name}").format(name=file.name), size=12)
        off.clicked.connect(lambda: self.remove(file.name))
        row.addWidget(off)
        return chip
