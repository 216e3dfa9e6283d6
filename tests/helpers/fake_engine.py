"""An engine host without an engine: the same face and signals, answers from a script, no process and no thread.

``reply("list_models", [model])`` sets what a short call returns, ``reply("split", [progress, Finished(...)])`` the
events of a long one, ``reply("plan", DiskFull(...))`` an error; a function gets the ``FakeRequest`` and returns one
of these. Replies come one by one from the event loop, as the real ones do. A method without a reply waits in
``waiting`` until the test says ``send``, ``finish``, ``give`` or ``fail``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer

from app.engine_host import EngineHost, EngineState
from engine.errors import EngineDied, EngineError, EngineRestarted
from engine.events import (
    BytesMoved,
    Event,
    Finished,
    GenerationResult,
    LayerProgress,
    Loaded,
    Outcome,
    PassKind,
    StopReason,
    TokenArrived,
)

Reply = Any


@dataclass(slots=True, eq=False)
class FakeRequest:
    """What was asked, and the events still to come."""

    request_id: int
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    coming: deque[Event] = field(default_factory=deque)
    sent: list[Event] = field(default_factory=list)


class FakeEngineHost(EngineHost):
    """``requests`` are all that was ever asked, in order; ``waiting`` those that have not ended."""

    def __init__(self, parent: QObject | None = None, *, is_started: bool = True) -> None:
        super().__init__(Path("fake-data"), parent=parent)
        self.requests: list[FakeRequest] = []
        self.cancelled: list[int] = []
        self.runtimes: tuple[Path, ...] = ()
        self._replies: dict[str, Reply | Callable[[FakeRequest], Reply]] = {}
        self._open: dict[int, FakeRequest] = {}
        self._turns = QTimer(self, interval=0)
        self._turns.timeout.connect(self._take_turn)
        self.reply("load", lambda request: load_events(request.args[0]))
        self.reply("unload", None)
        for method in ("list_drives", "model_folders"):
            self.reply(method, [])
        self.reply("count_tokens", lambda request: sum(len(message.text.split()) for message in request.args[0]))
        if is_started:
            self._state = EngineState.READY

    @property
    def waiting(self) -> list[FakeRequest]:
        return list(self._open.values())

    def asked(self, method: str) -> list[FakeRequest]:
        """All requests of one method, ended or not."""
        return [request for request in self.requests if request.method == method]

    def reply(self, method: str, reply: Reply | Callable[[FakeRequest], Reply]) -> None:
        """From now on. A list is the events of a long call; ``Finished`` is added where it is missing."""
        self._replies[method] = reply

    def reply_nothing(self, method: str) -> None:
        """Requests of ``method`` wait for the test from now on."""
        self._replies.pop(method, None)

    def answer_with(self, text: str, *, blocks: int = 4) -> None:
        """Every answer from now on is this text, a word a token, each with its layer progress."""
        self.reply(
            "answer", lambda request: answer_events(text, blocks=blocks, so_far=request.kwargs.get("so_far", ()))
        )

    def send(self, request_id: int, event: Event) -> None:
        """An event of a request that waits."""
        request = self._open[request_id]
        request.sent.append(event)
        if isinstance(event, Finished):
            del self._open[request_id]
        self.event_arrived.emit(request_id, event)

    def finish(self, request_id: int, result: Any = None, outcome: Outcome = Outcome.DONE) -> None:
        self.send(request_id, Finished(outcome, result))

    def give(self, request_id: int, value: Any) -> None:
        """The result of a short call that waits."""
        del self._open[request_id]
        self.result_arrived.emit(request_id, value)

    def fail(self, request_id: int, error: EngineError) -> None:
        del self._open[request_id]
        self.request_failed.emit(request_id, error)

    def die(
        self, reason: str = "The engine stopped unexpectedly (killed, signal 9).", *, restarts: bool = True
    ) -> None:
        """As the real host does it: every request fails, the reason is told once, the next child starts."""
        self.last_death = EngineDied(reason, exit_code=-9)
        self._set_state(EngineState.STOPPED if restarts else EngineState.DEAD)
        for request_id in list(self._open):
            self.fail(request_id, EngineDied(reason, exit_code=-9))
        self.engine_died.emit(reason)
        if restarts:
            self.start()

    def start(self) -> None:
        self._set_state(EngineState.STARTING)
        QTimer.singleShot(0, self, lambda: self._set_state(EngineState.READY))

    def restart(self, *, models_folder: Path | None = None, runtimes: Sequence[Path] | None = None) -> None:
        if runtimes is not None:
            self.runtimes = tuple(runtimes)
        for request_id in list(self._open):
            self.fail(request_id, EngineRestarted("The engine was restarted."))
        self.start()

    def shutdown(self) -> None:
        self._open.clear()
        self._turns.stop()
        self._set_state(EngineState.STOPPED)

    def ask(self, method: str, *args: object, **kwargs: object) -> int:
        self._last_id += 1
        request = FakeRequest(self._last_id, method, args, kwargs)
        self.requests.append(request)
        self._open[request.request_id] = request
        if method in self._replies:
            QTimer.singleShot(0, self, lambda: self._begin(request))
        return request.request_id

    def cancel(self, request_id: int) -> None:
        """Takes effect in the next turn of the event loop, with the result of what was said so far."""
        self.cancelled.append(request_id)
        QTimer.singleShot(0, self, lambda: self._end_cancelled(request_id))

    def _begin(self, request: FakeRequest) -> None:
        if request.request_id not in self._open:
            return
        reply: Any = self._replies.get(request.method)
        if callable(reply):
            reply = reply(request)
        if isinstance(reply, EngineError):
            self.fail(request.request_id, reply)
        elif request.method in _LONG:
            request.coming.extend(_finished(reply or []))
            self._turns.start()
        else:
            self.give(request.request_id, reply)

    def _take_turn(self) -> None:
        """One event of each call that is under way."""
        for request in self.waiting:
            if request.coming:
                self.send(request.request_id, request.coming.popleft())
        if not any(request.coming for request in self._open.values()):
            self._turns.stop()

    def _end_cancelled(self, request_id: int) -> None:
        request = self._open.get(request_id)
        if request is None:
            return
        result = None
        if request.method == "answer":
            tokens = [event for event in request.sent if isinstance(event, TokenArrived)]
            result = generation_result(tokens, StopReason.CANCELLED, request.kwargs.get("so_far", ()))
        self.finish(request_id, result, Outcome.CANCELLED)


_LONG = {"load", "answer", "split", "verify", "download", "move"}


def load_events(folder: object) -> list[Event]:
    """Of a load that succeeds."""
    name = Path(str(folder)).name
    return [
        Loaded(
            model=name,
            device="cpu",
            blocks=4,
            device_bytes=2_000_000,
            host_bytes=0,
            streamed_bytes=6_000_000,
            slot_bytes=3_000_000,
            predicted_s_per_token=1.4,
        ),
        Finished(Outcome.DONE),
    ]


def answer_events(text: str, *, blocks: int = 4, so_far: Sequence[int] = ()) -> list[Event]:
    """A word a token: its id is its place in the answer plus 1000. ``so_far`` words are left out."""
    words = text.split(" ")
    pieces = [word if index == 0 else f" {word}" for index, word in enumerate(words)]
    events: list[Event] = []
    tokens: list[TokenArrived] = []
    for index, piece in enumerate(pieces[len(so_far) :], start=len(so_far)):
        kind = PassKind.PREFILL if index == len(so_far) else PassKind.DECODE
        events += [layer_progress(block, blocks, kind=kind, token_index=index - len(so_far)) for block in _to(blocks)]
        tokens.append(TokenArrived(index, 1000 + index, piece))
        events.append(tokens[-1])
    return [*events, Finished(Outcome.DONE, generation_result(tokens, StopReason.STOP_TOKEN, so_far, text=text))]


def layer_progress(
    block: int, blocks: int = 4, *, kind: PassKind = PassKind.DECODE, token_index: int = 0
) -> LayerProgress:
    return LayerProgress(
        kind=kind,
        token_index=token_index,
        block=block,
        blocks=blocks,
        block_name=f"layer-{block - 1:03}",
        is_resident=block == 1,
        bytes_read=block * 1_000_000,
        bytes_per_second=1.9e9,
        pass_seconds_left=float(blocks - block),
    )


def generation_result(
    tokens: Sequence[TokenArrived], reason: StopReason, so_far: Sequence[int] = (), *, text: str | None = None
) -> GenerationResult:
    return GenerationResult(
        text="".join(token.text for token in tokens) if text is None else text,
        token_ids=(*so_far, *(token.token_id for token in tokens)),
        stop_reason=reason,
        prompt_tokens=12,
        cached_tokens=0,
        first_token_s=0.5,
        s_per_token=0.25,
        total_s=0.5 + 0.25 * len(tokens),
        bytes_moved=BytesMoved(0, 0, 6_000_000),
    )


def _to(blocks: int) -> range:
    return range(1, blocks + 1)


def _finished(events: Sequence[Event]) -> list[Event]:
    if events and isinstance(events[-1], Finished):
        return list(events)
    return [*events, Finished(Outcome.DONE)]
