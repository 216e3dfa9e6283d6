"""The drives of this computer with their free space and read speed: listed at once, measured one after another.

Owns what is known of drives. Nothing waits for it: a drive whose speed is not known yet has none, and ``changed`` tells
when it has. Must not know who shows them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.drive_records import FRESH_S, DriveSpeed, drive_key, read_speeds, write_speeds
from app.engine_calls import EngineCall
from app.engine_host import EngineHost
from app.machine_record import MACHINE_FILE_NAME, read_machine
from app.paths import Paths
from engine.api import DriveReport


@dataclass(frozen=True, slots=True)
class Drive:
    """``bytes_per_second`` is None while it is not known; ``measured_at`` too, and for the drive of the models, whose
    speed is part of the machine's report.
    """

    report: DriveReport
    bytes_per_second: float | None
    measured_at: float | None
    is_measuring: bool = False


class DriveWatch(QObject):
    """Lives in the GUI thread; asks nothing before ``look``."""

    changed = Signal()

    def __init__(
        self, engine: EngineHost, paths: Paths, parent: QObject | None = None, *, now: Callable[[], float] = time.time
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._file = paths.drives_file
        self._machine_file = paths.data_dir / MACHINE_FILE_NAME
        self._now = now
        self._reports: Sequence[DriveReport] = ()
        self._speeds = read_speeds(self._file)
        self._call: EngineCall | None = None
        self._measured: str = ""
        self._tried: set[str] = set()
        self._may_measure = False

    @property
    def drives(self) -> list[Drive]:
        """That for new models first."""
        machine = read_machine(self._machine_file)
        found: list[Drive] = []
        for report in self._reports:
            speed = self._speeds.get(drive_key(report))
            if report.is_main and machine is not None:
                found.append(Drive(report, machine.disk_bytes_per_second, None))
            else:
                is_measuring = drive_key(report) == self._measured
                found.append(
                    Drive(
                        report,
                        speed.bytes_per_second if speed else None,
                        speed.measured_at if speed else None,
                        is_measuring,
                    )
                )
        return found

    def look(self, *, measures: bool = True) -> None:
        """Which drives there are now. ``measures``: those whose speed is not known, as soon as nothing else is."""
        self._may_measure = self._may_measure or measures
        call = EngineCall(self._engine, "list_drives", parent=self)
        call.result.connect(self._take_drives)

    def forget(self) -> None:
        """All speeds: the next look measures anew, however fresh they are."""
        self._tried.clear()
        self._speeds.clear()

    def speed_of(self, folder: Path) -> float | None:
        """Bytes per second where a folder of models is; None where that is not known, or on the main drive."""
        roots = {drive.report.root: drive for drive in self.drives if folder.is_relative_to(drive.report.root)}
        if not roots:
            return None
        drive = roots[max(roots, key=len)]
        return None if drive.report.is_main else drive.bytes_per_second

    def _take_drives(self, reports: Sequence[DriveReport]) -> None:
        self._reports = reports
        self.changed.emit()
        if self._may_measure:
            self._measure_next()

    def _measure_next(self) -> None:
        if self._call is not None:
            return
        report = next((each for each in self._reports if self._is_due(each)), None)
        if report is None:
            return
        self._measured = drive_key(report)
        self._tried.add(self._measured)
        self._call = call = EngineCall(self._engine, "measure_drive", Path(report.folder), parent=self)
        call.result.connect(self._take_speed)
        call.finished.connect(self._end)
        self.changed.emit()

    def _is_due(self, report: DriveReport) -> bool:
        """One that could not be measured is not tried again until the next start."""
        speed = self._speeds.get(drive_key(report))
        is_fresh = speed is not None and self._now() - speed.measured_at < FRESH_S
        return report.is_writable and not report.is_main and not is_fresh and drive_key(report) not in self._tried

    def _take_speed(self, bytes_per_second: float) -> None:
        self._speeds[self._measured] = DriveSpeed(bytes_per_second, self._now())
        write_speeds(self._file, self._speeds)

    def _end(self) -> None:
        self._call = None
        self._measured = ""
        self.changed.emit()
        self._measure_next()
