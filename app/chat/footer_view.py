"""The row below a message: copy, edit, answer again, delete, its versions, and what the answer cost.

Its buttons show while the pointer or the keyboard is at the message; its height is always kept, so nothing jumps.
"""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from app.chat.live_progress import short_rate
from app.chat.part_views import PartView
from app.conversations.records import AnswerFigures, AnswerState, StoredMessage
from app.icons import icon
from app.verdicts import duration_text
from app.widgets.buttons import icon_button
from app.widgets.labels import label
from engine.events import StopReason

HEIGHT = 34


class MessageAction(StrEnum):
    COPY = "copy"
    EDIT = "edit"
    REGENERATE = "regenerate"
    DELETE = "delete"
    OLDER = "older"
    NEWER = "newer"


class FooterView(PartView):
    action_chosen = Signal(object)

    def __init__(self, parent: QWidget, message: StoredMessage) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Message actions"))
        self._message = message
        self.outdent = 8 if message.role == "assistant" else 0
        is_answer = message.role == "assistant"
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        if not is_answer:
            row.addStretch(1)
        self._versions = self._version_row()
        self._buttons = self._action_buttons(is_answer)
        if is_answer:
            for each in self._buttons:
                row.addWidget(each)
            row.addWidget(self._versions)
            row.addSpacing(8)
            self._figures = label("", "faint")
            row.addWidget(self._figures)
            row.addStretch(1)
        else:
            self._figures = label("", "faint")
            row.addWidget(self._versions)
            for each in self._buttons:
                row.addWidget(each)
        self.set_message(message)
        self.set_actions_shown(False)

    def set_message(self, message: StoredMessage) -> None:
        self._message = message
        self._versions.setVisible(message.versions > 1)
        self._place.setText(f"{message.version}/{message.versions}")
        self._place.setAccessibleName(
            self.tr("Version {version} of {versions}").format(version=message.version, versions=message.versions)
        )
        self._older.setEnabled(message.version > 1)
        self._newer.setEnabled(message.version < message.versions)
        self._figures.setText(self._figures_text(message))

    def set_actions_shown(self, is_shown: bool) -> None:
        for each in self._buttons:
            each.setVisible(is_shown)
        self._figures.setVisible(is_shown)

    def focus_first(self) -> None:
        self.set_actions_shown(True)
        self._buttons[0].setFocus()

    def has_focus_inside(self) -> bool:
        return any(each.hasFocus() for each in self.findChildren(QToolButton))

    def height_for(self, width: int) -> int:
        return HEIGHT

    def _action_buttons(self, is_answer: bool) -> list[QToolButton]:
        copy = self._button("copy", self.tr("Copy"), MessageAction.COPY)
        copy.clicked.connect(lambda: self._confirm(copy))
        edit = self._button("edit", self.tr("Edit"), MessageAction.EDIT)
        delete = self._button("trash", self.tr("Delete this and what follows"), MessageAction.DELETE)
        if not is_answer:
            return [copy, edit, delete]
        again = self._button("refresh", self.tr("Answer again"), MessageAction.REGENERATE)
        return [copy, again, edit, delete]

    def _version_row(self) -> QWidget:
        whole = QWidget(self)
        row = QHBoxLayout(whole)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        self._older = self._button("chevron-left", self.tr("Previous version"), MessageAction.OLDER)
        self._place = label("", "small")
        self._newer = self._button("chevron-right", self.tr("Next version"), MessageAction.NEWER)
        for each in (self._older, self._place, self._newer):
            row.addWidget(each)
        return whole

    def _button(self, icon_name: str, name: str, action: MessageAction) -> QToolButton:
        button = icon_button(icon_name, name, size=16)
        button.clicked.connect(lambda: self.action_chosen.emit(action))
        return button

    @staticmethod
    def _confirm(button: QToolButton) -> None:
        button.setIcon(icon("check", colour="success"))
        QTimer.singleShot(1500, button, lambda: button.setIcon(icon("copy")))

    def _figures_text(self, message: StoredMessage) -> str:
        """What an answer cost, in a few words; why it is short, if it is."""
        figures = message.figures
        parts: list[str] = []
        if message.state is AnswerState.STOPPED:
            parts.append(self.tr("Stopped"))
        elif figures.stop_reason == StopReason.LENGTH_LIMIT:
            parts.append(self.tr("Reached the length limit"))
        elif figures.stop_reason == StopReason.CONTEXT_FULL:
            parts.append(self.tr("The context is full"))
        return " · ".join([*parts, *self._cost(figures)])

    def _cost(self, figures: AnswerFigures) -> list[str]:
        if not figures.tokens:
            return []
        count = figures.tokens
        parts = [self.tr("1 token") if count == 1 else self.tr("{count} tokens").format(count=count)]
        if figures.s_per_token and figures.s_per_token < 1:
            parts.append(self.tr("{rate} tokens/s").format(rate=short_rate(1 / figures.s_per_token)))
        elif figures.s_per_token:
            parts.append(self.tr("{duration} per token").format(duration=duration_text(figures.s_per_token)))
        if figures.total_s:
            parts.append(duration_text(figures.total_s))
        return parts
