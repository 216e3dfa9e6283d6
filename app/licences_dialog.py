"""The licences of everything an installed program carries: a list, and the text of the one that is chosen.

Owns the reading of the folder ``packaging/licences.py`` writes. Shows texts as they are, in the language they are in.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QDialog, QHBoxLayout, QListWidget, QPlainTextEdit, QVBoxLayout, QWidget

from app.theme import tokens
from app.widgets.buttons import button
from app.widgets.labels import paragraph

INDEX = "licences.json"


@dataclass(frozen=True, slots=True)
class Licence:
    """``files`` are names in the folder; ``licence`` is its name, ``page`` where the source is, "" where not known."""

    name: str
    version: str
    licence: str
    page: str
    files: tuple[str, ...]


def read_licences(folder: Path) -> list[Licence]:
    """Raises ``OSError``, ``ValueError`` or ``KeyError`` where the folder is not what an installer put there."""
    rows: list[dict[str, Any]] = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    return [
        Licence(row["name"], row["version"], row["licence"], row["page"], tuple(map(str, row["files"]))) for row in rows
    ]


def licence_text(folder: Path, licence: Licence) -> str:
    texts = [(folder / name).read_text(encoding="utf-8", errors="replace").strip() for name in licence.files]
    head = "\n".join(part for part in (f"{licence.name} {licence.version}", licence.licence, licence.page) if part)
    return "\n\n\n".join([head, *texts]) + "\n"


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
