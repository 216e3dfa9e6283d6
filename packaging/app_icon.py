"""Draws the app icon's PNG files, the Windows and macOS ones, and the picture behind it in macOS' disk image.

    python packaging/app_icon.py

Run it after the drawing changed; the results are committed, so that building needs no drawing.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "resources" / "app-icon"
PNG_SIZES = (16, 24, 32, 48, 64, 128, 256, 512)
ICO_SIZES = (16, 24, 32, 48, 64, 128, 256)
# Twice where a size is both one of its own and another one's for sharp screens.
ICNS_TYPES = {
    b"ic11": 32, b"ic12": 64, b"ic07": 128, b"ic13": 256, b"ic08": 256, b"ic14": 512, b"ic09": 512, b"ic10": 1024,
}  # fmt: skip
BACKGROUND = ROOT / "packaging" / "macos" / "background.svg"
BACKGROUND_SIZE = (640, 400)


def drawn_png(drawing: Path, width: int, height: int) -> bytes:
    """The drawing at this size, as PNG."""
    from PySide6.QtCore import QBuffer, QIODevice, QRectF, Qt
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    image = QImage(width, height, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    QSvgRenderer(str(drawing)).render(painter, QRectF(0, 0, width, height))
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # pyright: ignore[reportCallIssue, reportArgumentType]
    return bytes(buffer.data().data())


def ico(pictures: dict[int, bytes]) -> bytes:
    """A Windows icon of these PNGs. Format: one directory entry of 16 bytes each, then the pictures.

    Only the largest stays a PNG: Windows takes one at any size, but not everything that shows icons on it does.
    """
    files = {pixels: png if pixels >= 256 else bitmap(png) for pixels, png in pictures.items()}
    head = struct.pack("<HHH", 0, 1, len(files))
    offset = len(head) + 16 * len(files)
    entries = b""
    for pixels, file in files.items():
        side = pixels % 256
        entries += struct.pack("<BBBBHHII", side, side, 0, 0, 1, 32, len(file), offset)
        offset += len(file)
    return head + entries + b"".join(files.values())


def bitmap(png: bytes) -> bytes:
    """As icons hold it: BITMAPINFOHEADER with twice the height, colours with alpha from the lowest line up, a mask."""
    from PySide6.QtGui import QImage

    image = QImage.fromData(png, "PNG").convertToFormat(QImage.Format.Format_ARGB32)  # pyright: ignore
    side = image.width()
    header = struct.pack("<IiiHHIIiiII", 40, side, 2 * side, 1, 32, 0, 4 * side * side, 0, 0, 0, 0)
    lines = [bytes(image.constScanLine(line)) for line in reversed(range(side))]  # pyright: ignore[reportArgumentType]
    mask_line = bytes((side + 31) // 32 * 4)  # nothing is masked: the alpha says what is seen
    return header + b"".join(lines) + mask_line * side


def icns(pictures: dict[int, bytes]) -> bytes:
    """A macOS icon that holds these PNGs: type, length and file, one after another."""
    files = [(kind, pictures[pixels]) for kind, pixels in ICNS_TYPES.items()]
    body = b"".join(kind + struct.pack(">I", len(png) + 8) + png for kind, png in files)
    return b"icns" + struct.pack(">I", len(body) + 8) + body


def main() -> None:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtGui import QGuiApplication

    app = QGuiApplication([])
    sizes = sorted({*PNG_SIZES, *ICO_SIZES, *ICNS_TYPES.values()})
    pictures = {pixels: drawn_png(FOLDER / "strata.svg", pixels, pixels) for pixels in sizes}
    for pixels in PNG_SIZES:
        (FOLDER / f"strata-{pixels}.png").write_bytes(pictures[pixels])
    (FOLDER / "strata.ico").write_bytes(ico({pixels: pictures[pixels] for pixels in ICO_SIZES}))
    (FOLDER / "strata.icns").write_bytes(icns(pictures))
    for scale, name in ((1, "background.png"), (2, "background@2x.png")):
        width, height = (scale * side for side in BACKGROUND_SIZE)
        BACKGROUND.with_name(name).write_bytes(drawn_png(BACKGROUND, width, height))
    app.quit()


if __name__ == "__main__":
    main()
