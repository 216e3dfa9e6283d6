"""Draws the installer's two pictures: the band at the side of its first and last page, and the mark in its header.

    python packaging/windows/pictures.py

Run it after the app icon changed; the results are committed, so that building needs no drawing.
"""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
ICON = HERE.parents[1] / "resources" / "app-icon" / "strata.svg"
SIDE, HEAD = (164, 314), (150, 57)
"""Pixels, as the Modern UI of NSIS has them at 100 %."""
SCALE = 2
"""They are drawn larger, for sharp screens; NSIS fits them in."""
TOP, BOTTOM = "#14877c", "#0a5650"
LAYERS = {"#f6ead6": (0.56, 0.05), "#e9b872": (0.66, 0.12), "#0b3532": (0.82, 0.18)}
"""Colour of a layer: where it begins and how thick it is, in shares of the height. As in the icon, the last ends it."""


def draw_side() -> None:
    """The icon's layers, as high as the page."""
    from PySide6.QtCore import QPointF, QRectF
    from PySide6.QtGui import QColor, QImage, QLinearGradient, QPainter, QPainterPath

    width, height = (side * SCALE for side in SIDE)
    image = QImage(width, height, QImage.Format.Format_RGB888)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    ground = QLinearGradient(0, 0, 0, height)
    ground.setColorAt(0, QColor(TOP))
    ground.setColorAt(1, QColor(BOTTOM))
    painter.fillRect(QRectF(0, 0, width, height), ground)
    swing = height * 0.035
    for colour, (begin, thickness) in LAYERS.items():
        upper = begin * height
        lower = height if colour == "#0b3532" else upper + thickness * height
        path = QPainterPath(QPointF(0, upper))
        path.cubicTo(width * 0.35, upper - 2 * swing, width * 0.55, upper + 2 * swing, width, upper - swing)
        path.lineTo(width, lower - swing if lower < height else lower)
        if lower < height:
            path.cubicTo(width * 0.55, lower + 2 * swing, width * 0.35, lower - 2 * swing, 0, lower)
        else:
            path.lineTo(0, height)
        path.closeSubpath()
        painter.fillPath(path, QColor(colour))
    painter.end()
    image.save(str(HERE / "side.bmp"), "BMP")  # pyright: ignore[reportCallIssue, reportArgumentType]


def draw_head() -> None:
    """The icon at the right of a white header."""
    from PySide6.QtCore import QRectF, Qt
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    width, height = (side * SCALE for side in HEAD)
    image = QImage(width, height, QImage.Format.Format_RGB888)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    side = height * 0.74
    QSvgRenderer(str(ICON)).render(painter, QRectF(width - side - height * 0.2, (height - side) / 2, side, side))
    painter.end()
    image.save(str(HERE / "head.bmp"), "BMP")  # pyright: ignore[reportCallIssue, reportArgumentType]


def main() -> None:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtGui import QGuiApplication

    app = QGuiApplication([])
    draw_side()
    draw_head()
    app.quit()


if __name__ == "__main__":
    main()
