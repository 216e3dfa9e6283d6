"""The disk image people download: the program, a link to Applications, and a picture that says what to do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from macos.signing import IDENTITY

from engine import __version__

HERE = Path(__file__).resolve().parent
# dmgbuild takes background@2x.png, which lies beside it, for sharp screens.
BACKGROUND = HERE / "background.png"
ICNS = HERE.parents[1] / "resources" / "app-icon" / "strata.icns"
WINDOW = (640, 400)
PROGRAM_AT, APPLICATIONS_AT = (170, 190), (470, 190)


def build_disk_image(app: Path, target: Path) -> Path:
    """Writes the image into ``target`` and returns its path; signed where there is an identity."""
    import dmgbuild  # pyright: ignore[reportMissingImports]  # there is one on macOS only

    image = target / f"Strata-{__version__}-macos-arm64.dmg"
    dmgbuild.build_dmg(str(image), f"Strata {__version__}", settings=disk_image_settings(app))
    if identity := os.environ.get(IDENTITY):
        subprocess.run(["codesign", "--sign", identity, "--timestamp", str(image)], check=True)
    return image


def disk_image_settings(app: Path) -> dict[str, Any]:
    """What dmgbuild is to make. Points of the window's own coordinates, from its upper left corner."""
    return {
        "format": "ULMO",  # LZMA, which macOS reads since 10.15
        "filesystem": "HFS+",
        "files": [str(app)],
        "symlinks": {"Applications": "/Applications"},
        "hide_extensions": [app.name],
        "icon": str(ICNS),
        "background": str(BACKGROUND),
        "window_rect": ((200, 200), WINDOW),
        "default_view": "icon-view",
        "icon_size": 128.0,
        "text_size": 13.0,
        "icon_locations": {app.name: PROGRAM_AT, "Applications": APPLICATIONS_AT},
    }
