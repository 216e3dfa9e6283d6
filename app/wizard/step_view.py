"""What every step looks like: a column that scrolls, a foot with the way back and the one button forward."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.theme import tokens
from app.widgets.buttons import button
from app.widgets.column import CentredColumn
from app.widgets.labels import label, line, paragraph


class StepView(QWidget):
    """Subclasses fill ``column`` and set the texts of ``forward``. ``went_back`` and ``went_forward`` follow clicks."""

    went_back = Signal()
    went_forward = Signal()

    def __init__(self, heading: str, text: str, *, has_back: bool = True, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look = tokens()
        self._scroll = CentredColumn(look.reading_width)
        self.column = self._scroll.column
        self.heading = label(heading, "display")
        self.heading.setWordWrap(True)
        self.text = paragraph(text, "muted")
        self.column.addWidget(self.heading)
        self.column.addWidget(self.text)
        self.column.addSpacing(look.s)
        self.back = button(self.tr("Back"), "quiet", icon_name="arrow-left")
        self.back.setVisible(has_back)
        self.back.clicked.connect(self.went_back)
        self.forward: QPushButton = button(self.tr("Continue"), "primary")
        self.forward.clicked.connect(self.went_forward)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(self._scroll, 1)
        outer.addWidget(line())
        outer.addWidget(self._foot())

    def _foot(self) -> QWidget:
        look = tokens()
        self.foot = QHBoxLayout()
        self.foot.setContentsMargins(0, 0, 0, 0)
        self.foot.setSpacing(look.s)
        self.foot.addWidget(self.back)
        self.foot.addStretch(1)
        self.foot.addWidget(self.forward)
        inner = QWidget()
        inner.setMaximumWidth(look.reading_width)
        inner.setLayout(self.foot)
        foot = QWidget()
        row = QHBoxLayout(foot)
        row.setContentsMargins(look.xl, look.m, look.xl, look.m)
        row.addStretch(1)
        row.addWidget(inner, 1000)
        row.addStretch(1)
        return foot

    def set_forward(self, text: str, *, is_enabled: bool = True) -> None:
        self.forward.setText(text)
        self.forward.setAccessibleName(text)
        self.forward.setEnabled(is_enabled)

    def take_focus(self) -> None:
        """The button forward, where it can be pressed."""
        self.forward.setFocus(Qt.FocusReason.OtherFocusReason)
