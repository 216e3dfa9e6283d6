"""One family of icons, drawn for this program: SVGs with ``currentColor``, painted in the theme's colours.

Owns loading and colouring. An icon asks for its colour when it is painted, so it follows the theme, the font scale and
the screen's resolution by itself. Icons are in ``resources/icons``: 24 by 24, round strokes of 1.75.
"""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QByteArray, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app.paths import resources_dir
from app.theme import tokens

APP_ICON_SIZES = (16, 24, 32, 48, 64, 128, 256, 512)


def icon(name: str, *, colour: str = "text_muted") -> QIcon:
    """``name`` is a file of ``resources/icons``; ``colour`` a colour token. Raises ``FileNotFoundError``."""
    _svg(name)
    return QIcon(_ThemedIcon(name, colour))


def pixmap(name: str, size: int, *, colour: str = "text_muted", ratio: float = 1.0) -> QPixmap:
    """For labels: a picture of ``size`` logical pixels, crisp on a screen of that ratio."""
    return _rendered(name, _value(colour), round(size * ratio), ratio)


@cache
def app_icon() -> QIcon:
    """The program's own, drawn at every size a desktop asks for."""
    drawing = QByteArray((resources_dir() / "app-icon" / "strata.svg").read_bytes())
    result = QIcon()
    for pixels in APP_ICON_SIZES:
        result.addPixmap(_painted(drawing, pixels))
    return result


@cache
def _svg(name: str) -> str:
    return (resources_dir() / "icons" / f"{name}.svg").read_text(encoding="utf-8")


def _value(colour: str) -> str:
    return str(getattr(tokens(), colour))


@cache
def _rendered(name: str, value: str, pixels: int, ratio: float) -> QPixmap:
    picture = _painted(QByteArray(_svg(name).replace("currentColor", value).encode()), pixels)
    picture.setDevicePixelRatio(ratio)
    return picture


def _painted(drawing: QByteArray, pixels: int) -> QPixmap:
    picture = QPixmap(pixels, pixels)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    QSvgRenderer(drawing).render(painter, QRectF(0, 0, pixels, pixels))
    painter.end()
    return picture


def _widened(picture: QPixmap, pixels: int) -> QPixmap:
    wide = QPixmap(pixels, picture.height())
    wide.fill(Qt.GlobalColor.transparent)
    wide.setDevicePixelRatio(picture.devicePixelRatio())
    painter = QPainter(wide)
    painter.drawPixmap(0, 0, picture)
    painter.end()
    return wide


class _ThemedIcon(QIconEngine):
    """Colours at the moment of painting; disabled icons take the colour of disabled text."""

    def __init__(self, name: str, colour: str) -> None:
        super().__init__()
        self._name = name
        self._colour = colour

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        ratio = painter.device().devicePixelRatioF()
        side = min(rect.width(), rect.height())
        picture = _rendered(self._name, self._shade(mode), round(side * ratio), ratio)
        corner = rect.center() - QPoint((side - 1) // 2, (side - 1) // 2)
        painter.drawPixmap(corner, picture)

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        return self.scaledPixmap(size, mode, state, 1.0)

    def scaledPixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State, scale: float) -> QPixmap:
        """``size`` in logical pixels. Wider than high: the rest is room at the right, which keeps a text away."""
        side = round(min(size.width(), size.height()) * scale)
        picture = _rendered(self._name, self._shade(mode), side, scale)
        return picture if size.width() <= size.height() else _widened(picture, round(size.width() * scale))

    def clone(self) -> QIconEngine:
        return _ThemedIcon(self._name, self._colour)

    def _shade(self, mode: QIcon.Mode) -> str:
        return _value("line_strong" if mode is QIcon.Mode.Disabled else self._colour)
