"""Images as they are seen: a picture that can be pressed, and the whole image in a window of its own.

They show and signal. Must not know conversations.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractButton, QDialog, QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from app.background import Background
from app.chat.thumbnails import Thumbnails, read_scaled
from app.conversations.records import StoredImage
from app.icons import pixmap
from app.theme import tokens
from app.user_folders import documents
from app.widgets.buttons import button
from app.widgets.labels import label

_SMALLEST = 24
_UNKNOWN = 120


class ImageButton(QAbstractButton):
    """A picture with round corners. It keeps its place while the picture is on its way."""

    def __init__(
        self, image: StoredImage, thumbnails: Thumbnails, size: QSize, *, is_cropped: bool = False, parent: QWidget
    ) -> None:
        """``is_cropped``: fills all of ``size`` and loses what does not fit in."""
        super().__init__(parent)
        self.image = image
        self._thumbnails = thumbnails
        self._is_cropped = is_cropped
        self.setFixedSize(size)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.tr("Image {name}").format(name=image.name))
        self.setAccessibleDescription(self.tr("Shows it larger"))
        self.setToolTip(image.name)
        thumbnails.ready.connect(self._take)

    def paintEvent(self, event: QPaintEvent) -> None:
        look = tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        corners = QPainterPath()
        corners.addRoundedRect(QRectF(self.rect()), look.radius, look.radius)
        painter.setClipPath(corners)
        painter.fillRect(self.rect(), QColor(look.hover))
        picture = self._thumbnails.picture(self.image.file, self._wanted() * self.devicePixelRatioF())
        if picture is not None and picture.isNull():
            ratio = self.devicePixelRatioF()
            painter.drawPixmap(
                self.rect().center() - QPoint(10, 10), pixmap("image", 20, colour="text_faint", ratio=ratio)
            )
        elif picture is not None:
            painter.drawPixmap(self._place_of(picture), picture)
        painter.setClipping(False)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(look.accent if self.hasFocus() else look.line), 2 if self.hasFocus() else 1))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), look.radius, look.radius)
        painter.end()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter presses it as Space does."""
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.click()
        else:
            super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        return self.size()

    def _wanted(self) -> QSize:
        """The box that the picture is asked for."""
        if not self._is_cropped or not (self.image.width and self.image.height):
            return self.size()
        whole = QSize(self.image.width, self.image.height)
        return whole.scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatioByExpanding)

    def _place_of(self, picture: QPixmap) -> QRect:
        """In the middle; a small one is not enlarged."""
        size = (picture.size() / self.devicePixelRatioF()).boundedTo(self._wanted())
        place = QRect(QPoint(0, 0), size)
        place.moveCenter(self.rect().center())
        return place

    def _take(self, file: str) -> None:
        if file == self.image.file:
            self.update()


def shown_size(image: StoredImage, box: QSize) -> QSize:
    """What an image takes of a box: all of it, never enlarged. Known before it is decoded."""
    if not (image.width and image.height):
        return QSize(_UNKNOWN, _UNKNOWN).boundedTo(box)
    whole = QSize(image.width, image.height)
    if whole.width() > box.width() or whole.height() > box.height():
        whole.scale(box, Qt.AspectRatioMode.KeepAspectRatio)
    return whole.expandedTo(QSize(_SMALLEST, _SMALLEST))


class ImageDialog(QDialog):
    """As large as the window it belongs to allows. A click, Escape or Enter closes it."""

    def __init__(self, image: StoredImage, path: Path, parent: QWidget) -> None:
        super().__init__(parent)
        look = tokens()
        self._image = image
        self._path = path
        self.setWindowTitle(image.name)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.view = _WholeImage(image, path, self)
        self.view.pressed.connect(self.accept)
        save = button(self.tr("Save a copy…"))
        save.clicked.connect(self._save)
        close = button(self.tr("Close"), "primary")
        close.clicked.connect(self.accept)
        close.setDefault(True)
        self._said = label("", "small")
        foot = QHBoxLayout()
        foot.setSpacing(look.s)
        foot.addWidget(label(f"{image.width} × {image.height}", "faint"))
        foot.addWidget(self._said, 1)
        foot.addWidget(save)
        foot.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(look.m, look.m, look.m, look.m)
        column.setSpacing(look.m)
        column.addWidget(self.view, 1)
        column.addLayout(foot)
        whole = parent.window().size()
        room = QSize(round(whole.width() * 0.9), round(whole.height() * 0.9) - 3 * look.control_height)
        self.resize(shown_size(image, room).expandedTo(QSize(380, 160)) + QSize(2 * look.m, 3 * look.control_height))
        close.setFocus()

    def _save(self) -> None:
        name = f"{Path(self._image.name).stem}{self._path.suffix}"
        path, _ = QFileDialog.getSaveFileName(self, self.tr("Save a copy"), str(documents() / name))
        if path:
            call = Background(partial(shutil.copyfile, self._path, path), self)
            call.done.connect(lambda: self._said.setText(self.tr("Saved")))
            call.failed.connect(
                lambda error: self._said.setText(self.tr("Not saved: {reason}").format(reason=error.strerror))
            )


class _WholeImage(QWidget):
    pressed = Signal()

    def __init__(self, image: StoredImage, path: Path, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Image {name}").format(name=image.name))
        self.setMinimumSize(120, 80)
        self._path = path
        self._picture = QPixmap()
        self._asked = QSize()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Decoded for the size it has; what is there is drawn to size meanwhile."""
        super().resizeEvent(event)
        self._asked = self.size() * self.devicePixelRatioF()
        call = Background(partial(_read, str(self._path), self._asked), self)
        call.done.connect(self._take)

    def _take(self, read: tuple[QSize, QImage]) -> None:
        box, image = read
        if box == self._asked:
            self._picture = QPixmap.fromImage(image)
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        if not self._picture.isNull():
            size = self._picture.size() / self.devicePixelRatioF()
            if size.width() > self.width() or size.height() > self.height():
                size = size.scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
            place = QRect(QPoint(0, 0), size)
            place.moveCenter(self.rect().center())
            painter.drawPixmap(place, self._picture)
        painter.end()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.pressed.emit()


def _read(path: str, box: QSize) -> tuple[QSize, QImage]:
    return box, read_scaled(path, box)
