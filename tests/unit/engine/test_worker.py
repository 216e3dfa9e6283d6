"""The worker's calls and lanes, in this process, on an engine that does nothing but wait and tell."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.cancel import CancelToken
from engine.errors import EngineFault, ModelBusy, ModelNotFound
from engine.events import Event, Finished, Notice, Outcome
from engine.outbox import Outbox
from engine.store.model_store import ModelStore
from engine.worker import Calls, _pickled
from engine.worker_messages import Failed, FromWorker, Occurred, Request, Result
from tests.helpers.checkpoints import cut, make_checkpoint

DONE = Finished(Outcome.DONE)


class WaitingEngine:
    """Answers wait for ``may_end``, or until they are cancelled."""

    def __init__(self) -> None:
        self.loaded: Any = None
        self.store = ModelStore(Path("/nowhere"))
        self.may_end = threading.Event()
        self.began = threading.Event()
        self.ran: list[str] = []

    def answer(self, name: str, *, cancel: CancelToken) -> Iterator[Event]:
        self.ran.append(name)
        self.began.set()
        yield Notice(name)
        while not self.may_end.wait(0.005):
            if cancel.is_cancelled:
                yield Finished(Outcome.CANCELLED)
                return
        yield DONE

    def verify(self, name: str, *, repair: bool, cancel: CancelToken) -> Iterator[Event]:
        yield Notice("no end")

    def list_models(self) -> list[str]:
        return ["tiny"]

    def remove(self, name: str) -> str:
        self.ran.append(f"remove {name}")
        if name == "nowhere":
            raise ModelNotFound("There is no such model.")
        return name

    def unload(self) -> None:
        self.ran.append("unload")
        self.loaded = None


class Desk:
    def __init__(self) -> None:
        self.engine = WaitingEngine()
        self.sent: list[FromWorker] = []
        self._arrived = threading.Condition()
        self.outbox = Outbox(self._take)
        self.calls = Calls(self.engine, self.outbox)  # pyright: ignore[reportArgumentType]

    def _take(self, message: FromWorker) -> None:
        with self._arrived:
            self.sent.append(message)
            self._arrived.notify_all()

    def ask(self, request_id: int, method: str, *args: object, **kwargs: object) -> None:
        self.calls.submit(Request(request_id, method, args, kwargs))

    def ending(self, request_id: int) -> FromWorker:
        def find() -> FromWorker | None:
            for message in self.sent:
                is_event = isinstance(message, Occurred) and not isinstance(message.event, Finished)
                if getattr(message, "request_id", None) == request_id and not is_event:
                    return message
            return None

        with self._arrived:
            found = self._arrived.wait_for(find, timeout=60)
        assert found is not None
        return found


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.engine.may_end.set()
    assert desk.calls.close(60)
    desk.outbox.close(60)


def test_a_short_call_is_answered_while_a_long_one_runs(desk: Desk) -> None:
    desk.ask(1, "answer", "first")
    assert desk.engine.began.wait(10)
    desk.ask(2, "list_models")
    assert desk.ending(2) == Result(2, ["tiny"])
    desk.engine.may_end.set()
    assert desk.ending(1) == Occurred(1, DONE)


def test_calls_of_a_lane_run_in_their_order(desk: Desk) -> None:
    for number in range(1, 6):
        desk.ask(number, "answer", f"answer {number}")
    desk.engine.may_end.set()
    assert desk.ending(5) == Occurred(5, DONE)
    assert desk.engine.ran == [f"answer {number}" for number in range(1, 6)]


def test_a_waiting_call_is_cancelled_at_once_and_never_runs(desk: Desk) -> None:
    desk.ask(1, "answer", "first")
    desk.ask(2, "answer", "second")
    desk.calls.cancel(2)
    assert desk.ending(2) == Occurred(2, Finished(Outcome.CANCELLED))
    desk.engine.may_end.set()
    desk.ending(1)
    assert desk.engine.ran == ["first"]


def test_a_running_call_is_cancelled(desk: Desk) -> None:
    desk.ask(1, "answer", "first")
    assert desk.engine.began.wait(10)
    desk.calls.cancel(1)
    assert desk.ending(1) == Occurred(1, Finished(Outcome.CANCELLED))


def test_cancelling_what_has_ended_does_nothing(desk: Desk) -> None:
    desk.ask(1, "list_models")
    desk.ending(1)
    desk.calls.cancel(1)
    desk.calls.cancel(99)
    assert len(desk.sent) == 1


def test_an_error_of_the_user_comes_as_it_is(desk: Desk) -> None:
    desk.ask(1, "remove", "nowhere")
    ending = desk.ending(1)
    assert isinstance(ending, Failed)
    assert isinstance(ending.error, ModelNotFound)


@pytest.mark.parametrize(
    ("method", "args", "words"),
    [("juggle", (), "juggle"), ("list_models", (3,), "TypeError"), ("close", (), "close")],
)
def test_a_bug_is_a_fault(desk: Desk, method: str, args: tuple[object, ...], words: str) -> None:
    desk.ask(1, method, *args)
    ending = desk.ending(1)
    assert isinstance(ending, Failed)
    assert isinstance(ending.error, EngineFault)
    assert words in ending.error.message


def test_the_loaded_model_is_freed_before_it_is_removed(desk: Desk) -> None:
    desk.engine.loaded = SimpleNamespace(folder=Path("/models/tiny@1"))
    desk.ask(1, "remove", "tiny@1")
    assert desk.ending(1) == Result(1, "tiny@1")
    assert desk.engine.ran == ["unload", "remove tiny@1"]


def test_another_model_is_removed_without_touching_the_loaded_one(desk: Desk) -> None:
    desk.engine.loaded = SimpleNamespace(folder=Path("/models/tiny@1"))
    desk.ask(1, "remove", "other@2")
    desk.ending(1)
    assert desk.engine.ran == ["remove other@2"]


def test_a_model_that_answers_is_not_removed(desk: Desk) -> None:
    desk.engine.loaded = SimpleNamespace(folder=Path("/models/tiny@1"))
    desk.ask(1, "answer", "first")
    desk.ask(2, "remove", "tiny@1")
    ending = desk.ending(2)
    assert isinstance(ending, Failed)
    assert isinstance(ending.error, ModelBusy)
    assert "remove tiny@1" not in desk.engine.ran


def test_closing_cancels_everything(desk: Desk) -> None:
    desk.ask(1, "answer", "first")
    desk.ask(2, "answer", "second")
    assert desk.engine.began.wait(10)
    assert desk.calls.close(60)
    assert desk.ending(1) == Occurred(1, Finished(Outcome.CANCELLED))
    assert desk.ending(2) == Occurred(2, Finished(Outcome.CANCELLED))


def test_a_reply_that_cannot_be_sent_is_a_fault_of_its_own_call() -> None:
    message = pickle.loads(_pickled(Result(7, threading.Lock())))
    assert isinstance(message, Failed)
    assert message.request_id == 7
    assert isinstance(message.error, EngineFault)


def test_the_loaded_model_is_freed_by_whatever_name_it_is_removed(desk: Desk, tmp_path: Path) -> None:
    desk.engine.store = ModelStore(tmp_path)
    split = Path(cut(make_checkpoint("llama", tmp_path / "tiny"), desk.engine.store).path)
    desk.engine.loaded = SimpleNamespace(folder=split)
    desk.ask(1, "remove", "local/tiny")
    desk.ending(1)
    assert desk.engine.ran == ["unload", "remove local/tiny"]
