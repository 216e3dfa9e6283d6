"""Why Strata cannot start: one sentence, the next step, and a way to try it again. Before there is a window.

Owns the dialog. Must not know what was being opened.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QShowEvent
from PySide6.QtWidgets import QApplication, QDialog, QHBoxLayout, QVBoxLayout

from app.engine_texts import shown_text
from app.theme import Theme, tokens
from app.widgets.buttons import button
from app.widgets.labels import IconLabel, label, paragraph
from engine.errors import EngineError

StartError = EngineError | sqlite3.Error | OSError

_WIDTH = 520


def is_tried_again(error: StartError, data_dir: Path) -> bool:
    """Asks, and waits. Whatever was to choose the look is not there yet."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    Theme().apply(app)
    return StartFailureDialog(error, data_dir).exec() == StartFailureDialog.DialogCode.Accepted


class StartFailureDialog(QDialog):
    """Accepted to try again, rejected to quit. ``data_dir`` is the folder everything is kept in."""

    def __init__(self, error: StartError, data_dir: Path) -> None:
        super().__init__()
        look = tokens()
        title = self.tr("Strata cannot start")
        self.setWindowTitle(title)
        self.setFixedWidth(_WIDTH)
        message, next_step, detail = self._words(error, data_dir)
        column = self._column = QVBoxLayout(self)
        column.setContentsMargins(look.l, look.l, look.l, look.m)
        column.setSpacing(look.m)
        head = QHBoxLayout()
        head.setSpacing(look.s + look.xs)
        head.addWidget(IconLabel("error", size=24, colour="danger"))
        heading = label(title, "heading")
        heading.setWordWrap(True)
        head.addWidget(heading, 1)
        column.addLayout(head)
        self.message = paragraph(message, "strong")
        self.next_step = paragraph(next_step)
        self.detail = paragraph(detail, "mono")
        self.detail.hide()
        self.fold = button(self.tr("Details"), "link")
        self.fold.clicked.connect(self._toggle_detail)
        for each in (self.message, self.next_step, paragraph(self.tr("Your chats and models are untouched."), "muted")):
            column.addWidget(each)
        column.addWidget(self.fold, alignment=Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self.detail)
        column.addLayout(self._buttons(data_dir))
        self.again.setFocus()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def _toggle_detail(self) -> None:
        self.detail.setVisible(self.detail.isHidden())
        self._fit()

    def _fit(self) -> None:
        """As high as its wrapped texts are at its width."""
        self._column.invalidate()
        self.setFixedHeight(self._column.heightForWidth(_WIDTH))

    def _words(self, error: StartError, data_dir: Path) -> tuple[str, str, str]:
        """The sentence, the next step, and what a report needs."""
        if isinstance(error, EngineError):
            return shown_text(error.message), shown_text(error.next_step), error.detail or repr(error)
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        return (
            self.tr("The folder {folder} cannot be used: {reason}.").format(folder=data_dir, reason=reason),
            self.tr("Check that its drive is connected and not full, and that you may write there. Then try again."),
            repr(error),
        )

    def _buttons(self, data_dir: Path) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(tokens().s)
        folder = button(self.tr("Open the folder"), "quiet", icon_name="folder-open")
        place = next(place for place in (data_dir, *data_dir.parents) if place.is_dir())
        folder.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(place))))
        leave = button(self.tr("Quit"))
        leave.clicked.connect(self.reject)
        self.again = button(self.tr("Try again"), "primary", icon_name="refresh")
        self.again.setDefault(True)
        self.again.clicked.connect(self.accept)
        row.addWidget(folder)
        row.addStretch(1)
        row.addWidget(leave)
        row.addWidget(self.again)
        return row
