"""The files and images that will go with a message: a chip or a picture each, with a button that takes it off."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.chat.image_views import ImageButton
from app.chat.thumbnails import Thumbnails
from app.conversations.records import Attachment, StoredImage
from app.theme import tokens
from app.widgets.buttons import icon_button
from app.widgets.flow_layout import FlowLayout
from app.widgets.labels import IconLabel, label

MOST = 20
"""Files and images of one message."""

_PICTURE = 64


class FileChips(QWidget):
    """``image_chosen`` carries the ``StoredImage`` that is to be seen larger."""

    changed = Signal()
    image_chosen = Signal(object)

    def __init__(self, thumbnails: Thumbnails, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Attached files"))
        self._thumbnails = thumbnails
        self._images: list[StoredImage] = []
        self._files: list[Attachment] = []
        self._row = FlowLayout(self, spacing=tokens().s)

    @property
    def files(self) -> tuple[Attachment, ...]:
        return tuple(self._files)

    @property
    def images(self) -> tuple[StoredImage, ...]:
        return tuple(self._images)

    @property
    def count(self) -> int:
        return len(self._files) + len(self._images)

    def set_contents(self, files: tuple[Attachment, ...], images: tuple[StoredImage, ...]) -> None:
        self._files, self._images = list(files), list(images)
        self._draw()

    def add(self, file: Attachment) -> None:
        """One of the same name takes the place of the old one."""
        self._files = [each for each in self._files if each.name != file.name] + [file]
        self._tell()

    def add_image(self, image: StoredImage) -> None:
        """Once only: the same picture twice says nothing more."""
        if all(each.file != image.file for each in self._images):
            self._images.append(image)
            self._tell()

    def remove(self, thing: Attachment | StoredImage) -> None:
        self._files = [each for each in self._files if each != thing]
        self._images = [each for each in self._images if each != thing]
        self._tell()

    def _tell(self) -> None:
        self._draw()
        self.changed.emit()

    def _draw(self) -> None:
        self._row.clear()
        for image in self._images:
            self._row.addWidget(self._picture(image))
        for file in self._files:
            self._row.addWidget(self._chip(file))
        self.setVisible(self.count > 0)

    def _picture(self, image: StoredImage) -> QWidget:
        """The picture, and the button on its upper right corner."""
        whole = QWidget()
        whole.setFixedSize(_PICTURE + 8, _PICTURE + 8)
        size = QSize(_PICTURE, _PICTURE)
        picture = ImageButton(image, self._thumbnails, size, is_cropped=True, parent=whole)
        picture.move(0, 8)
        picture.clicked.connect(lambda: self.image_chosen.emit(image))
        off = icon_button("close", self.tr("Remove {name}").format(name=image.name), size=12, parent=whole)
        off.setProperty("kind", "corner")
        off.setGeometry(_PICTURE + 8 - 22, 0, 22, 22)
        off.clicked.connect(lambda: self.remove(image))
        return whole

    def _chip(self, file: Attachment) -> QWidget:
        look = tokens()
        chip = QFrame()
        chip.setProperty("role", "chip")
        chip.setToolTip(self.tr("{name}, {count} characters").format(name=file.name, count=f"{len(file.text):,}"))
        row = QHBoxLayout(chip)
        row.setContentsMargins(look.s, 2, 2, 2)
        row.setSpacing(look.xs)
        row.addWidget(IconLabel("file", size=14))
        row.addWidget(label(file.name, "small"))
        off = icon_button("close", self.tr("Remove {name}").format(name=file.name), size=12)
        off.clicked.connect(lambda: self.remove(file))
        row.addWidget(off)
        return chip
