"""Small pictures of stored images, decoded in the background and kept while there is room.

Owns a bounded cache. One for a page; lives in the GUI thread. A file that is lost or damaged has no picture.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QImage, QImageReader, QPixmap

from app.background import Background
from app.chat.image_files import upright_size
from app.conversations.images import ImageFolder

_MOST_PIXELS = 24_000_000
"""Of all kept pictures together: about 100 MB."""

Key = tuple[str, int, int]


class Thumbnails(QObject):
    """``ready`` carries the name of a file whose picture has come, or will never come."""

    ready = Signal(str)

    def __init__(self, folder: ImageFolder, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.folder = folder
        self._pictures: OrderedDict[Key, QPixmap] = OrderedDict()
        self._pixels = 0
        self._coming: set[Key] = set()

    def picture(self, file: str, box: QSize) -> QPixmap | None:
        """At most as large as ``box``, in the screen's own pixels; null where there is none, None while it comes."""
        key = (file, box.width(), box.height())
        if key in self._pictures:
            self._pictures.move_to_end(key)
            return self._pictures[key]
        if key not in self._coming:
            self._coming.add(key)
            call = Background(partial(read_scaled, str(self.folder.path(file)), box), self)
            call.done.connect(partial(self._take, key))
        return None

    def _take(self, key: Key, image: QImage) -> None:
        self._coming.discard(key)
        self._pictures[key] = QPixmap.fromImage(image)
        self._pixels += image.width() * image.height()
        while self._pixels > _MOST_PIXELS and len(self._pictures) > 1:
            _, old = self._pictures.popitem(last=False)
            self._pixels -= old.width() * old.height()
        self.ready.emit(key[0])


def read_scaled(path: str, box: QSize) -> QImage:
    """Upright, within ``box``, never enlarged; null where the file cannot be read. For a thread of its own."""
    reader = QImageReader(path)
    reader.setAutoTransform(True)
    size = upright_size(reader)
    if size.width() > box.width() or size.height() > box.height():
        wanted = size.scaled(box, Qt.AspectRatioMode.KeepAspectRatio)
        # The size is that before turning.
        reader.setScaledSize(wanted if size == reader.size() else wanted.transposed())
    return reader.read()
