"""The user's own folders, where a dialog about files begins."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QStandardPaths


def documents() -> Path:
    return Path(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation))


def downloads() -> Path:
    return Path(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DownloadLocation))
