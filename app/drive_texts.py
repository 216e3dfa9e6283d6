"""Drives in words: what each is called, how much room it has, how fast it reads and what that means. Translated."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QCoreApplication

from app.days import day_text
from app.drive_watch import Drive
from app.verdicts import reads_text
from engine.api import DriveReport
from engine.quantities import format_size

_FAST, _GOOD, _SLOW = 1.2e9, 0.35e9, 0.1e9
"""Bytes per second: an NVMe drive, a SATA one, a hard disk."""


def drive_title(drive: DriveReport) -> str:
    if drive.is_main:
        return QCoreApplication.translate("Drives", "The drive that holds your models")
    if drive.root == "/":
        return QCoreApplication.translate("Drives", "The system's drive")
    if Path(drive.folder).is_relative_to(Path.home()) and not _is_its_own(drive):
        return QCoreApplication.translate("Drives", "The drive of your own files")
    return QCoreApplication.translate("Drives", "Drive {name}").format(name=drive_name(drive))


def drive_name(drive: DriveReport) -> str:
    """``USB``, ``D:``, or ``/`` where it has no other."""
    return drive.root.rstrip("/\\").rpartition("/")[2] or drive.root


def free_text(drive: DriveReport) -> str:
    return QCoreApplication.translate("Drives", "{free} of {total} free").format(
        free=format_size(drive.free_bytes), total=format_size(drive.total_bytes)
    )


def free_words(nbytes: int) -> str:
    return QCoreApplication.translate("Drives", "{size} free").format(size=format_size(nbytes))


def speed_words(drive: Drive) -> str:
    """Its speed, with a word for it; that it is being measured, or that nothing may be written there."""
    if not drive.report.is_writable:
        return QCoreApplication.translate("Drives", "nothing can be written to it as a whole")
    if drive.is_measuring:
        return QCoreApplication.translate("Drives", "being measured…")
    if drive.bytes_per_second is None:
        return QCoreApplication.translate("Drives", "not measured")
    return QCoreApplication.translate("Drives", "{speed} ({word})").format(
        speed=reads_text(drive.bytes_per_second), word=pace_word(drive.bytes_per_second)
    )


def pace_word(bytes_per_second: float) -> str:
    if bytes_per_second >= _FAST:
        return QCoreApplication.translate("Drives", "fast")
    if bytes_per_second >= _GOOD:
        return QCoreApplication.translate("Drives", "good")
    if bytes_per_second >= _SLOW:
        return QCoreApplication.translate("Drives", "slow")
    return QCoreApplication.translate("Drives", "good for keeping models, too slow for answers")


def measured_text(drive: Drive) -> str:
    """When, for a tooltip; empty where that is not known."""
    if drive.measured_at is None:
        return ""
    day = day_text(datetime.fromtimestamp(drive.measured_at).date(), with_year=True)
    return QCoreApplication.translate("Drives", "Measured on {day}").format(day=day)


def choice_text(drive: Drive) -> str:
    """One line of a list to choose from."""
    facts = [free_words(drive.report.free_bytes)]
    if drive.bytes_per_second is not None:
        facts.append(
            QCoreApplication.translate("Drives", "reads {size} a second").format(
                size=format_size(drive.bytes_per_second)
            )
        )
    return f"{drive_title(drive.report)} · " + " · ".join(facts)


def _is_its_own(drive: DriveReport) -> bool:
    """A drive that is mounted inside the home folder."""
    return Path(drive.root).is_relative_to(Path.home())
