"""Every answer in the making, followed from the moment it is asked for: where it is and what it says so far.

The queue tells events once, and the store learns of tokens half a second later; whoever opens a chat in between
asks here. Owns no widgets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QObject, Signal, Slot

from app.answers import AnswerQueue
from app.chat.live_progress import LivePhase, LiveProgress
from app.conversations.store import ConversationStore
from app.engine_host import EngineHost, EngineState
from engine.events import LayerProgress, Loaded, LoadProgress


class LiveAnswers(QObject):
    """``text_arrived`` (message id, text) comes after the text was taken in here."""

    text_arrived = Signal(int, str)

    def __init__(
        self,
        queue: AnswerQueue,
        engine: EngineHost,
        store: ConversationStore,
        title_of: Callable[[int], str],
        parent: QObject | None = None,
    ) -> None:
        """``title_of`` gives the title of the chat that a message is in."""
        super().__init__(parent)
        self._queue = queue
        self._engine = engine
        self._store = store
        self._title_of = title_of
        self._progress: dict[int, LiveProgress] = {}
        self._texts: dict[int, str] = {}
        queue.answer_loading.connect(self._take_loading)
        queue.answer_started.connect(self._take_start)
        queue.answer_progress.connect(self._take_progress)
        queue.answer_text.connect(self._take_text)
        queue.answer_interrupted.connect(self._take_interruption)
        queue.answer_finished.connect(self._forget)
        queue.answer_failed.connect(self._forget)
        queue.queue_changed.connect(self.refresh_waiting)
        engine.engine_state_changed.connect(self.refresh_waiting)
        self.refresh_waiting()

    @property
    def progress(self) -> Mapping[int, LiveProgress]:
        return self._progress

    def text_of(self, message_id: int) -> str | None:
        """None for an answer that is not in the making."""
        return self._texts.get(message_id)

    def refresh_waiting(self) -> None:
        """Says to each waiting answer whose it waits for, and to the first whether the engine is there."""
        current = self._queue.current
        if current is not None:
            progress = self._follow(current)
            progress.has_engine = self._engine.state is EngineState.READY
            progress.is_engine_dead = self._engine.state is EngineState.DEAD
            is_restarted = progress.phase is LivePhase.RESTARTING and progress.has_engine
            if progress.phase is LivePhase.WAITING or is_restarted:
                progress.begin()
        for message_id in self._queue.waiting:
            progress = self._follow(message_id)
            progress.wait_for(self._title_of(current) if current is not None else "")

    def _follow(self, message_id: int) -> LiveProgress:
        if message_id not in self._progress:
            self._progress[message_id] = LiveProgress()
            self._texts[message_id] = self._store.text_so_far(message_id)
        return self._progress[message_id]

    @Slot(int, object)
    def _take_loading(self, message_id: int, event: LoadProgress | Loaded) -> None:
        self._follow(message_id).take(event)

    @Slot(int)
    def _take_start(self, message_id: int) -> None:
        self._follow(message_id).begin_reading(self._queue.loaded)

    @Slot(int, object)
    def _take_progress(self, message_id: int, event: LayerProgress) -> None:
        self._follow(message_id).take(event)

    @Slot(int, str)
    def _take_text(self, message_id: int, text: str) -> None:
        self._follow(message_id).take_text()
        self._texts[message_id] += text
        self.text_arrived.emit(message_id, text)

    @Slot(int, object)
    def _take_interruption(self, message_id: int, error: object) -> None:
        self._follow(message_id).interrupt()

    @Slot(int, object)
    def _forget(self, message_id: int, ending: object) -> None:
        self._progress.pop(message_id, None)
        self._texts.pop(message_id, None)
