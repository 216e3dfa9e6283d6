"""How fast each drive was when it was measured, kept between starts. Plain: no Qt, no engine process."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.api import DriveReport

log = logging.getLogger(__name__)

FRESH_S = 30 * 86_400
"""A drive that was measured longer ago is measured again when it is looked at."""


@dataclass(frozen=True, slots=True)
class DriveSpeed:
    """``measured_at`` in seconds since 1970."""

    bytes_per_second: float
    measured_at: float


def drive_key(drive: DriveReport) -> str:
    """Another drive at the same place nearly always has another size."""
    return f"{drive.root} {drive.total_bytes}"


def read_speeds(path: Path) -> dict[str, DriveSpeed]:
    """By ``drive_key``. Empty where nothing was measured yet, or what is there cannot be read."""
    try:
        rows: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return {
            str(key): DriveSpeed(float(row["bytes_per_second"]), float(row["measured_at"])) for key, row in rows.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def write_speeds(path: Path, speeds: Mapping[str, DriveSpeed]) -> None:
    """What cannot be written is measured again next time."""
    fresh = path.with_name(f"{path.name}.new")
    try:
        fresh.write_text(json.dumps({key: asdict(speed) for key, speed in speeds.items()}), encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        log.warning("the speeds of drives could not be saved in %s: %r", path, error)
