"""The first thing a new user sees: what this is, in four sentences, and two ways on."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.theme import tokens
from app.widgets.buttons import button
from app.widgets.labels import IconLabel, label, paragraph
from app.wizard.step_view import StepView


class WelcomeStep(StepView):
    """``starter_asked``: chat at once with the model that comes with the program."""

    starter_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("", "", has_back=False, parent=parent)
        look = tokens()
        self.heading.setText(self.tr("Chat with models bigger than your computer"))
        self.text.setText(
            self.tr(
                "Strata keeps a model on your drive, cut into blocks, and reads each block just before it is needed. "
                "Large models answer slowly that way, but they answer, and you always see how long it will take."
            )
        )
        self.column.insertSpacing(0, look.xxl)
        facts = (
            (
                "lock",
                self.tr("Everything stays here"),
                self.tr("Your chats and your models never leave this computer. Nothing is sent, nothing is counted."),
            ),
            (
                "clock",
                self.tr("Time is said before"),
                self.tr("Seconds for every token on this very computer, before you decide on a model."),
            ),
            (
                "success",
                self.tr("Nothing is lost"),
                self.tr("Close the window at any point, even now: Strata goes on where it was."),
            ),
        )
        for icon_name, title, text in facts:
            self.column.addLayout(_fact(icon_name, title, text))
        self.column.addStretch(1)
        self.set_forward(self.tr("Set up"))
        self.starter = button(self.tr("Chat now with the small starter model"), "quiet", icon_name="chat")
        self.starter.clicked.connect(self.starter_asked)
        self.foot.insertWidget(2, self.starter)


def _fact(icon_name: str, title: str, text: str) -> QHBoxLayout:
    look = tokens()
    row = QHBoxLayout()
    row.setSpacing(look.m)
    row.setContentsMargins(0, look.s, 0, look.s)
    mark = QVBoxLayout()
    mark.addWidget(IconLabel(icon_name, size=24, colour="accent"))
    mark.addStretch(1)
    texts = QVBoxLayout()
    texts.setSpacing(look.xs)
    texts.addWidget(label(title, "title"))
    texts.addWidget(paragraph(text, "muted"))
    row.addLayout(mark)
    row.addLayout(texts, 1)
    return row
