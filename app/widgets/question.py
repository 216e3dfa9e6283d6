"""Questions: with two answers, of which Escape and Enter both take the harmless one; and for a name."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.theme import tokens
from app.widgets.buttons import button
from app.widgets.labels import label, paragraph


class QuestionDialog(QDialog):
    """Accepted for ``yes``, rejected for ``no``. ``yes_kind`` danger where something is lost."""

    def __init__(
        self, title: str, text: str, *, yes: str, no: str, yes_kind: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.yes = button(yes, yes_kind)
        self.no = button(no, "primary" if not yes_kind else "")
        self.yes.clicked.connect(self.accept)
        self.no.clicked.connect(self.reject)
        self.no.setDefault(True)
        _lay_out(self, title, text, (), (self.yes, self.no))
        self.no.setFocus()


class NameDialog(QDialog):
    """``named`` carries what was typed, never nothing. ``name`` stands there at first."""

    named = Signal(str)

    def __init__(self, title: str, text: str, *, name: str, yes: str, no: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.field = QLineEdit(name)
        self.field.setAccessibleName(self.tr("Name"))
        self.field.setPlaceholderText(self.tr("Name"))
        self.field.selectAll()
        self.yes = button(yes, "primary")
        no_button = button(no)
        self.yes.clicked.connect(self.accept)
        no_button.clicked.connect(self.reject)
        self.yes.setDefault(True)
        self.field.textChanged.connect(self._look)
        self.accepted.connect(lambda: self.named.emit(self.field.text().strip()))
        _lay_out(self, title, text, (self.field,), (no_button, self.yes))
        self._look()
        self.field.setFocus()

    def _look(self) -> None:
        self.yes.setEnabled(bool(self.field.text().strip()))


def _lay_out(
    dialog: QDialog, title: str, text: str, fields: tuple[QWidget, ...], buttons: tuple[QPushButton, ...]
) -> None:
    look = tokens()
    dialog.setWindowTitle(title)
    dialog.setFixedWidth(440)
    column = QVBoxLayout(dialog)
    column.setContentsMargins(look.l, look.l, look.l, look.m)
    column.setSpacing(look.s)
    heading = label(title, "title")
    heading.setWordWrap(True)
    heading.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
    column.addWidget(heading)
    column.addWidget(paragraph(text, "muted"))
    for each in fields:
        column.addSpacing(look.xs)
        column.addWidget(each)
    column.addSpacing(look.m)
    row = QHBoxLayout()
    row.setSpacing(look.s)
    row.addStretch()
    for each in buttons:
        row.addWidget(each)
    column.addLayout(row)
    dialog.setFixedHeight(column.heightForWidth(dialog.width()))
