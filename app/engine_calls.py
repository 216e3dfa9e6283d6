"""One call of the engine with signals of its own, so that a page need not compare request numbers.

Owns nothing but the number. Must not know what any method means.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot

from app.engine_host import EngineHost
from engine.errors import EngineError
from engine.events import Finished


class EngineCall(QObject):
    """Asks at once; nothing is signalled before the constructor returns.

    ``occurred`` brings the events of a long call. Ends with exactly one of ``result`` (a short call's value),
    ``failed`` (an ``EngineError``) or an event that is a ``Finished``; then ``finished`` follows, and the object
    deletes itself. A call whose ``parent`` is deleted goes on, but tells nobody: ``cancel`` first where that is not
    wanted.
    """

    occurred = Signal(object)
    result = Signal(object)
    failed = Signal(object)
    finished = Signal()

    def __init__(
        self, host: EngineHost, method: str, *args: object, parent: QObject | None = None, **kwargs: object
    ) -> None:
        super().__init__(parent or host)
        self._host = host
        self._is_over = False
        host.event_arrived.connect(self._take_event)
        host.result_arrived.connect(self._take_result)
        host.request_failed.connect(self._take_failure)
        self.request_id = host.ask(method, *args, **kwargs)

    @property
    def is_over(self) -> bool:
        return self._is_over

    def cancel(self) -> None:
        """Ends with ``Finished(CANCELLED)``, unless it has ended already."""
        if not self._is_over:
            self._host.cancel(self.request_id)

    @Slot(int, object)
    def _take_event(self, request_id: int, event: object) -> None:
        if request_id == self.request_id:
            self.occurred.emit(event)
            if isinstance(event, Finished):
                self._end()

    @Slot(int, object)
    def _take_result(self, request_id: int, value: object) -> None:
        if request_id == self.request_id:
            self.result.emit(value)
            self._end()

    @Slot(int, object)
    def _take_failure(self, request_id: int, error: EngineError) -> None:
        if request_id == self.request_id:
            self.failed.emit(error)
            self._end()

    def _end(self) -> None:
        self._is_over = True
        self._host.event_arrived.disconnect(self._take_event)
        self._host.result_arrived.disconnect(self._take_result)
        self._host.request_failed.disconnect(self._take_failure)
        self.finished.emit()
        self.deleteLater()
