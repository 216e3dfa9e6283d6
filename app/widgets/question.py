"""A question with two answers, the harmless one first in reach: Escape and Enter both take it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QVBoxLayout, QWidget

from app.theme import tokens
from app.widgets.buttons import button
from app.widgets.labels import label, paragraph


class QuestionDialog(QDialog):
    """Accepted for ``yes``, rejected for ``no``. ``yes_kind`` danger where something is lost."""

    def __init__(
        self, title: str, text: str, *, yes: str, no: str, yes_kind: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        look = tokens()
        self.setWindowTitle(title)
        self.setFixedWidth(440)
        column = QVBoxLayout(self)
        column.setContentsMargins(look.l, look.l, look.l, look.m)
        column.setSpacing(look.s)
        heading = label(title, "title")
        heading.setWordWrap(True)
        heading.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        column.addWidget(heading)
        column.addWidget(paragraph(text, "muted"))
        column.addSpacing(look.m)
        row = QHBoxLayout()
        row.setSpacing(look.s)
        row.addStretch()
        self.yes = button(yes, yes_kind)
        self.no = button(no, "primary" if not yes_kind else "")
        self.yes.clicked.connect(self.accept)
        self.no.clicked.connect(self.reject)
        self.no.setDefault(True)
        row.addWidget(self.yes)
        row.addWidget(self.no)
        column.addLayout(row)
        self.setFixedHeight(column.heightForWidth(self.width()))
        self.no.setFocus()
