"""This computer as measured last: measured by the engine when asked, kept in the data folder between starts."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.engine_calls import EngineCall
from app.engine_host import EngineHost
from app.machine_record import MACHINE_FILE_NAME, read_machine, write_machine
from app.paths import Paths
from engine.api import MachineReport


class MachineWatch(QObject):
    """``report`` is None until something was measured, on this start or an earlier one."""

    measured = Signal(object)
    failed = Signal(object)

    def __init__(self, engine: EngineHost, paths: Paths, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._file = paths.data_dir / MACHINE_FILE_NAME
        self._call: EngineCall | None = None
        self.report: MachineReport | None = read_machine(self._file)

    @property
    def is_measuring(self) -> bool:
        return self._call is not None

    def measure(self) -> None:
        """Takes seconds and writes a quarter of a gigabyte for a moment: only when asked for."""
        if self._call is not None:
            return
        call = EngineCall(self._engine, "probe", parent=self)
        self._call = call
        call.result.connect(self._take)
        call.failed.connect(self._fail)

    def refresh(self) -> None:
        """What another page measured meanwhile."""
        self.report = read_machine(self._file) or self.report

    def _take(self, report: MachineReport) -> None:
        self._call = None
        self.report = report
        write_machine(self._file, report)
        self.measured.emit(report)

    def _fail(self, error: object) -> None:
        self._call = None
        self.failed.emit(error)
