"""The bottom of the page: what is about to be sent, with files, the model, the room left, and Send or Stop.

Owns the draft while it is written and tells it within half a second. Must not know conversations, the engine or
what sending does.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QTimer, Signal
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent, QPen, Qt
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from app.chat.context_meter import ContextMeter
from app.chat.file_chips import MOST, FileChips
from app.chat.prompt_edit import PromptEdit, local_files
from app.chat.thumbnails import Thumbnails
from app.conversations.records import Attachment, Draft, StoredImage
from app.icons import icon
from app.theme import tokens
from app.user_folders import documents
from app.widgets.buttons import PressToolButton, button, icon_button
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
    files_given = Signal(list)  # Path: to be read, and given back to add_file and add_image
    picture_given = Signal(object)  # QImage
    too_many_given = Signal(int)
    """Of them can go with a message; the others were left out."""
    image_chosen = Signal(object)  # StoredImage

    def __init__(self, thumbnails: Thumbnails, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.mode = ComposerMode.WRITE
        self._is_working = False
        self._can_send = False
        self._kept: Draft | None = None
        self._is_filling = False
        self._is_reading = False
        self._takes_images = False
        self._is_hovered_with = False
        self.text = PromptEdit()
        self.files = FileChips(thumbnails)
        self.meter = ContextMeter()
        self.attach = icon_button("attach", "", size=18)
        self.model = self._model_button()
        self.thinking = self._thinking_button()
        self.send = icon_button("send", self.tr("Send"), kind="primary", size=18)
        self._hint = ElidedLabel("", "small")
        self._hint.hide()
        self._banner_text = ElidedLabel("", "small")
        self._banner = self._edit_banner()
        self._draft_timer = QTimer(self, singleShot=True, interval=_DRAFT_MS)
        self._lay_out()
        self._wire()
        self._refresh()

    # What it holds

    @property
    def draft(self) -> Draft:
        return Draft(self.text.toPlainText(), self.files.files, self.files.images)

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

    def set_takes_images(self, takes_images: bool) -> None:
        """Whether the model sees images."""
        self._takes_images = takes_images
        self._refresh()

    @property
    def hint(self) -> str:
        return self._hint.accessibleName()

    def show_hint(self, text: str) -> None:
        """One quiet line about what will be sent; empty: none."""
        self._hint.set_text(text)
        self._hint.setVisible(bool(text))

    def set_reading(self, is_reading: bool) -> None:
        """What was attached is not here yet: nothing is sent without it."""
        self._is_reading = is_reading
        self._refresh()

    def take_from(self, data: QMimeData) -> bool:
        """Files and pictures that were dropped; whether there were any."""
        if files := local_files(data):
            self.attach_files(files)
        elif data.hasImage():
            self.attach_picture(QImage(data.imageData()))
        else:
            return False
        return True

    def attach_files(self, paths: list[Path]) -> None:
        if self.mode is ComposerMode.EDIT_ANSWER:
            return
        room = MOST - self.files.count
        if len(paths) > room:
            self.too_many_given.emit(MOST)
        if room > 0:
            self.files_given.emit(paths[:room])

    def attach_picture(self, picture: QImage) -> None:
        if self.mode is ComposerMode.EDIT_ANSWER:
            return
        if self.files.count < MOST:
            self.picture_given.emit(picture)
        else:
            self.too_many_given.emit(MOST)

    def add_file(self, file: Attachment) -> None:
        self.files.add(file)

    def add_image(self, image: StoredImage) -> None:
        self.files.add_image(image)

    def show_drop(self, is_possible: bool) -> None:
        """Something that can be attached hangs over the page."""
        self._is_hovered_with = is_possible
        self.update()

    # Inside

    def _model_button(self) -> QToolButton:
        result = PressToolButton()
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
        column.addWidget(self._hint)
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
        self.text.picture_given.connect(self.attach_picture)
        self.text.textChanged.connect(self._changed)
        self.text.installEventFilter(self)
        self.files.changed.connect(self._changed)
        self.files.image_chosen.connect(self.image_chosen)
        self.attach.clicked.connect(self._choose_files)
        self.model.clicked.connect(self.model_button_pressed)
        self.thinking.clicked.connect(lambda: self.thinking_chosen.emit(self.thinking.isChecked()))
        self.send.clicked.connect(self._press_button)
        self._draft_timer.timeout.connect(self._tell_draft)

    def _fill(self, draft: Draft) -> None:
        self._is_filling = True
        self.text.set_text(draft.text)
        self.files.set_contents(draft.attachments, draft.images)
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
        if draft.is_empty or self._is_reading:
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
        names, _ = QFileDialog.getOpenFileNames(self, self._attach_name(), str(documents()))
        self.attach_files([Path(each) for each in names])

    def _attach_name(self) -> str:
        return self.tr("Attach images and text files") if self._takes_images else self.tr("Attach text files")

    def _refresh(self) -> None:
        is_stop = self._is_working and self.mode is ComposerMode.WRITE
        name = self.tr("Stop the answer") if is_stop else self.tr("Send")
        self.send.setIcon(icon("stop" if is_stop else "send", colour="accent_text"))
        self.send.setToolTip(name)
        self.send.setAccessibleName(name)
        self.send.setEnabled(is_stop or (self._can_send and not self._is_reading and not self.draft.is_empty))
        self.attach.setToolTip(self._attach_name())
        self.attach.setAccessibleName(self._attach_name())
        self.attach.setVisible(self.mode is not ComposerMode.EDIT_ANSWER)
        self.files.setVisible(self.files.count > 0)
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

    def paintEvent(self, event: QPaintEvent) -> None:
        look = tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        is_strong = self.text.hasFocus() or self._is_hovered_with
        painter.setPen(QPen(QColor(look.accent if is_strong else look.line), 1.5))
        painter.setBrush(QColor(look.accent_soft if self._is_hovered_with else look.raised))
        painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), look.radius_large + 2, look.radius_large + 2)
        painter.end()


def can_be_attached(data: QMimeData) -> bool:
    """Whether there is something in it for ``take_from``."""
    return bool(local_files(data)) or data.hasImage()
