"""The one queue of answers: loads the right model, streams each answer into the store, goes on after a crash.

Owns the order of answers and which model is loaded. Must not know how messages are kept or shown.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.answer_pace import AnswerPace, PaceClock
from app.answer_recorder import AnswerRecorder, AnswerStore
from app.engine_calls import EngineCall
from app.engine_host import EngineHost, EngineState
from engine.api import LoadOptions, Message, SamplingOptions
from engine.errors import EngineDied, EngineError, EngineFault, EngineRestarted, NotLoaded
from engine.events import (
    Event,
    Finished,
    GenerationResult,
    LayerProgress,
    Loaded,
    LoadProgress,
    Notice,
    Outcome,
    TokenArrived,
)

log = logging.getLogger(__name__)

DEATHS_WITHOUT_PROGRESS = 2
"""An answer that ends the engine this often without a new token in between has failed."""


class _Phase(Enum):
    WAITING = auto()
    LOADING = auto()
    ANSWERING = auto()
    ENDING = auto()


@dataclass(slots=True, eq=False)
class _Answer:
    conversation_id: int
    message_id: int
    model: str
    messages: tuple[Message, ...]
    sampling: SamplingOptions
    thinking: bool | None
    token_ids: list[int]
    phase: _Phase = _Phase.WAITING
    first_new_token: int = 0
    deaths: int = 0
    is_cancelled: bool = False
    has_loaded: bool = False
    call: EngineCall | None = None
    clock: PaceClock | None = None
    ending: GenerationResult | EngineError | None = field(default=None)


class AnswerQueue(QObject):
    """Lives in the GUI thread. ``model`` is a split's folder, or its name in the folder of models.

    The first of the queue is worked on, the others wait. Each answer ends with ``answer_finished`` (with its
    ``GenerationResult``, or None where it was stopped before it began) or ``answer_failed``, and is in the store by
    then. ``answer_interrupted`` is no end: the engine died, and the answer goes on from its last token.
    """

    queue_changed = Signal()
    answer_loading = Signal(int, object)  # LoadProgress, or Loaded when it is done
    answer_started = Signal(int)
    answer_progress = Signal(int, object)  # LayerProgress
    answer_text = Signal(int, str)
    answer_noticed = Signal(int, object)  # Notice
    answer_interrupted = Signal(int, object)  # EngineDied
    answer_finished = Signal(int, object)
    answer_failed = Signal(int, object)  # EngineError
    model_changed = Signal(object)  # Loaded, or None
    saving_failed = Signal(object)  # the exception; answers go on, and are written when that works again
    saving_recovered = Signal()

    def __init__(
        self,
        host: EngineHost,
        store: AnswerStore,
        *,
        models_folder: Callable[[], Path],
        load_options: Callable[[str], LoadOptions],
        now: Callable[[], float] = time.monotonic,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._host = host
        self._store = store
        self._models_folder = models_folder
        self._load_options = load_options
        self._now = now
        self._recorder = AnswerRecorder(store, self)
        self._recorder.ended.connect(self._take_written)
        self._recorder.failed.connect(self.saving_failed)
        self._recorder.recovered.connect(self.saving_recovered)
        self._contexts: dict[str, int] = {}
        self._answers: list[_Answer] = []
        self._loaded: Loaded | None = None
        self._loaded_key: tuple[Path, LoadOptions] | None = None
        self._is_closed = False
        host.engine_state_changed.connect(self._take_engine_state)

    @property
    def current(self) -> int | None:
        """The message that is worked on."""
        return self._answers[0].message_id if self._answers else None

    @property
    def waiting(self) -> tuple[int, ...]:
        """Messages that wait behind it, in order."""
        return tuple(answer.message_id for answer in self._answers[1:])

    @property
    def loaded(self) -> Loaded | None:
        """The model in memory."""
        return self._loaded

    def position(self, message_id: int) -> int | None:
        """0 for the one worked on, None for a message that is not in the queue."""
        return next((i for i, answer in enumerate(self._answers) if answer.message_id == message_id), None)

    def is_working(self, conversation_id: int) -> bool:
        """Whether an answer of this conversation is worked on or waits."""
        return any(answer.conversation_id == conversation_id for answer in self._answers)

    def pace(self, message_id: int) -> AnswerPace | None:
        """None until the engine has begun with it."""
        answer = self._find(message_id)
        return answer.clock.pace(self._now()) if answer and answer.clock else None

    def enqueue(
        self,
        conversation_id: int,
        message_id: int,
        model: str,
        messages: Sequence[Message],
        sampling: SamplingOptions,
        so_far: Sequence[int] = (),
        *,
        thinking: bool | None = None,
    ) -> None:
        """``so_far`` are the token ids of an interrupted answer. A message that is in the queue already stays there."""
        if self._find(message_id) is not None or self._is_closed:
            return
        answer = _Answer(conversation_id, message_id, model, tuple(messages), sampling, thinking, list(so_far))
        self._answers.append(answer)
        self.queue_changed.emit()
        self._go_on()

    def resume_unfinished(self) -> int:
        """Puts back what an earlier run of the program left behind, and says how many answers that are."""
        unfinished = self._store.unfinished_answers()
        for each in unfinished:
            self.enqueue(
                each.conversation_id,
                each.message_id,
                each.model,
                each.messages,
                each.sampling,
                each.token_ids,
                thinking=each.thinking,
            )
        return len(unfinished)

    def cancel(self, message_id: int) -> None:
        """What has arrived is kept. Within a block where it is worked on."""
        answer = self._find(message_id)
        if answer is None or self._is_closed or answer.is_cancelled or answer.phase is _Phase.ENDING:
            return
        answer.is_cancelled = True
        if answer.call is not None:
            answer.call.cancel()
        else:
            self._end(answer, None)

    def allow_context(self, model: str, tokens: int) -> None:
        """From the next answer on, as long as the program runs: memory for that many tokens is kept free."""
        self._contexts[model] = tokens

    def load_options(self, model: str) -> LoadOptions:
        """What the next answer of this model is loaded with."""
        options = self._load_options(model)
        context = self._contexts.get(model)
        return options if context is None else replace(options, context=context)

    def unload(self) -> None:
        """Frees the model's memory after the answer that is worked on; the next one loads it again."""
        if self._loaded_key is not None:
            self._forget_model()
            self._host.ask("unload")

    def close(self) -> None:
        """Before the program ends: all tokens are written, nothing is ended. ``resume_unfinished`` goes on there."""
        self._is_closed = True
        self._recorder.close()

    def _find(self, message_id: int) -> _Answer | None:
        return next((answer for answer in self._answers if answer.message_id == message_id), None)

    def _go_on(self) -> None:
        """Begins with the first of the queue unless that has been begun."""
        if not self._answers or self._is_closed or self._host.state is EngineState.DEAD:
            return
        answer = self._answers[0]
        if answer.phase is not _Phase.WAITING:
            return
        folder = self._folder_of(answer.model)
        key = folder, self.load_options(answer.model)
        if key == self._loaded_key:
            self._ask_answer(answer)
            return
        self._forget_model()
        answer.phase = _Phase.LOADING
        answer.has_loaded = True
        self._loaded_key = key
        self._call(answer, "load", *key)

    def _folder_of(self, model: str) -> Path:
        path = Path(model)
        return path if path.is_absolute() else self._models_folder() / path

    def _ask_answer(self, answer: _Answer) -> None:
        answer.phase = _Phase.ANSWERING
        answer.clock = PaceClock(self._now())
        answer.first_new_token = len(answer.token_ids)
        self._recorder.begin(answer.message_id)
        self.answer_started.emit(answer.message_id)
        self._call(
            answer,
            "answer",
            answer.messages,
            answer.sampling,
            so_far=tuple(answer.token_ids),
            thinking=answer.thinking,
        )

    def _call(self, answer: _Answer, method: str, *args: object, **kwargs: object) -> None:
        call = answer.call = EngineCall(self._host, method, *args, parent=self, **kwargs)
        call.occurred.connect(self._take_event)
        call.failed.connect(self._take_failure)
        if answer.is_cancelled:
            call.cancel()

    @Slot(object)
    def _take_event(self, event: Event) -> None:
        if not self._answers or self._is_closed:
            return
        answer = self._answers[0]
        match event:
            case TokenArrived():
                self._take_token(answer, event)
            case LayerProgress():
                self._take_progress(answer, event)
            case LoadProgress():
                self.answer_loading.emit(answer.message_id, event)
            case Loaded():
                self._loaded = event
                self.model_changed.emit(event)
                self.answer_loading.emit(answer.message_id, event)
            case Notice():
                self.answer_noticed.emit(answer.message_id, event)
            case Finished():
                self._take_finished(answer, event)
            case _:
                pass

    def _take_token(self, answer: _Answer, token: TokenArrived) -> None:
        """The rest of a broken character comes with a token that was counted before."""
        new_ids = [token.token_id] if token.index >= len(answer.token_ids) else []
        if new_ids:
            answer.token_ids += new_ids
            answer.deaths = 0
            if answer.clock is not None:
                answer.clock.saw_token(self._now())
        self._recorder.add(answer.message_id, new_ids, token.text)
        if token.text:
            self.answer_text.emit(answer.message_id, token.text)

    def _take_progress(self, answer: _Answer, progress: LayerProgress) -> None:
        if answer.clock is not None:
            answer.clock.saw_progress(progress, self._now())
        if answer.first_new_token:  # the engine counts the tokens of this call, people those of the answer
            progress = replace(progress, token_index=progress.token_index + answer.first_new_token)
        self.answer_progress.emit(answer.message_id, progress)

    def _take_finished(self, answer: _Answer, finished: Finished) -> None:
        answer.call = None
        if answer.phase is _Phase.ANSWERING:
            self._end(answer, finished.result if isinstance(finished.result, GenerationResult) else None)
        elif finished.outcome is Outcome.CANCELLED:
            self._forget_model()
            self._end(answer, None)
        elif answer.is_cancelled:
            self._end(answer, None)
        else:
            self._ask_answer(answer)

    @Slot(object)
    def _take_failure(self, error: EngineError) -> None:
        if not self._answers or self._is_closed:
            return
        answer = self._answers[0]
        answer.call = None
        if answer.phase is _Phase.LOADING or isinstance(error, EngineDied | EngineFault):
            self._forget_model()
        if answer.is_cancelled:
            self._end(answer, None)
        elif isinstance(error, EngineDied) and self._may_go_on(answer, error):
            self._recorder.flush()
            answer.phase = _Phase.WAITING
            answer.clock = None
            self.answer_interrupted.emit(answer.message_id, error)
        elif isinstance(error, NotLoaded) and not answer.has_loaded:
            # Somebody else freed the model, by removing it for example. Loading it says what is the matter.
            self._forget_model()
            answer.phase = _Phase.WAITING
            self._go_on()
        else:
            self._end(answer, error)

    def _may_go_on(self, answer: _Answer, error: EngineDied) -> bool:
        answer.deaths += not isinstance(error, EngineRestarted)
        return answer.deaths < DEATHS_WITHOUT_PROGRESS

    def _end(self, answer: _Answer, ending: GenerationResult | EngineError | None) -> None:
        """Writes the end first; ``_take_written`` tells it."""
        answer.phase = _Phase.ENDING
        answer.ending = ending
        if isinstance(ending, GenerationResult):
            self._recorder.finish(answer.message_id, ending)
        elif isinstance(ending, EngineError):
            log.info("answer %s failed: %s", answer.message_id, ending)
            self._recorder.fail(answer.message_id, str(ending))
        else:
            self._recorder.stop(answer.message_id)

    @Slot(int)
    def _take_written(self, message_id: int) -> None:
        answer = self._find(message_id)
        if answer is None:
            return
        self._answers.remove(answer)
        if isinstance(answer.ending, EngineError):
            self.answer_failed.emit(message_id, answer.ending)
        else:
            self.answer_finished.emit(message_id, answer.ending)
        self.queue_changed.emit()
        self._go_on()

    def _forget_model(self) -> None:
        self._loaded_key = None
        if self._loaded is not None:
            self._loaded = None
            self.model_changed.emit(None)

    @Slot(str)
    def _take_engine_state(self, state: str) -> None:
        if state == EngineState.READY:
            self._go_on()
        else:
            self._forget_model()
