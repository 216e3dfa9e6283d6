"""What this program is: its version, licence, and the free software it stands on."""

from __future__ import annotations

import platform
from pathlib import Path

import PySide6
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.icons import app_icon
from app.licences_dialog import LicencesDialog
from app.theme import tokens
from app.widgets.buttons import button
from app.widgets.labels import label, paragraph
from engine import __version__


class AboutDialog(QDialog):
    """``licences``: the folder an installer put them into, None in a checkout."""

    def __init__(self, parent: QWidget | None = None, *, licences: Path | None = None) -> None:
        super().__init__(parent)
        look = tokens()
        self.setWindowTitle(self.tr("About Strata"))
        self.setFixedWidth(480)
        column = QVBoxLayout(self)
        column.setContentsMargins(look.xl, look.xl, look.xl, look.l)
        column.setSpacing(look.m)
        head = QHBoxLayout()
        head.setSpacing(look.m)
        picture = QLabel()
        picture.setPixmap(app_icon().pixmap(64, 64))
        head.addWidget(picture)
        names = QVBoxLayout()
        names.setSpacing(look.xs)
        names.addWidget(label("Strata", "display"))
        names.addWidget(label(self.tr("Version {version}").format(version=__version__), "muted"))
        head.addLayout(names, 1)
        column.addLayout(head)
        column.addWidget(paragraph(self.tr("Chat with language models that are bigger than your computer's memory.")))
        column.addWidget(
            paragraph(
                self.tr(
                    "Everything happens on this computer. Strata sends nothing about you to anybody, does not start "
                    "with the computer and never updates itself."
                ),
                "muted",
            )
        )
        column.addWidget(
            paragraph(
                self.tr(
                    "Free software under the MIT licence. It stands on Qt and PySide (LGPL 3), PyTorch, Hugging Face "
                    "Transformers and many more; their licences come with the program."
                ),
                "muted",
            )
        )
        column.addWidget(
            label(f"Python {platform.python_version()} · Qt {PySide6.__version__} · {platform.system()}", "faint")
        )
        feet = QHBoxLayout()
        if licences is not None:
            self.licences = button(self.tr("Licences…"), "quiet")
            self.licences.clicked.connect(lambda: LicencesDialog(licences, self).open())
            feet.addWidget(self.licences)
        feet.addStretch(1)
        close = button(self.tr("Close"), "primary")
        close.setDefault(True)
        close.clicked.connect(self.accept)
        column.addSpacing(look.s)
        feet.addWidget(close)
        column.addLayout(feet)
        self.setFixedHeight(column.heightForWidth(self.width()))
