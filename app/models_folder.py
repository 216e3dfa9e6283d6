"""Where models go by the settings, and how much room is there."""

from __future__ import annotations

import shutil
from pathlib import Path

from app.paths import Paths
from app.settings import MODELS_FOLDER, Settings


def models_folder(settings: Settings, paths: Paths) -> Path:
    """May not exist yet."""
    chosen = settings.value(MODELS_FOLDER)
    return Path(chosen) if chosen else paths.models_dir


def downloads_folder(settings: Settings, paths: Paths) -> Path:
    """Where the engine puts what it fetches until it is cut (``engine.store.download_folder``)."""
    return paths.downloads_dir if not settings.value(MODELS_FOLDER) else models_folder(settings, paths) / ".downloads"


def free_on_drive(folder: Path) -> int | None:
    """Bytes; None where the drive is gone."""
    usage = _usage(folder)
    return usage[1] if usage else None


def total_on_drive(folder: Path) -> int | None:
    """Bytes; None where the drive is gone."""
    usage = _usage(folder)
    return usage[0] if usage else None


def _usage(folder: Path) -> tuple[int, int] | None:
    for place in (folder, *folder.parents):
        try:
            usage = shutil.disk_usage(place)
        except OSError:
            continue
        return usage.total, usage.free
    return None
