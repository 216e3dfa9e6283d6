"""What to do when a conversation is longer than the model's context: the user chooses, nothing happens silently."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QRadioButton, QVBoxLayout, QWidget

from app.conversations.answers import without_thinking
from app.conversations.records import StoredMessage
from app.theme import tokens
from app.verdicts import duration_text
from app.widgets.buttons import button
from app.widgets.labels import label, paragraph
from engine.api import ModelPlan
from engine.quantities import format_size

_SUMMARY_OF_ONE = 280
_ANSWER_TOKENS = 2048


class OverflowDialog(QDialog):
    """``drop_chosen``, ``fresh_chosen`` with the summary as the user left it, or ``larger_chosen`` with the tokens.

    More room is offered once it is known what that costs.
    """

    drop_chosen = Signal()
    larger_chosen = Signal(int)
    fresh_chosen = Signal(str)

    def __init__(self, need: int, have: int, messages: Sequence[StoredMessage], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look = tokens()
        self.setWindowTitle(self.tr("The conversation is too long for this model"))
        self.setMinimumWidth(560)
        self.drop = QRadioButton(self.tr("Leave out the oldest half of what came before"))
        self.fresh = QRadioButton(self.tr("Start a new chat with a summary"))
        self.larger = QRadioButton()
        self._larger_price = paragraph("", "small")
        self._larger_tokens = 0
        self.larger.hide()
        self._larger_price.hide()
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
                self.tr("It needs {need} tokens; there is room for {have}.").format(need=f"{need:,}", have=f"{have:,}"),
                "muted",
            )
        )
        column.addWidget(self.drop)
        column.addWidget(
            paragraph(self.tr("You can still read all of it here; the model no longer sees that part."), "small")
        )
        column.addWidget(self.larger)
        column.addWidget(self._larger_price)
        column.addWidget(self.fresh)
        column.addWidget(paragraph(self.tr("Edit it as you like: the model will know only this."), "small"))
        column.addWidget(self.summary, 1)
        column.addSpacing(look.s)
        column.addLayout(buttons)

    def offer_larger(self, plan: ModelPlan) -> None:
        """What the model would need with the context of ``plan``."""
        self._larger_tokens = plan.context
        self.larger.setText(self.tr("Make room for {tokens} tokens").format(tokens=f"{plan.context:,}"))
        size = format_size(plan.cache_bytes)
        if plan.predicted_s_per_token is None:
            text = self.tr(
                "Keeps {size} of memory free for the conversation, so less of the model stays in memory. "
                "It is loaded anew, which takes a moment."
            ).format(size=size)
        else:
            text = self.tr(
                "Keeps {size} of memory free for the conversation, so less of the model stays in memory: a token then "
                "takes about {duration}. It is loaded anew, which takes a moment."
            ).format(size=size, duration=duration_text(plan.predicted_s_per_token))
        self._larger_price.setText(text)
        self.larger.show()
        self._larger_price.show()

    def _decide(self) -> None:
        self.accept()
        if self.fresh.isChecked():
            self.fresh_chosen.emit(self.summary.toPlainText())
        elif self.larger.isChecked():
            self.larger_chosen.emit(self._larger_tokens)
        else:
            self.drop_chosen.emit()


def larger_context(need: int, have: int, limit: int | None) -> int | None:
    """Tokens that hold the conversation and an answer, in whole thousands; None where the model's own limit is less."""
    wanted = -(-(need + _ANSWER_TOKENS) // 1024) * 1024
    if limit is not None:
        wanted = min(wanted, limit)
    return wanted if wanted > max(need, have) else None


def summary_of(messages: Sequence[StoredMessage]) -> str:
    """The beginning of everything that was said, but the last question: something to cut down, not to write anew."""
    lines: list[str] = []
    for each in messages:
        text = " ".join(without_thinking(each.text).split())
        if text:
            short = text if len(text) <= _SUMMARY_OF_ONE else f"{text[:_SUMMARY_OF_ONE]}…"
            lines.append(f"{'–' if each.role == 'user' else '→'} {short}")
    return "\n".join(lines)
