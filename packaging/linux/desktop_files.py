"""What makes Strata known to a Linux desktop: menu entry, icons, MIME type, AppStream metadata, below one ``share``."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from engine import __version__

HERE = Path(__file__).resolve().parent
ICONS = HERE.parents[1] / "resources" / "app-icon"
SIZES = (16, 24, 32, 48, 64, 128, 256, 512)


def write_desktop_files(share: Path) -> None:
    """Writes them below ``share``, which is /usr/share or a user's own."""
    _copy(HERE / "strata.desktop", share / "applications" / "strata.desktop")
    _copy(HERE / "strata-mime.xml", share / "mime" / "packages" / "strata.xml")
    icons = share / "icons" / "hicolor"
    _copy(ICONS / "strata.svg", icons / "scalable" / "apps" / "strata.svg")
    for size in SIZES:
        _copy(ICONS / f"strata-{size}.png", icons / f"{size}x{size}" / "apps" / "strata.png")
    metainfo = (HERE / "strata.metainfo.xml").read_text(encoding="utf-8")
    date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))
    place = share / "metainfo" / "strata.metainfo.xml"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(metainfo.replace("@VERSION@", __version__).replace("@DATE@", date), encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
