"""Which runtimes the engine computes with, and whether they have proved since it was started with them.

Owns the engine's restarts for a runtime and the question asked after each. Must not know where runtimes come from, nor
what is to be done with one that failed.
"""

from __future__ import annotations

import logging
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, Signal, Slot

from app.engine_calls import EngineCall
from app.engine_host import EngineHost, EngineState
from engine.api import TorchReport
from engine.errors import EngineError, EngineRestarted

log = logging.getLogger(__name__)


class EngineSwitch(QObject):
    """Lives in the GUI thread.

    ``ready`` when the engine is ready, ``gone`` when it died and does not start again; ``proved`` with a
    ``TorchReport`` once it has imported from the runtime it was given, ``failed`` with a sentence where it cannot.
    """

    ready = Signal()
    gone = Signal()
    proved = Signal(object)
    failed = Signal(str)

    def __init__(self, overlay: tuple[Path, ...], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine: EngineHost | None = None
        self._is_proved = False
        self.overlay = overlay

    @property
    def has_engine(self) -> bool:
        return self._engine is not None

    def follow(self, engine: EngineHost) -> None:
        """Before ``engine`` starts, with ``overlay`` as its runtimes."""
        self._engine = engine
        engine.engine_state_changed.connect(self._take_state)
        engine.engine_died.connect(self._take_death)

    def lay(self, overlay: tuple[Path, ...]) -> None:
        """The engine is started anew, with these in front of the program's own."""
        assert self._engine is not None
        self.overlay = overlay
        self._is_proved = False
        self._engine.restart(runtimes=overlay)

    @Slot(str)
    def _take_state(self, state: str) -> None:
        if state != EngineState.READY or self._engine is None:
            return
        self.ready.emit()
        if self.overlay and not self._is_proved:
            call = EngineCall(self._engine, "torch_report", parent=self)
            call.result.connect(self._take_report)
            call.failed.connect(self._take_refusal)

    @Slot(object)
    def _take_report(self, report: TorchReport) -> None:
        if not self.overlay:
            return
        if Path(report.folder).resolve() != self.overlay[0].resolve():
            log.error("torch comes from %s, not from %s", report.folder, self.overlay[0])
            self.failed.emit(
                QCoreApplication.translate(
                    "Gpu", "Parts of the software for the card are missing. Remove it, then install it again."
                )
            )
            return
        self._is_proved = True
        self.proved.emit(report)

    @Slot(object)
    def _take_refusal(self, error: EngineError) -> None:
        if self.overlay and not isinstance(error, EngineRestarted):
            self.failed.emit(error.message)

    @Slot(str)
    def _take_death(self, reason: str) -> None:
        is_dead = self._engine is not None and self._engine.state is EngineState.DEAD
        if is_dead:
            self.gone.emit()
        if self.overlay and (is_dead or not self._is_proved):
            self.failed.emit(reason)
