"""What to do when a conversation is longer than the model's context: the user chooses, nothing happens silently."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QRadioButton, QVBoxLayout, QWidget

from app.conversations.answers import without_thinking
from app.conversations.records import StoredMessage
from app.theme import tokens
from app.widgets.buttons import button
from app.widgets.labels import label, paragraph

_SUMMARY_OF_ONE = 280


class OverflowDialog(QDialog):
    """``drop_chosen``, or ``fresh_chosen`` with the summary as the user left it."""

    drop_chosen = Signal()
    fresh_chosen = Signal(str)

    def __init__(self, need: int, have: int, messages: Sequence[StoredMessage], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look = tokens()
        self.setWindowTitle(self.tr("The conversation is too long for this model"))
        self.setMinimumWidth(560)
        self.drop = QRadioButton(self.tr("Leave out the oldest half of what came before"))
        self.fresh = QRadioButton(self.tr("Start a new chat with a summary"))
        self.drop.setChecked(True)
        self.summary = QPlainTextEdit(summary_of(messages))
        self.summary.setAccessibleName(self.tr("Summary for the new chat"))
        self.summary.setMinimumHeight(180)
        self.summary.setEnabled(False)
        self.fresh.toggled.connect(self.summary.setEnabled)
        cancel = button(self.tr("Not now"))
        accept = button(self.tr("Continue"), "primary")
        accept.setDefault(True)
        cancel.clicked.connect(self.reject)
        accept.clicked.connect(self._decide)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(cancel)
        buttons.addWidget(accept)
        column = QVBoxLayout(self)
        column.setContentsMargins(look.l, look.l, look.l, look.l)
        column.setSpacing(look.s + look.xs)
        column.addWidget(label(self.tr("The conversation is too long for this model"), "title"))
        column.addWidget(
            paragraph(
                self.tr("It needs {need} tokens; the model holds {have}.").format(need=f"{need:,}", have=f"{have:,}"),
                "muted",
            )
        )
        column.addWidget(self.drop)
        column.addWidget(
            paragraph(self.tr("You can still read all of it here; the model no longer sees that part."), "small")
        )
        column.addWidget(self.fresh)
        column.addWidget(paragraph(self.tr("Edit it as you like: the model will know only this."), "small"))
        column.addWidget(self.summary, 1)
        column.addSpacing(look.s)
        column.addLayout(buttons)

    def _decide(self) -> None:
        self.accept()
        if self.fresh.isChecked():
            self.fresh_chosen.emit(self.summary.toPlainText())
        else:
            self.drop_chosen.emit()


def summary_of(messages: Sequence[StoredMessage]) -> str:
    """The beginning of everything that was said, but the last question: something to cut down, not to write anew."""
    lines: list[str] = []
    for each in messages:
        text = " ".join(without_thinking(each.text).split())
        if text:
            short = text if len(text) <= _SUMMARY_OF_ONE else f"{text[:_SUMMARY_OF_ONE]}…"
            lines.append(f"{'–' if each.role == 'user' else '→'} {short}")
    return "\n".join(lines)
