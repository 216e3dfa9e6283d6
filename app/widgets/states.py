"""An empty page that says what to do, and a line of progress that says what is happening."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from app.theme import tokens
from app.widgets.buttons import button
from app.widgets.labels import ElidedLabel, IconLabel, label, paragraph


class EmptyState(QWidget):
    """An icon, a sentence, a quieter second one, and at most one button."""

    action_chosen = Signal()

    def __init__(
        self, icon_name: str, title: str, text: str, *, action: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        look = tokens()
        column = QVBoxLayout(self)
        column.setContentsMargins(look.xl, look.xl, look.xl, look.xl)
        column.setSpacing(look.s)
        column.addStretch(2)
        column.addWidget(IconLabel(icon_name, size=40, colour="text_faint"), alignment=Qt.AlignmentFlag.AlignHCenter)
        column.addSpacing(look.s)
        self.title = label(title, "title")
        self.title.setAlignment(Qt.AlignmentFlag.AlignCenter)
        column.addWidget(self.title)
        self.text = paragraph(text, "muted")
        self.text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.text.setFixedWidth(420)
        self.text.ensurePolished()
        self.text.setMinimumHeight(self.text.heightForWidth(420))
        column.addWidget(self.text, alignment=Qt.AlignmentFlag.AlignHCenter)
        self.button = button(action, "primary")
        self.button.setVisible(bool(action))
        self.button.clicked.connect(self.action_chosen)
        column.addSpacing(look.m)
        column.addWidget(self.button, alignment=Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(3)


class ProgressLine(QWidget):
    """What is happening on the left, how far on the right, and a bar below that moves by tenths of a percent."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        """``name`` is the accessible name of the bar."""
        super().__init__(parent)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(tokens().s)
        texts = QHBoxLayout()
        texts.setSpacing(tokens().m)
        self._what = ElidedLabel()
        self._how_far = label("", "small")
        texts.addWidget(self._what, 1)
        texts.addWidget(self._how_far)
        column.addLayout(texts)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(name)
        self._bar.setRange(0, 1000)
        column.addWidget(self._bar)

    def show_progress(self, what: str, how_far: str, share: float | None) -> None:
        """``share`` from 0 to 1, None while it is unknown."""
        self._what.set_text(what)
        self._how_far.setText(how_far)
        if share is None:
            self._bar.setRange(0, 0)
        else:
            self._bar.setRange(0, 1000)
            self._bar.setValue(round(min(max(share, 0.0), 1.0) * 1000))
