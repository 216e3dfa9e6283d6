"""The bottom of the page: what is about to be sent, with files, the model, the room left, and Send or Stop.

Owns the draft while it is written and tells it within half a second. Must not know conversations, the engine or
what sending does.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtGui import QColor, QDragEnterEvent, QDropEvent, QPainter, QPaintEvent, QPen, Qt
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from app.chat.context_meter import ContextMeter
from app.chat.file_chips import FileChips
from app.chat.prompt_edit import PromptEdit
from app.chat.text_files import MAX_FILES, UnreadableFile, read_text_file
from app.conversations.records import Attachment, Draft
from app.icons import icon
from app.theme import tokens
from app.widgets.buttons import button, icon_button
from app.widgets.labels import ElidedLabel, IconLabel

_DRAFT_MS = 400


class ComposerMode(StrEnum):
    """What Enter does: sends, or replaces a message by a new version."""

    WRITE = "write"
    EDIT_QUESTION = "edit_question"
    EDIT_ANSWER = "edit_answer"


class Composer(QWidget):
    send_asked = Signal(object)  # Draft
    stop_asked = Signal()
    edit_asked = Signal(object)  # Draft
    edit_ended = Signal()
    last_prompt_wanted = Signal()
    draft_changed = Signal(object)  # Draft
    model_button_pressed = Signal()
    thinking_chosen = Signal(object)  # bool
    file_refused = Signal(object)  # UnreadableFile

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAcceptDrops(True)
        self.mode = ComposerMode.WRITE
        self._is_working = False
        self._can_send = False
        self._kept: Draft | None = None
        self._is_filling = False
        self.text = PromptEdit()
        self.files = FileChips()
        self.meter = ContextMeter()
        self.attach = icon_button("attach", self.tr("Attach text files"), size=18)
        self.model = self._model_button()
        self.thinking = self._thinking_button()
        self.send = icon_button("send", self.tr("Send"), kind="primary", size=18)
        self._banner_text = ElidedLabel("", "small")
        self._banner = self._edit_banner()
        self._draft_timer = QTimer(self, singleShot=True, interval=_DRAFT_MS)
        self._lay_out()
        self._wire()
        self._refresh()

    # What it holds

    @property
    def draft(self) -> Draft:
        return Draft(self.text.toPlainText(), self.files.files)

    def set_draft(self, draft: Draft) -> None:
        """Another conversation's. Ends editing."""
        self._draft_timer.stop()
        self._leave_edit(restore=False)
        self._fill(draft)

    def keep_draft(self) -> None:
        """Tells the draft now, if it waits to be told."""
        if self._draft_timer.isActive():
            self._draft_timer.stop()
            self._tell_draft()

    def clear(self) -> None:
        self.set_draft(Draft())
        self._tell_draft()

    def begin_edit(self, mode: ComposerMode, draft: Draft) -> None:
        """What was being written is put aside until the edit ends."""
        self.keep_draft()
        if self.mode is ComposerMode.WRITE:
            self._kept = self.draft
        self.mode = mode
        self._fill(draft)
        self._refresh()
        self.text.setFocus()

    def cancel_edit(self) -> None:
        self._leave_edit(restore=True)

    # What the page tells it

    def set_working(self, is_working: bool) -> None:
        """An answer of this conversation is being made: Send is Stop."""
        self._is_working = is_working
        self._refresh()

    def set_can_send(self, can_send: bool) -> None:
        """Whether there is a model to send to."""
        self._can_send = can_send
        self._refresh()

    def show_model(self, title: str) -> None:
        shown = title or self.tr("Choose a model")
        self.model.setText(self.model.fontMetrics().elidedText(shown, Qt.TextElideMode.ElideMiddle, 260))
        self.model.setAccessibleName(self.tr("Model: {title}").format(title=shown))
        self.model.setToolTip(self.tr("Model: {title}").format(title=shown))
        placeholder = self.tr("Write to {model}").format(model=title) if title else self.tr("Write a message")
        self.text.setPlaceholderText(placeholder)
        # Qt 6.11 draws a changed placeholder only when something else changes.
        self.text.viewport().update()

    def show_thinking(self, is_on: bool | None) -> None:
        """None: the model has no such switch."""
        self.thinking.setVisible(is_on is not None)
        self.thinking.setChecked(bool(is_on))

    def attach_files(self, paths: list[Path]) -> None:
        for path in paths[: MAX_FILES - len(self.files.files)]:
            try:
                self.files.add(read_text_file(path))
            except UnreadableFile as error:
                self.file_refused.emit(error)

    # Inside

    def _model_button(self) -> QToolButton:
        result = QToolButton()
        result.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        result.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        result.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        return result

    def _thinking_button(self) -> QToolButton:
        result = icon_button("thinking", self.tr("Think before answering"), size=18)
        result.setCheckable(True)
        result.setText(self.tr("Think"))
        result.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        result.hide()
        return result

    def _edit_banner(self) -> QWidget:
        banner = QWidget()
        row = QHBoxLayout(banner)
        row.setContentsMargins(4, 0, 0, 0)
        row.setSpacing(tokens().s)
        row.addWidget(IconLabel("edit", size=14))
        row.addWidget(self._banner_text, 1)
        cancel = button(self.tr("Cancel"), "link")
        cancel.clicked.connect(self.cancel_edit)
        row.addWidget(cancel)
        banner.hide()
        return banner

    def _lay_out(self) -> None:
        look = tokens()
        row = QHBoxLayout()
        row.setSpacing(look.xs)
        row.addWidget(self.attach)
        row.addWidget(self.model)
        row.addWidget(self.thinking)
        row.addStretch(1)
        row.addWidget(self.meter)
        row.addSpacing(look.s)
        row.addWidget(self.send)
        column = QVBoxLayout(self)
        column.setContentsMargins(look.m, look.s + look.xs, look.s, look.s)
        column.setSpacing(look.s)
        column.addWidget(self._banner)
        column.addWidget(self.files)
        column.addWidget(self.text)
        column.addLayout(row)
        self.setTabOrder(self.text, self.attach)
        self.setTabOrder(self.attach, self.model)
        self.setTabOrder(self.model, self.thinking)
        self.setTabOrder(self.thinking, self.send)

    def _wire(self) -> None:
        self.text.sent.connect(self._press_enter)
        self.text.escaped.connect(self._press_escape)
        self.text.last_prompt_wanted.connect(self.last_prompt_wanted)
        self.text.files_given.connect(self.attach_files)
        self.text.textChanged.connect(self._changed)
        self.text.installEventFilter(self)
        self.files.changed.connect(self._changed)
        self.attach.clicked.connect(self._choose_files)
        self.model.clicked.connect(self.model_button_pressed)
        self.thinking.clicked.connect(lambda: self.thinking_chosen.emit(self.thinking.isChecked()))
        self.send.clicked.connect(self._press_button)
        self._draft_timer.timeout.connect(self._tell_draft)

    def _fill(self, draft: Draft) -> None:
        self._is_filling = True
        self.text.set_text(draft.text)
        self.files.set_files(draft.attachments)
        self._is_filling = False
        self._refresh()

    def _changed(self) -> None:
        self._refresh()
        if not self._is_filling and self.mode is ComposerMode.WRITE and not self._draft_timer.isActive():
            self._draft_timer.start()

    def _tell_draft(self) -> None:
        if self.mode is ComposerMode.WRITE:
            self.draft_changed.emit(self.draft)

    def _press_enter(self) -> None:
        draft = self.draft
        if not draft.text.strip() and not draft.attachments:
            return
        if self.mode is not ComposerMode.WRITE:
            self.edit_asked.emit(draft)
        elif not self._is_working:
            self.send_asked.emit(draft)

    def _press_button(self) -> None:
        if self._is_working and self.mode is ComposerMode.WRITE:
            self.stop_asked.emit()
        else:
            self._press_enter()

    def _press_escape(self) -> None:
        if self.mode is not ComposerMode.WRITE:
            self.cancel_edit()
        elif self._is_working:
            self.stop_asked.emit()

    def _leave_edit(self, *, restore: bool) -> None:
        if self.mode is ComposerMode.WRITE:
            return
        self.mode = ComposerMode.WRITE
        if restore:
            self._fill(self._kept or Draft())
        self._kept = None
        self._refresh()
        self.edit_ended.emit()

    def _choose_files(self) -> None:
        names, _ = QFileDialog.getOpenFileNames(self, self.tr("Attach text files"))
        self.attach_files([Path(each) for each in names])

    def _refresh(self) -> None:
        is_stop = self._is_working and self.mode is ComposerMode.WRITE
        name = self.tr("Stop the answer") if is_stop else self.tr("Send")
        self.send.setIcon(icon("stop" if is_stop else "send", colour="accent_text"))
        self.send.setToolTip(name)
        self.send.setAccessibleName(name)
        has_words = bool(self.text.toPlainText().strip() or self.files.files)
        self.send.setEnabled(is_stop or (has_words and self._can_send))
        self.files.setVisible(bool(self.files.files))
        self._banner.setVisible(self.mode is not ComposerMode.WRITE)
        self._banner_text.set_text(
            self.tr("Editing the answer: it becomes a new version")
            if self.mode is ComposerMode.EDIT_ANSWER
            else self.tr("Editing your message: it becomes a new version and is answered again")
        )

    # Qt's

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in {QEvent.Type.FocusIn, QEvent.Type.FocusOut}:
            self.update()
        return super().eventFilter(watched, event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
        self.attach_files(paths)
        event.acceptProposedAction()

    def paintEvent(self, event: QPaintEvent) -> None:
        look = tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(look.accent if self.text.hasFocus() else look.line), 1.5))
        painter.setBrush(QColor(look.raised))
        painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), look.radius_large + 2, look.radius_large + 2)
        painter.end()


def attachments_length(files: tuple[Attachment, ...]) -> int:
    return sum(len(each.text) for each in files)
