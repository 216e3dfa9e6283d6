"""One bar that says what went wrong and the next step: a sentence, one button, the detail folded away."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.engine_texts import shown_text
from app.theme import tokens
from app.widgets.buttons import button, icon_button
from app.widgets.labels import IconLabel, paragraph, set_role


class NoticeKind(StrEnum):
    INFO = "info"
    SUCCESS = "success"
    WARNING = "warning"
    DANGER = "danger"


_ICONS = {
    NoticeKind.INFO: ("info", "accent"),
    NoticeKind.SUCCESS: ("success", "success"),
    NoticeKind.WARNING: ("warning", "warning"),
    NoticeKind.DANGER: ("error", "danger"),
}


class Situation(Protocol):
    """An ``EngineError``, or what is kept of one."""

    @property
    def message(self) -> str: ...

    @property
    def next_step(self) -> str: ...

    @property
    def detail(self) -> str: ...


class NoticeBar(QFrame):
    """Hidden until ``show_notice``. ``action_chosen`` when its button is pressed, ``dismissed`` when it is closed,
    ``replaced`` before something else is said: its button is somebody else's from then on.

    ``show_error`` for what the engine says, which knows no language but English. The message has the numbers in it
    (need and have); it is announced to screen readers.
    """

    action_chosen = Signal()
    dismissed = Signal()
    replaced = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look = tokens()
        self.setProperty("role", "notice-info")
        self._icon = IconLabel("info", size=20, colour="accent")
        self._message = paragraph("", "strong")
        self._next_step = paragraph("")
        self._detail = paragraph("", "mono")
        self._detail.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._fold = button(self.tr("Details"), "link")
        self._action = button("")
        self._close = icon_button("close", self.tr("Dismiss"), size=16)
        self._fold.clicked.connect(self._toggle_detail)
        self._action.clicked.connect(self.action_chosen)
        self._close.clicked.connect(self._dismiss)
        texts = QVBoxLayout()
        texts.setSpacing(look.xs)
        for each in (self._message, self._next_step, self._detail):
            texts.addWidget(each)
        texts.addWidget(self._fold, alignment=Qt.AlignmentFlag.AlignLeft)
        row = QHBoxLayout(self)
        row.setContentsMargins(look.m, look.s + look.xs, look.s + look.xs, look.s + look.xs)
        row.setSpacing(look.s + look.xs)
        row.addWidget(self._icon, alignment=Qt.AlignmentFlag.AlignTop)
        row.addLayout(texts, 1)
        row.addWidget(self._action, alignment=Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._close, alignment=Qt.AlignmentFlag.AlignTop)
        self.hide()

    def show_notice(
        self,
        kind: NoticeKind,
        message: str,
        next_step: str = "",
        *,
        action: str = "",
        detail: str = "",
        can_dismiss: bool = True,
    ) -> None:
        """Replaces what was said before."""
        self.replaced.emit()
        set_role(self, f"notice-{kind}")
        self._icon.set_icon(*_ICONS[kind])
        _fill(self._message, message)
        _fill(self._next_step, next_step)
        self._detail.setText(detail)
        self._detail.hide()
        self._fold.setVisible(bool(detail))
        self._fold.setText(self.tr("Details"))
        self._action.setText(action)
        self._action.setAccessibleName(action)
        self._action.setVisible(bool(action))
        self._close.setVisible(can_dismiss)
        self.setAccessibleName(f"{message} {next_step}".strip())
        self.show()

    def show_error(
        self,
        kind: NoticeKind,
        error: Situation,
        *,
        action: str = "",
        detail: str | None = None,
        can_dismiss: bool = True,
    ) -> None:
        """In the user's language. ``detail`` instead of the error's own."""
        self.show_notice(
            kind,
            shown_text(error.message),
            shown_text(error.next_step),
            action=action,
            detail=error.detail if detail is None else detail,
            can_dismiss=can_dismiss,
        )

    def clear(self) -> None:
        """Nothing is wrong any more."""
        self.hide()

    def message(self) -> str:
        return self._message.text()

    def _toggle_detail(self) -> None:
        is_open = self._detail.isHidden()
        self._detail.setVisible(is_open)
        self._fold.setText(self.tr("Hide details") if is_open else self.tr("Details"))

    def _dismiss(self) -> None:
        self.hide()
        self.dismissed.emit()


class NoticeRow(QWidget):
    """A bar with the page's margins around it, which go when it goes."""

    def __init__(self, bar: NoticeBar, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look = tokens()
        column = QVBoxLayout(self)
        column.setContentsMargins(look.m, look.m, look.m, 0)
        column.addWidget(bar)
        bar.installEventFilter(self)
        self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self.setVisible(event.type() == QEvent.Type.ShowToParent)
        return super().eventFilter(watched, event)


def _fill(target: QLabel, text: str) -> None:
    target.setText(text)
    target.setVisible(bool(text))
