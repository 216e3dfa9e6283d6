"""A search on the hub: one request when the user asks for it, and none before."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.engine_calls import EngineCall
from app.hub_access import hub_access
from app.services import Services
from engine.api import SearchFilters

_MOST_HITS = 20


class HubSearch(QObject):
    """``found`` brings a list of ``HubModel``, ``failed`` an ``EngineError``; of the last ``start`` only."""

    found = Signal(object)
    failed = Signal(object)

    def __init__(self, services: Services, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._services = services
        self._call: EngineCall | None = None

    def start(self, words: str) -> None:
        access = hub_access(self._services.settings, self._services.secrets)
        call = EngineCall(
            self._services.engine,
            "search_models",
            words,
            access,
            parent=self,
            filters=SearchFilters(),
            limit=_MOST_HITS,
        )
        self._call = call
        call.result.connect(lambda models: self.found.emit(models) if call is self._call else None)
        call.failed.connect(lambda error: self.failed.emit(error) if call is self._call else None)
