"""The graphics card where the user decides about it: what is the case, how far it is, and the buttons for it.

Shows the service's status and tells it what was pressed. Must not know the page it is on.
"""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.engine_texts import shown_text
from app.gpu.service import GpuRuntime
from app.gpu.status import GpuState
from app.gpu.texts import (
    Choice,
    Deed,
    card_text,
    choices,
    driver_text,
    figures_text,
    percent_text,
    phase_text,
    sentence,
    share_of,
)
from app.theme import tokens
from app.widgets.buttons import button
from app.widgets.flow_layout import FlowLayout
from app.widgets.labels import paragraph
from app.widgets.notice_bar import NoticeBar, NoticeKind
from app.widgets.states import ProgressLine

_MOST_BUTTONS = 4


class GpuPanel(QWidget):
    """``shown_changed`` when there is something to show at all, or nothing any more; it does not hide itself."""

    shown_changed = Signal(bool)

    def __init__(self, gpu: GpuRuntime, *, is_titled: bool = False, parent: QWidget | None = None) -> None:
        """``is_titled``: the card's name is the title; otherwise one stands above it."""
        super().__init__(parent)
        look = tokens()
        self._gpu = gpu
        self._choices: list[Choice] = []
        self._was_shown: bool | None = None
        self.card = paragraph("", "strong" if is_titled else "small")
        self.sentence = paragraph("", "muted" if is_titled else "small")
        self.line = ProgressLine(self.tr("Getting the graphics card ready"))
        self.figures = paragraph("", "small")
        self.problem = NoticeBar()
        self.buttons = [button("") for _ in range(_MOST_BUTTONS)]
        for place, each in enumerate(self.buttons):
            each.clicked.connect(lambda _=False, place=place: self._do(self._choices[place].deed))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(look.s)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(self.card)
        texts.addWidget(self.sentence)
        column.addLayout(texts)
        for each in (self.line, self.figures, self.problem):
            column.addWidget(each)
        column.addSpacing(look.xs)
        feet = QWidget()
        flow = FlowLayout(feet, spacing=look.s)
        for each in self.buttons:
            flow.addWidget(each)
        column.addWidget(feet)
        gpu.changed.connect(self._follow)
        self._follow()

    @property
    def is_useful(self) -> bool:
        return self._gpu.status.state is not GpuState.HIDDEN

    def _follow(self) -> None:
        status = self._gpu.status
        _fill(self.card, card_text(status))
        self.card.setToolTip(driver_text(status))
        _fill(self.sentence, shown_text(sentence(status)))
        phase = phase_text(status.state)
        self.line.setVisible(bool(phase))
        self.line.show_progress(phase, percent_text(status.amount), share_of(status.amount))
        _fill(self.figures, shown_text(status.said) or figures_text(status))
        if status.problem is None:
            self.problem.clear()
        elif self.problem.message() != shown_text(status.problem.message) or self.problem.isHidden():
            self.problem.show_error(NoticeKind.WARNING, status.problem, can_dismiss=False)
        self._show_choices(choices(status))
        if self.is_useful is not self._was_shown:
            self._was_shown = self.is_useful
            self.shown_changed.emit(self.is_useful)

    def _show_choices(self, wanted: list[Choice]) -> None:
        """The same buttons keep the focus where only figures have changed."""
        if wanted == self._choices:
            return
        self._choices = wanted
        for place, each in enumerate(self.buttons):
            blocker = QSignalBlocker(each)
            choice = wanted[place] if place < len(wanted) else None
            each.setVisible(choice is not None)
            each.setText(choice.text if choice else "")
            each.setAccessibleName(choice.text if choice else "")
            del blocker

    def _do(self, deed: Deed) -> None:
        {
            Deed.ASK: self._gpu.ask,
            Deed.ACCEPT: self._gpu.accept,
            Deed.DECLINE: self._gpu.decline,
            Deed.CANCEL: self._gpu.cancel,
            Deed.DISCARD: self._gpu.discard_download,
            Deed.TRY_AGAIN: self._gpu.try_again,
            Deed.REMOVE: self._gpu.remove,
        }[deed]()


def _fill(target: QLabel, text: str) -> None:
    target.setText(text)
    target.setVisible(bool(text))
