"""Images on their way into a conversation: decoded once to see that they can be, kept as they are or as PNG.

Reads and decodes: for a thread of its own. Must not know where images are shown.
"""

from __future__ import annotations

from PySide6.QtCore import QBuffer, QByteArray, QCoreApplication, QIODevice, QSize
from PySide6.QtGui import QImage, QImageIOHandler, QImageReader

from app.chat.text_files import UnreadableFile
from app.conversations.images import ImageFolder, image_suffix
from app.conversations.records import StoredImage
from engine.quantities import format_size

MAX_BYTES = 40_000_000
MAX_PIXELS = 64_000_000
"""What the engine reads as well; beyond the cameras of nearly all telephones."""


_FORMATS = {
    b"png",
    b"jpeg",
    b"jpg",
    b"webp",
    b"gif",
    b"bmp",
    b"tiff",
    b"tif",
    b"ico",
    b"heic",
    b"heif",
    b"avif",
    b"jxl",
}
"""Of what Qt reads: no drawings and documents, and nothing that a text may be mistaken for."""


_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".heic", ".avif")


def is_image(name: str, data: bytes) -> bool:
    """Whether it is meant to be one: it begins as an image file does, or is called like one."""
    if image_suffix(data) or name.lower().endswith(_SUFFIXES):
        return True
    buffer = _open(data)
    reader = QImageReader(buffer)
    return reader.canRead() and bytes(reader.format().data()) in _FORMATS and reader.size().isValid()


def keep_image(name: str, data: bytes, folder: ImageFolder) -> StoredImage:
    """The image, now in ``folder``. Raises ``UnreadableFile`` for what is too big or damaged, ``OSError``."""
    if len(data) > MAX_BYTES:
        raise UnreadableFile(
            QCoreApplication.translate(
                "ImageFiles", "“{name}” has {size}; images of up to {limit} can be sent."
            ).format(name=name, size=format_size(len(data)), limit=format_size(MAX_BYTES)),
            QCoreApplication.translate("ImageFiles", "Make it smaller, then add it again."),
        )
    buffer = _open(data)
    reader = QImageReader(buffer)
    reader.setAutoTransform(True)
    size = reader.size()
    if size.width() * size.height() > MAX_PIXELS:
        raise UnreadableFile(
            QCoreApplication.translate(
                "ImageFiles", "“{name}” has {pixels} million pixels; images of up to {limit} million can be sent."
            ).format(name=name, pixels=round(size.width() * size.height() / 1e6), limit=round(MAX_PIXELS / 1e6)),
            QCoreApplication.translate("ImageFiles", "Make it smaller, then add it again."),
        )
    image = reader.read()
    if image.isNull():
        raise UnreadableFile(
            QCoreApplication.translate("ImageFiles", "“{name}” is damaged or not an image.").format(name=name),
            QCoreApplication.translate("ImageFiles", "Choose another image, or save it anew."),
            detail=reader.errorString(),
        )
    kept = data if image_suffix(data) else _png(image)
    return StoredImage(name, folder.add(kept), image.width(), image.height())


def keep_picture(name: str, image: QImage, folder: ImageFolder) -> StoredImage:
    """As ``keep_image``, for pixels without a file: what was copied from another program."""
    return keep_image(name, _png(image), folder)


def upright_size(reader: QImageReader) -> QSize:
    """Of the image as it is seen, before it is decoded."""
    size = reader.size()
    turned = reader.transformation() & QImageIOHandler.Transformation.TransformationRotate90
    return size.transposed() if turned else size


def _png(image: QImage) -> bytes:
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # pyright: ignore[reportArgumentType, reportCallIssue]
    return bytes(data.data())


def _open(data: bytes) -> QBuffer:
    buffer = QBuffer()
    buffer.setData(data)
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    return buffer
