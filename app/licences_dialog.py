"""The licences of everything an installed program carries: a list, and the text of the one that is chosen.

Shows texts as they are, in the language they are in. What is in the folder is ``app.licences``' matter.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QDialog, QHBoxLayout, QListWidget, QPlainTextEdit, QVBoxLayout, QWidget

from app.licences import licence_text, read_licences
from app.theme import tokens
from app.widgets.buttons import button
from app.widgets.labels import paragraph


class LicencesDialog(QDialog):
    def __init__(self, folder: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look = tokens()
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Licences"))
        self.resize(820, 560)
        self._folder = folder
        self._licences = read_licences(folder)
        column = QVBoxLayout(self)
        column.setContentsMargins(look.l, look.l, look.l, look.l)
        column.setSpacing(look.m)
        column.addWidget(paragraph(self.tr("Strata carries this free software, each under its own licence."), "muted"))
        row = QHBoxLayout()
        row.setSpacing(look.m)
        self.names = QListWidget()
        self.names.setAccessibleName(self.tr("Software"))
        self.names.setFixedWidth(240)
        self.names.addItems([f"{each.name} {each.version}".strip() for each in self._licences])
        row.addWidget(self.names)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setAccessibleName(self.tr("Text of the licence"))
        self.text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        row.addWidget(self.text, 1)
        column.addLayout(row, 1)
        close = button(self.tr("Close"), "primary")
        close.clicked.connect(self.accept)
        column.addWidget(close, alignment=Qt.AlignmentFlag.AlignRight)
        self.names.currentRowChanged.connect(self._show)
        self.names.setCurrentRow(0)

    def _show(self, row: int) -> None:
        self.text.setPlainText(licence_text(self._folder, self._licences[row]))
