"""A chat without a word yet: a greeting, the model that will answer, and three ways to begin."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.theme import tokens
from app.widgets.buttons import PressButton, button
from app.widgets.labels import IconLabel, label, paragraph


class EmptyChat(QWidget):
    example_chosen = Signal(str)
    add_model_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look = tokens()
        self._greeting = label(self.tr("What would you like to know?"), "display")
        self._greeting.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._model = paragraph("", "muted")
        self._model.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.add_model = button(self.tr("Choose a model"), "primary", icon_name="plus")
        self.add_model.clicked.connect(self.add_model_asked)
        self.examples = [self._example(each) for each in self._texts()]
        row = QHBoxLayout()
        row.setSpacing(look.s + look.xs)
        for each in self.examples:
            row.addWidget(each, 1)
        self._row = QWidget()
        self._row.setMaximumWidth(look.reading_width)
        row.setContentsMargins(0, 0, 0, 0)
        self._row.setLayout(row)
        column = QVBoxLayout(self)
        column.setContentsMargins(look.xl, look.l, look.xl, look.l)
        column.setSpacing(look.s)
        column.addStretch(2)
        column.addWidget(IconLabel("spark", size=36, colour="accent"), alignment=Qt.AlignmentFlag.AlignHCenter)
        column.addSpacing(look.s)
        column.addWidget(self._greeting)
        column.addWidget(self._model)
        column.addSpacing(look.l)
        column.addWidget(self.add_model, alignment=Qt.AlignmentFlag.AlignHCenter)
        centred = QHBoxLayout()
        centred.addStretch(1)
        centred.addWidget(self._row, 100)
        centred.addStretch(1)
        column.addLayout(centred)
        column.addStretch(3)
        self.show_model("", is_known=False)

    def show_model(self, title: str, *, is_known: bool) -> None:
        """``is_known``: whether the engine has said which models there are."""
        if title:
            self._model.setText(self.tr("{model} answers on this computer. Nothing leaves it.").format(model=title))
        elif is_known:
            self._model.setText(self.tr("There is no model on this computer yet."))
        else:
            self._model.setText(self.tr("Looking for models…"))
        self.add_model.setVisible(is_known and not title)
        self._row.setVisible(bool(title))

    def _texts(self) -> tuple[str, str, str]:
        return (
            self.tr("Explain how a heat pump works, as if I were twelve"),
            self.tr("Write a polite letter to a neighbour about noise at night"),
            self.tr("Plan three days in Lisbon on a small budget"),
        )

    def _example(self, text: str) -> PressButton:
        result = PressButton()
        result.setProperty("kind", "example")
        result.setAccessibleName(text)
        result.setMinimumHeight(76)
        result.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        inside = QVBoxLayout(result)
        inside.setContentsMargins(tokens().m, tokens().s + 4, tokens().m, tokens().s + 4)
        words = paragraph(text)
        words.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        words.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        inside.addWidget(words)
        result.clicked.connect(lambda: self.example_chosen.emit(text))
        return result
