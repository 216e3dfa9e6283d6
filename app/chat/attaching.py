"""Files and pictures on their way into the message that is being written: read in the background, one after another.

Owns what is still being read. Must not know where the message is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, Signal
from PySide6.QtGui import QImage

from app.background import Background
from app.chat.image_files import MAX_BYTES, is_image, keep_image, keep_picture
from app.chat.text_files import UnreadableFile, read_file, text_attachment
from app.conversations.images import ImageFolder
from app.conversations.records import Attachment, StoredImage
from engine.errors import EngineError

Found = Attachment | StoredImage | EngineError


class Attaching(QObject):
    """``file_read`` and ``image_read`` come in the order of what was given; ``refused`` says why one does not come.

    ``busy_changed`` when the first begins and when the last has ended.
    """

    file_read = Signal(object)  # Attachment
    image_read = Signal(object)  # StoredImage
    refused = Signal(object)  # EngineError
    busy_changed = Signal(bool)

    def __init__(self, folder: ImageFolder, parent: QObject) -> None:
        super().__init__(parent)
        self._folder = folder
        self._blind_model: str | None = ""
        self._waiting: list[Background] = []
        self._generation = 0

    @property
    def is_busy(self) -> bool:
        return bool(self._waiting)

    def set_blind_model(self, title: str | None) -> None:
        """The model that reads text only, by the name people know; None for one that sees images."""
        self._blind_model = title

    def take_files(self, paths: Sequence[Path]) -> None:
        """Each is an image or a text, by its contents."""
        self._begin(partial(_read_all, tuple(paths), self._folder, self._blind_model))

    def take_picture(self, image: QImage) -> None:
        """What was copied from another program."""
        self._begin(partial(_read_picture, image, self.tr("Pasted image"), self._folder, self._blind_model))

    def forget(self) -> None:
        """Another message is being written: what was being read for the last one does not come."""
        self._generation += 1

    def _begin(self, read: Callable[[], list[Found]]) -> None:
        generation = self._generation
        call = Background(read, self)
        call.finished.connect(lambda: self._end(call))
        call.done.connect(lambda found: self._tell(generation, found))
        self._waiting.append(call)
        if len(self._waiting) == 1:
            self.busy_changed.emit(True)

    def _tell(self, generation: int, found: list[Found]) -> None:
        for each in found if generation == self._generation else []:
            if isinstance(each, Attachment):
                self.file_read.emit(each)
            elif isinstance(each, StoredImage):
                self.image_read.emit(each)
            else:
                self.refused.emit(each)

    def _end(self, call: Background) -> None:
        self._waiting.remove(call)
        if not self._waiting:
            self.busy_changed.emit(False)


def _read_all(paths: Sequence[Path], folder: ImageFolder, blind_model: str | None) -> list[Found]:
    found: list[Found] = []
    for path in paths:
        try:
            found.append(_read(path, folder, blind_model))
        except EngineError as error:
            found.append(error)
    return found


def _read(path: Path, folder: ImageFolder, blind_model: str | None) -> Attachment | StoredImage:
    data = read_file(path, MAX_BYTES)
    if not is_image(path.name, data):
        return text_attachment(path.name, data)
    _refuse_blind(path.name, blind_model)
    return _kept(path.name, partial(keep_image, path.name, data, folder))


def _read_picture(image: QImage, name: str, folder: ImageFolder, blind_model: str | None) -> list[Found]:
    try:
        _refuse_blind(name, blind_model)
        return [_kept(name, partial(keep_picture, name, image, folder))]
    except EngineError as error:
        return [error]


def _refuse_blind(name: str, model: str | None) -> None:
    if model is not None:
        raise UnreadableFile(
            QCoreApplication.translate("Attaching", "“{name}” is an image, and {model} reads text only.").format(
                name=name, model=model or QCoreApplication.translate("Attaching", "this model")
            ),
            QCoreApplication.translate("Attaching", "Choose a model that sees images."),
        )


def _kept(name: str, keep: Callable[[], StoredImage]) -> StoredImage:
    try:
        return keep()
    except OSError as error:
        raise UnreadableFile(
            QCoreApplication.translate("Attaching", "“{name}” could not be kept: {reason}.").format(
                name=name, reason=error.strerror or str(error)
            ),
            QCoreApplication.translate("Attaching", "Make room on the drive of your chats."),
            detail=repr(error),
        ) from error
