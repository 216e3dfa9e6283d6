"""What the memory budgets mean in seconds per token: the engine plans one of the user's models with them.

Owns asking, a moment after the last change. Must not know how a plan is made.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QWidget

from app.engine_calls import EngineCall
from app.engine_host import EngineHost
from app.engine_texts import shown_text
from app.settings import RAM_BUDGET, VRAM_BUDGET, Settings
from app.theme import tokens
from app.verdicts import duration_text
from app.widgets.labels import label
from app.widgets.popups import combo_box
from engine.api import LoadOptions, ModelInfo, ModelPlan
from engine.errors import EngineError
from engine.quantities import format_size

_SETTLE_MS = 250


class PacePreview(QWidget):
    """Hidden while there is no model to plan with."""

    def __init__(self, engine: EngineHost, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._settings = settings
        self._asked: QObject | None = None
        self._box = combo_box(self.tr("Model to estimate with"))
        self._box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self._box.currentIndexChanged.connect(self._plan_soon)
        self.sentence: QLabel = label("", "small")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, tokens().s, 0, tokens().s)
        row.setSpacing(tokens().m)
        row.addWidget(self._box)
        row.addWidget(self.sentence, 1)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_SETTLE_MS)
        self._timer.timeout.connect(self._plan)
        settings.changed.connect(self._follow)
        self.hide()

    def refresh(self) -> None:
        """Asks which models there are; a dead engine leaves the row hidden."""
        EngineCall(self._engine, "list_models", parent=self).result.connect(self._take_models)

    def _take_models(self, models: list[ModelInfo]) -> None:
        ready = [model for model in models if model.state == "ready"]
        kept = self._box.currentData()
        self._box.blockSignals(True)
        self._box.clear()
        for model in ready:
            self._box.addItem(model.title, model.name)
        self._box.setCurrentIndex(max(self._box.findData(kept), 0))
        self._box.blockSignals(False)
        self.setVisible(bool(ready))
        self._plan_soon()

    def _follow(self, name: str) -> None:
        if name in (RAM_BUDGET.name, VRAM_BUDGET.name):
            self._plan_soon()

    def _plan_soon(self) -> None:
        if self._box.currentData():
            self._timer.start()

    def _plan(self) -> None:
        options = LoadOptions(ram=self._settings.value(RAM_BUDGET), vram=self._settings.value(VRAM_BUDGET))
        call = EngineCall(self._engine, "plan", self._box.currentData(), options, parent=self)
        self._asked = call
        call.result.connect(lambda plan: self._show(call, plan))
        call.failed.connect(lambda error: self._show(call, error))

    def _show(self, call: QObject, answer: ModelPlan | EngineError) -> None:
        """An answer to an older question is not shown."""
        if call is not self._asked:
            return
        if isinstance(answer, EngineError):
            self.sentence.setText(shown_text(answer.message))
            return
        pace = duration_text(answer.predicted_s_per_token)
        if answer.streamed_bytes:
            self.sentence.setText(
                self.tr("About {pace} per token; {size} read from the drive for each.").format(
                    pace=pace, size=format_size(answer.streamed_bytes)
                )
            )
        else:
            self.sentence.setText(self.tr("About {pace} per token; all of it stays in memory.").format(pace=pace))
