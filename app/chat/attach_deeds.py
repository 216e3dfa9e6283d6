"""What goes with a message besides its words: files and images into the composer, and images larger on the screen.

Owns whether the model in use sees images, and what is said where it does not. Must not know conversations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from PySide6.QtCore import QEvent, QObject, Signal, Slot
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QWidget

from app.chat.attaching import Attaching
from app.chat.composer import Composer, can_be_attached
from app.chat.image_views import ImageDialog
from app.chat.transcript import Transcript
from app.conversations.images import ImageFolder
from app.conversations.records import Draft, StoredImage, StoredMessage
from app.widgets.notice_bar import NoticeBar, NoticeKind
from engine.errors import EngineError


class AttachDeeds(QObject):
    """``model_wanted``: the user wants to choose one that sees images."""

    model_wanted = Signal()

    def __init__(
        self, folder: ImageFolder, composer: Composer, transcript: Transcript, notice: NoticeBar, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._folder = folder
        self._composer = composer
        self._notice = notice
        self._page = parent
        self._blind_model: str | None = None
        self._offers_models = False
        parent.setAcceptDrops(True)
        parent.installEventFilter(self)
        self.attaching = Attaching(folder, self)
        composer.files_given.connect(self.attaching.take_files)
        composer.picture_given.connect(self.attaching.take_picture)
        composer.too_many_given.connect(self._say_too_many)
        composer.image_chosen.connect(self._show_image)
        transcript.image_chosen.connect(self._show_image)
        self.attaching.file_read.connect(composer.add_file)
        self.attaching.image_read.connect(composer.add_image)
        self.attaching.refused.connect(self._say_refused)
        self.attaching.busy_changed.connect(composer.set_reading)
        notice.action_chosen.connect(self._take_action)
        notice.replaced.connect(self._forget_offer)

    def show_model(self, title: str, sees: bool | None) -> None:
        """The model in use; ``sees`` None: not known yet."""
        self._blind_model = title if sees is False else None
        self.attaching.set_blind_model(self._blind_model)
        self._composer.set_takes_images(sees is True)

    def show_chat(self, messages: Sequence[StoredMessage]) -> None:
        """Says what the model will not be given, before anything is sent to it."""
        hint = self.tr("{model} reads text only: it is not given the images of this chat")
        has_images = self._blind_model is not None and any(each.images for each in messages)
        self._composer.show_hint(hint.format(model=self._blind_model) if has_images else "")

    def forget(self) -> None:
        """Another chat is open."""
        self.attaching.forget()

    def refuses(self, draft: Draft) -> bool:
        """Whether the model cannot be asked this; says so."""
        if not draft.images or self._blind_model is None:
            return False
        self._notice.show_notice(
            NoticeKind.WARNING,
            self.tr("{model} reads text only.").format(model=self._blind_model),
            self.tr("Choose a model that sees images, or take the images off."),
            action=self.tr("Choose a model"),
        )
        self._offers_models = True
        return True

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Files may be dropped anywhere on the page; the composer shows where they will be."""
        match event.type():
            case QEvent.Type.DragEnter if can_be_attached(cast(QDragEnterEvent, event).mimeData()):
                self._composer.show_drop(True)
                cast(QDragEnterEvent, event).acceptProposedAction()
                return True
            case QEvent.Type.DragLeave:
                self._composer.show_drop(False)
            case QEvent.Type.Drop:
                self._composer.show_drop(False)
                if self._composer.take_from(cast(QDropEvent, event).mimeData()):
                    cast(QDropEvent, event).acceptProposedAction()
                return True
            case _:
                pass
        return super().eventFilter(watched, event)

    @Slot()
    def _take_action(self) -> None:
        if self._offers_models:
            self._forget_offer()
            self._notice.clear()
            self.model_wanted.emit()

    @Slot()
    def _forget_offer(self) -> None:
        self._offers_models = False

    @Slot(int)
    def _say_too_many(self, most: int) -> None:
        left_out = self.tr("Up to {most} files go with a message; the others were left out.")
        self._notice.show_notice(NoticeKind.WARNING, left_out.format(most=most))

    @Slot(object)
    def _say_refused(self, error: EngineError) -> None:
        self._notice.show_error(NoticeKind.WARNING, error)

    @Slot(object)
    def _show_image(self, image: StoredImage) -> None:
        ImageDialog(image, self._folder.path(image.file), self._page).open()
