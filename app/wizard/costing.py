"""Asks the engine what a model costs: first as usual, then with the box about its files ticked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.engine_calls import EngineCall
from app.hub_access import hub_access
from app.models_folder import models_folder, total_on_drive
from app.services import Services
from app.settings import FREE_SPACE_FLOOR, RAM_BUDGET, VRAM_BUDGET
from app.wizard.cost_step import Cost
from app.wizard.flow import STARTER_SOURCE, FlowState
from engine.api import LoadOptions, ModelPlan


class Costing(QObject):
    """``costed`` comes once with the plan, and again when the one for the ticked box is there. ``failed`` ends it."""

    costed = Signal(object)
    failed = Signal(object)

    def __init__(self, services: Services, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._services = services
        self._call: EngineCall | None = None
        self._state = FlowState()
        self._cost: Cost | None = None

    @property
    def cost(self) -> Cost | None:
        return self._cost

    def start(self, state: FlowState) -> None:
        """Forgets what was asked before; its answer is not waited for."""
        self._state = state
        self._cost = None
        self._ask(is_ticked=False)

    def stop(self) -> None:
        self._call = None

    def _ask(self, *, is_ticked: bool) -> None:
        settings = self._services.settings
        options = LoadOptions(ram=settings.value(RAM_BUDGET), vram=settings.value(VRAM_BUDGET))
        source, engine = self._state.source, self._services.engine
        target = Path(self._state.target) if self._state.target else None
        if self._state.is_download:
            access = hub_access(settings, self._services.secrets)
            call = EngineCall(
                engine, "plan_download", source, access, options, parent=self, keep_download=is_ticked, target=target
            )
        else:
            call = EngineCall(engine, "plan", source, options, parent=self, delete_original=is_ticked, target=target)
        self._call = call
        call.result.connect(lambda plan: self._take(call, plan))
        call.failed.connect(lambda error: self._fail(call, error))

    def _take(self, call: EngineCall, plan: ModelPlan) -> None:
        if call is not self._call:
            return
        if self._cost is None:
            self._cost = self._first(plan)
            if not plan.is_cut and self._state.source != STARTER_SOURCE:
                self._ask(is_ticked=True)
        else:
            self._cost = replace(self._cost, ticked=plan)
        self.costed.emit(self._cost)

    def _fail(self, call: EngineCall, error: object) -> None:
        """The second plan is an addition: without it there is nothing to tick, and nothing to say."""
        if call is self._call and self._cost is None:
            self.failed.emit(error)

    def _first(self, plan: ModelPlan) -> Cost:
        wanted = self._state.target or str(models_folder(self._services.settings, self._services.paths))
        folder = plan.folder or wanted
        return Cost(
            plan=plan,
            ticked=None,
            is_download=self._state.is_download,
            drive_total_bytes=total_on_drive(Path(folder)) or 0,
            floor_bytes=self._services.settings.value(FREE_SPACE_FLOOR),
            folder=folder,
            is_begun_there=folder != wanted,
        )
