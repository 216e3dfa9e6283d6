"""The models one can choose: their list from the engine, and what each costs a token, asked for one by one.

Owns both as they are known now. Shows nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot

from app.engine_calls import EngineCall
from app.engine_host import EngineHost
from engine.api import LoadOptions, ModelInfo, ModelPlan
from engine.events import Loaded


class ModelList(QObject):
    changed = Signal()
    failed = Signal(object)  # EngineError

    def __init__(
        self, engine: EngineHost, load_options: Callable[[], LoadOptions], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._load_options = load_options
        self._planning: EngineCall | None = None
        self._engine = engine
        self._models: tuple[ModelInfo, ...] = ()
        self._predicted: dict[str, float] = {}
        self._planned_names: set[str] = set()
        self._asking: EngineCall | None = None
        self.is_known = False

    @property
    def models(self) -> tuple[ModelInfo, ...]:
        """Those that can chat, the ready ones first."""
        chatting = [each for each in self._models if each.can_chat or each.state != "ready"]
        return tuple(sorted(chatting, key=lambda each: (each.state != "ready", each.title.casefold())))

    def find(self, name: str) -> ModelInfo | None:
        return next((each for each in self._models if each.name == name), None)

    def first_ready(self) -> ModelInfo | None:
        return next((each for each in self.models if each.state == "ready"), None)

    def predicted_s_per_token(self, name: str) -> float | None:
        return self._predicted.get(name)

    def refresh(self) -> None:
        """Asks for the list, unless it is being asked for."""
        if self._asking is not None:
            return
        call = self._asking = EngineCall(self._engine, "list_models", parent=self)
        call.result.connect(self._take_models)
        call.failed.connect(self.failed)
        call.finished.connect(self._asked)

    def ask_plans(self) -> None:
        """What each ready model costs, one after another, where that is not known yet."""
        if self._planning is not None:
            return
        wanted = next(
            (each for each in self.models if each.state == "ready" and each.name not in self._planned_names), None
        )
        if wanted is None:
            return
        # A plan that is refused leaves the row without its figure, which is all that is lost.
        self._planned_names.add(wanted.name)
        call = self._planning = EngineCall(self._engine, "plan", wanted.name, self._load_options(), parent=self)
        call.result.connect(lambda plan: self._take_plan(wanted.name, plan))
        call.finished.connect(self._planned)

    @Slot()
    def _asked(self) -> None:
        self._asking = None

    @Slot(object)
    def _take_models(self, models: list[ModelInfo]) -> None:
        self._models = tuple(models)
        self.is_known = True
        self.changed.emit()

    def _take_plan(self, name: str, plan: ModelPlan) -> None:
        self._predicted[name] = plan.predicted_s_per_token
        self.changed.emit()

    @Slot(object)
    def take_loaded(self, loaded: Loaded | None) -> None:
        """Loading a model says what a token takes, better than a plan."""
        if loaded is not None and loaded.predicted_s_per_token is not None:
            self._predicted[loaded.model] = loaded.predicted_s_per_token
            self.changed.emit()

    @Slot()
    def _planned(self) -> None:
        self._planning = None
        self.ask_plans()
