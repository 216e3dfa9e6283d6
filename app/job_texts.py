"""A job's progress in words, for every page that shows one. Pure, translated."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import QCoreApplication

from app.job_records import Job
from app.verdicts import duration_text, speed_text
from engine.events import JobProgress
from engine.quantities import format_size

_DOWNLOAD_PHASES = frozenset({"downloading", "waiting", "paused"})


def is_of_download(progress: JobProgress) -> bool:
    """A download and the cutting that follows it report side by side, each with files or blocks of its own."""
    return progress.phase in _DOWNLOAD_PHASES


def is_complete(progress: JobProgress) -> bool:
    return progress.bytes_done >= progress.bytes_total > 0


class LeadingProgress:
    """Of one job, what counts: while something is still to be fetched the download, not the cutting beside it."""

    def __init__(self) -> None:
        self._download: JobProgress | None = None

    def take(self, progress: JobProgress | None) -> JobProgress | None:
        """The newest progress of the job in, the one to show out."""
        if progress is None:
            return self._download
        if is_of_download(progress):
            self._download = progress
        is_fetching = self._download is not None and not is_complete(self._download)
        return self._download if is_fetching else progress


def waits_text(job: Job) -> str:
    """What a job that goes on by itself waits for; empty for every other."""
    if job.waits_for_bytes is not None:
        return QCoreApplication.translate(
            "Jobs", "Paused until {size} are free on the drive. Then it goes on by itself."
        ).format(size=format_size(job.waits_for_bytes))
    if job.waits_until is not None:
        return QCoreApplication.translate(
            "Jobs", "Paused: the hub cannot be reached. It is tried again at {time}."
        ).format(time=f"{datetime.fromtimestamp(job.waits_until):%H:%M}")
    return ""


def retry_text(job: Job) -> str:
    """On the button of a job that failed: the way on, which may begin with a question."""
    if job.error is not None and job.error.code is not None:
        return QCoreApplication.translate("Jobs", "Look at its code")
    return QCoreApplication.translate("Jobs", "Try again")


def phase_text(phase: str) -> str:
    """What is being done; a phase this version does not know is shown by its name."""
    names = {
        "checking": QCoreApplication.translate("Jobs", "Checking what is there already"),
        "planning": QCoreApplication.translate("Jobs", "Getting ready"),
        "downloading": QCoreApplication.translate("Jobs", "Downloading"),
        "waiting": QCoreApplication.translate("Jobs", "Waiting for the hub"),
        "paused": QCoreApplication.translate("Jobs", "Waiting for room on the drive"),
        "cutting": QCoreApplication.translate("Jobs", "Cutting into blocks"),
        "verifying": QCoreApplication.translate("Jobs", "Reading back and checking"),
        "deleting": QCoreApplication.translate("Jobs", "Deleting the original"),
        "repairing": QCoreApplication.translate("Jobs", "Repairing"),
        "copying": QCoreApplication.translate("Jobs", "Copying"),
        "comparing": QCoreApplication.translate("Jobs", "Reading back and comparing"),
        "switching": QCoreApplication.translate("Jobs", "Removing the old copy"),
        "in use": QCoreApplication.translate("Jobs", "Copied. Waiting for the answer that uses this model"),
    }
    return names.get(phase, phase)


def block_text(progress: JobProgress) -> str:
    """``Cutting into blocks · block 12 of 38 · layer-011``, or the file that is being fetched."""
    parts = [phase_text(progress.phase)]
    if progress.block and progress.blocks:
        counted = (
            QCoreApplication.translate("Jobs", "file {number} of {count}")
            if is_of_download(progress)
            else QCoreApplication.translate("Jobs", "block {number} of {count}")
        )
        parts.append(counted.format(number=progress.block, count=progress.blocks))
    if progress.block_name:
        parts.append(progress.block_name)
    return " · ".join(parts)


def amount_text(progress: JobProgress) -> str:
    """``1.24 GB of 16.4 GB``: bytes with decimals, where a percentage would stand still. Empty while unknown."""
    if not progress.bytes_total:
        return ""
    return QCoreApplication.translate("Jobs", "{done} of {total}").format(
        done=format_size(progress.bytes_done), total=format_size(progress.bytes_total)
    )


def percent_text(progress: JobProgress) -> str:
    return f"{100 * share_of(progress):.1f} %"


def pace_of_job_text(progress: JobProgress, *, is_stalled: bool = False) -> str:
    """Speed and time left; a stalled job has the speed zero, not its last one. Planning moves no bytes at all."""
    if progress.phase in ("switching", "in use"):
        return ""
    if progress.phase == "planning":
        return QCoreApplication.translate("Jobs", "Looking through the model, a few seconds")
    if is_stalled or (is_of_download(progress) and not progress.bytes_per_second):
        return QCoreApplication.translate("Jobs", "{speed} · nothing has moved for a while").format(speed=speed_text(0))
    if progress.seconds_left is None:
        return QCoreApplication.translate("Jobs", "Working out how long it takes")
    return QCoreApplication.translate("Jobs", "{speed} · about {time} left").format(
        speed=speed_text(progress.bytes_per_second), time=duration_text(max(progress.seconds_left, 1))
    )


def share_of(progress: JobProgress) -> float:
    return min(progress.bytes_done / progress.bytes_total, 1.0) if progress.bytes_total else 0.0
