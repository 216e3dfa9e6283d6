"""The queue of answers, on an engine from a script."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.answer_recorder import AnswerRecorder
from app.answers import AnswerQueue
from engine.api import LoadOptions, Message, SamplingOptions
from engine.errors import BudgetTooSmall, ContextOverflow, EngineDied, EngineError, NotLoaded
from engine.events import Event, LayerProgress, Loaded, StopReason, TokenArrived
from tests.helpers.fake_answer_store import FakeAnswerStore, FakeUnfinished
from tests.helpers.fake_engine import (
    FakeEngineHost,
    FakeRequest,
    answer_events,
    generation_result,
    layer_progress,
    load_events,
)

QUESTION = (Message("user", "Why is the sky blue?"),)
SAMPLING = SamplingOptions(greedy=True)


class Told:
    """What the queue said, in order."""

    def __init__(self, queue: AnswerQueue) -> None:
        self.lines: list[tuple[object, ...]] = []
        self.texts: dict[int, str] = {}
        self.results: dict[int, object] = {}
        self.failures: dict[int, EngineError] = {}
        self.progress: list[LayerProgress] = []
        queue.answer_started.connect(lambda message_id: self.lines.append(("started", message_id)))
        queue.answer_text.connect(self._text)
        queue.answer_progress.connect(lambda message_id, progress: self.progress.append(progress))
        queue.answer_interrupted.connect(lambda message_id, error: self.lines.append(("interrupted", message_id)))
        queue.answer_finished.connect(self._finished)
        queue.answer_failed.connect(self._failed)

    def _text(self, message_id: int, text: str) -> None:
        self.texts[message_id] = self.texts.get(message_id, "") + text

    def _finished(self, message_id: int, result: object) -> None:
        self.lines.append(("finished", message_id))
        self.results[message_id] = result

    def _failed(self, message_id: int, error: EngineError) -> None:
        self.lines.append(("failed", message_id))
        self.failures[message_id] = error


@pytest.fixture
def store() -> FakeAnswerStore:
    return FakeAnswerStore()


@pytest.fixture
def host(qapp: object) -> FakeEngineHost:
    return FakeEngineHost()


@pytest.fixture
def answers(host: FakeEngineHost, store: FakeAnswerStore) -> Iterator[AnswerQueue]:
    queue = AnswerQueue(
        host, store, models_folder=lambda: Path("/models"), load_options=lambda model: LoadOptions(ram=1 << 30)
    )
    yield queue
    queue.close()


@pytest.fixture
def told(answers: AnswerQueue) -> Told:
    return Told(answers)


def ask(answers: AnswerQueue, message_id: int, model: str = "tiny@1", **options: object) -> None:
    answers.enqueue(message_id // 10, message_id, model, QUESTION, SAMPLING, **options)  # pyright: ignore[reportArgumentType]


def test_an_answer_loads_its_model_streams_and_is_stored(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, store: FakeAnswerStore, told: Told
) -> None:
    host.answer_with("Because of Rayleigh scattering.")
    with qtbot.waitSignal(answers.answer_finished):
        ask(answers, 11)
    (load,) = host.asked("load")
    assert load.args == (Path("/models/tiny@1"), LoadOptions(ram=1 << 30))
    (asked,) = host.asked("answer")
    assert asked.args == (QUESTION, SAMPLING)
    assert asked.kwargs == {"so_far": (), "thinking": None}
    assert told.texts[11] == "Because of Rayleigh scattering."
    assert store.results[11].text == "Because of Rayleigh scattering."
    assert told.lines == [("started", 11), ("finished", 11)]
    assert answers.current is None


def test_a_second_answer_of_the_same_model_does_not_load_it_again(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, told: Told
) -> None:
    host.answer_with("Yes.")
    ask(answers, 11)
    ask(answers, 21)
    assert answers.position(11) == 0
    assert answers.position(21) == 1
    assert answers.waiting == (21,)
    assert answers.is_working(2)
    qtbot.waitUntil(lambda: len(told.results) == 2)
    assert told.lines == [("started", 11), ("finished", 11), ("started", 21), ("finished", 21)]
    assert len(host.asked("load")) == 1
    assert answers.position(21) is None


def test_another_model_is_loaded_in_its_place(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, told: Told
) -> None:
    host.answer_with("Yes.")
    ask(answers, 11)
    ask(answers, 12, model="/elsewhere/big@2")
    qtbot.waitUntil(lambda: len(told.results) == 2)
    assert [request.args[0] for request in host.asked("load")] == [Path("/models/tiny@1"), Path("/elsewhere/big@2")]
    assert answers.loaded is not None
    assert answers.loaded.model == "big@2"


def test_other_limits_load_the_model_again(qtbot: QtBot, host: FakeEngineHost, store: FakeAnswerStore) -> None:
    limits = [LoadOptions(), LoadOptions(), LoadOptions(context=4096)]
    queue = AnswerQueue(host, store, models_folder=Path, load_options=lambda model: limits.pop(0))
    told = Told(queue)
    host.answer_with("Yes.")
    for message_id in (1, 2, 3):
        ask(queue, message_id)
    qtbot.waitUntil(lambda: len(told.results) == 3)
    assert [request.args[1].context for request in host.asked("load")] == [None, 4096]
    queue.close()


def test_a_model_that_does_not_fit_fails_its_answer_and_the_next_goes_on(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, store: FakeAnswerStore, told: Told
) -> None:
    def load(request: FakeRequest) -> EngineError | list[Event]:
        too_small = BudgetTooSmall("needs 9 GB, 4 GB allowed", "Allow more.", need=9, have=4)
        return too_small if "big" in str(request.args[0]) else load_events(request.args[0])

    host.reply("load", load)
    host.answer_with("Yes.")
    ask(answers, 11, model="big")
    ask(answers, 12)
    qtbot.waitUntil(lambda: 12 in told.results)
    assert isinstance(told.failures[11], BudgetTooSmall)
    assert store.failures[11] == "needs 9 GB, 4 GB allowed Allow more."


def test_a_conversation_that_is_too_long_fails_with_the_numbers(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, told: Told
) -> None:
    host.reply("answer", ContextOverflow("too long", need=5000, have=4096))
    with qtbot.waitSignal(answers.answer_failed):
        ask(answers, 11)
    assert isinstance(told.failures[11], ContextOverflow)
    assert answers.loaded is not None


def test_stop_keeps_what_has_arrived(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, store: FakeAnswerStore, told: Told
) -> None:
    ask(answers, 11)
    qtbot.waitUntil(lambda: bool(host.asked("answer")))
    request = host.waiting[0].request_id
    host.send(request, TokenArrived(0, 1000, "Because"))
    answers.cancel(11)
    answers.cancel(11)
    qtbot.waitUntil(lambda: 11 in told.results)
    assert host.cancelled == [request]
    assert store.results[11].text == "Because"
    assert store.results[11].stop_reason is StopReason.CANCELLED


def test_an_answer_that_waits_is_stopped_at_once(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, store: FakeAnswerStore, told: Told
) -> None:
    ask(answers, 11)
    ask(answers, 12)
    answers.cancel(12)
    qtbot.waitUntil(lambda: 12 in told.results)
    assert store.stopped == [12]
    assert host.cancelled == []
    assert answers.current == 11


def test_stop_while_the_model_loads_ends_the_load(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, store: FakeAnswerStore, told: Told
) -> None:
    host.reply_nothing("load")
    ask(answers, 11)
    answers.cancel(11)
    qtbot.waitUntil(lambda: 11 in told.results)
    assert store.stopped == [11]
    assert host.asked("answer") == []
    host.reply("load", lambda request: load_events(request.args[0]))
    host.answer_with("Yes.")
    ask(answers, 12)
    qtbot.waitUntil(lambda: 12 in told.results)
    assert len(host.asked("load")) == 2


def test_tokens_are_written_within_a_second_and_not_one_by_one(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, store: FakeAnswerStore
) -> None:
    ask(answers, 11)
    qtbot.waitUntil(lambda: bool(host.asked("answer")))
    for index in range(50):
        host.send(host.waiting[0].request_id, TokenArrived(index, 1000 + index, f"{index} "))
    assert store.appends == 0
    qtbot.waitUntil(lambda: len(store.token_ids.get(11, [])) == 50)
    assert store.appends <= 2
    assert store.texts[11] == "".join(f"{index} " for index in range(50))


def test_nothing_is_written_in_the_windows_thread(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, store: FakeAnswerStore, told: Told
) -> None:
    host.answer_with("Yes.")
    ask(answers, 11)
    qtbot.waitUntil(lambda: 11 in told.results)
    assert threading.main_thread().name not in store.threads


def test_the_rest_of_a_broken_character_is_no_new_token(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, store: FakeAnswerStore
) -> None:
    ask(answers, 11)
    qtbot.waitUntil(lambda: bool(host.asked("answer")))
    host.send(host.waiting[0].request_id, TokenArrived(0, 7, ""))
    host.send(host.waiting[0].request_id, TokenArrived(0, 7, "\ufffd"))
    answers.close()
    assert store.token_ids[11] == [7]
    assert store.texts[11] == "\ufffd"


def test_after_the_engine_died_the_answer_goes_on_from_its_last_token(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, store: FakeAnswerStore, told: Told
) -> None:
    ask(answers, 11)
    qtbot.waitUntil(lambda: bool(host.asked("answer")))
    host.send(host.waiting[0].request_id, TokenArrived(0, 1000, "Because"))
    host.send(host.waiting[0].request_id, TokenArrived(1, 1001, " of"))
    host.answer_with("Because of scattering.")
    host.die()
    qtbot.waitUntil(lambda: 11 in told.results)
    assert host.asked("answer")[1].kwargs["so_far"] == (1000, 1001)
    assert len(host.asked("load")) == 2
    assert told.texts[11] == "Because of scattering."
    assert store.results[11].token_ids == (1000, 1001, 1002)
    assert told.lines == [("started", 11), ("interrupted", 11), ("started", 11), ("finished", 11)]


def test_progress_of_a_resumed_answer_counts_all_its_tokens(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, told: Told
) -> None:
    ask(answers, 11, so_far=(5, 6, 7))
    qtbot.waitUntil(lambda: bool(host.asked("answer")))
    host.send(host.waiting[0].request_id, layer_progress(2, token_index=0))
    assert told.progress[0].token_index == 3


def test_an_answer_that_kills_the_engine_twice_at_the_same_token_has_failed(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, told: Told
) -> None:
    ask(answers, 11)
    for deaths in (1, 2):
        qtbot.waitUntil(lambda deaths=deaths: len(host.asked("answer")) == deaths)
        host.die()
    qtbot.waitUntil(lambda: 11 in told.failures)
    assert isinstance(told.failures[11], EngineDied)


def test_restarts_that_were_wished_for_never_fail_an_answer(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, told: Told
) -> None:
    ask(answers, 11)
    for restarts in (1, 2, 3):
        qtbot.waitUntil(lambda restarts=restarts: len(host.asked("answer")) == restarts)
        host.restart()
    qtbot.waitUntil(lambda: len(host.asked("answer")) == 4)
    assert told.failures == {}


def test_an_answer_that_gets_on_between_two_deaths_goes_on(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, told: Told
) -> None:
    ask(answers, 11)
    for deaths in (1, 2, 3):
        qtbot.waitUntil(lambda deaths=deaths: len(host.asked("answer")) == deaths)
        host.send(host.waiting[0].request_id, TokenArrived(deaths - 1, 1000, "on "))
        host.die()
    qtbot.waitUntil(lambda: len(host.asked("answer")) == 4)
    assert told.failures == {}


def test_while_the_engine_stays_dead_answers_wait_and_a_restart_goes_on(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, told: Told
) -> None:
    ask(answers, 11)
    qtbot.waitUntil(lambda: bool(host.asked("answer")))
    host.die(restarts=False)
    ask(answers, 12)
    assert answers.waiting == (12,)
    host.answer_with("Yes.")
    host.restart()
    qtbot.waitUntil(lambda: len(told.results) == 2)


def test_an_answer_can_be_stopped_while_the_engine_is_dead(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, told: Told
) -> None:
    ask(answers, 11)
    qtbot.waitUntil(lambda: bool(host.asked("answer")))
    host.die(restarts=False)
    answers.cancel(11)
    qtbot.waitUntil(lambda: 11 in told.results)


def test_a_model_that_somebody_else_freed_is_loaded_again(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, told: Told
) -> None:
    host.answer_with("Yes.")
    ask(answers, 11)
    qtbot.waitUntil(lambda: 11 in told.results)
    replies: list[EngineError | list[Event]] = [NotLoaded("No model is loaded."), answer_events("Yes.")]
    host.reply("answer", lambda request: replies.pop(0))
    ask(answers, 12)
    qtbot.waitUntil(lambda: 12 in told.results)
    assert len(host.asked("load")) == 2


def test_unfinished_answers_of_the_last_run_go_on(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, store: FakeAnswerStore, told: Told
) -> None:
    store.unfinished = [
        FakeUnfinished(1, 11, "tiny@1", QUESTION, SAMPLING, False, (1000,), "Because"),
        FakeUnfinished(2, 21, "tiny@1", QUESTION, SAMPLING, None, ()),
    ]
    host.answer_with("Because of scattering.")
    assert answers.resume_unfinished() == 2
    qtbot.waitUntil(lambda: len(told.results) == 2)
    first, second = host.asked("answer")
    assert first.kwargs == {"so_far": (1000,), "thinking": False}
    assert second.kwargs == {"so_far": (), "thinking": None}


def test_closing_writes_the_last_tokens_and_ends_nothing(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, store: FakeAnswerStore
) -> None:
    ask(answers, 11)
    qtbot.waitUntil(lambda: bool(host.asked("answer")))
    host.send(host.waiting[0].request_id, TokenArrived(0, 1000, "Because"))
    answers.close()
    assert store.token_ids[11] == [1000]
    host.die()
    assert store.results == {}
    assert store.failures == {}
    assert store.stopped == []


def test_a_message_is_in_the_queue_only_once(host: FakeEngineHost, answers: AnswerQueue) -> None:
    ask(answers, 11)
    ask(answers, 11)
    assert answers.waiting == ()


def test_unload_frees_the_model(qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue, told: Told) -> None:
    host.answer_with("Yes.")
    changes: list[Loaded | None] = []
    answers.model_changed.connect(changes.append)
    ask(answers, 11)
    qtbot.waitUntil(lambda: 11 in told.results)
    answers.unload()
    assert len(host.asked("unload")) == 1
    assert answers.loaded is None
    assert changes[-1] is None
    answers.unload()
    assert len(host.asked("unload")) == 1


def test_the_pace_is_known_while_an_answer_is_worked_on(
    qtbot: QtBot, host: FakeEngineHost, answers: AnswerQueue
) -> None:
    ask(answers, 11)
    assert answers.pace(11) is None
    qtbot.waitUntil(lambda: bool(host.asked("answer")))
    host.send(host.waiting[0].request_id, TokenArrived(0, 1000, "Because"))
    pace = answers.pace(11)
    assert pace is not None
    assert pace.tokens == 1


def test_saving_that_works_again_writes_what_waited_in_order_and_says_so(
    qtbot: QtBot, store: FakeAnswerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.answer_recorder.RETRY_INTERVAL_MS", 5)
    recorder = AnswerRecorder(store)
    told: list[str] = []
    recorder.failed.connect(lambda _error: told.append("failed"))
    recorder.recovered.connect(lambda: told.append("recovered"))
    recorder.ended.connect(lambda message_id: told.append(f"ended {message_id}"))
    store.broken = sqlite3.OperationalError("database or disk is full")
    recorder.add(5, [1, 2], "1 2 ")
    recorder.stop(5)
    recorder.finish(6, generation_result([], StopReason.STOP_TOKEN, text="whole"))
    qtbot.waitUntil(lambda: told == ["failed", "ended 5", "ended 6"])
    assert (store.token_ids, store.stopped, store.results) == ({}, [], {})
    store.broken = None
    qtbot.waitUntil(lambda: told[-1] == "recovered")
    assert (store.texts[5], store.stopped, store.results[6].text) == ("1 2 ", [5], "whole")
    recorder.close()
    assert told.count("recovered") == told.count("failed") == 1


def test_what_can_never_be_written_holds_up_nothing(qtbot: QtBot, store: FakeAnswerStore) -> None:
    recorder = AnswerRecorder(store)
    told: list[str] = []
    recorder.failed.connect(lambda _error: told.append("failed"))
    recorder.recovered.connect(lambda: told.append("recovered"))
    store.broken = sqlite3.IntegrityError("the message is gone")
    recorder.stop(5)
    qtbot.waitUntil(lambda: told == ["failed"])
    store.broken = None
    recorder.stop(6)
    recorder.close()
    assert store.stopped == [6]
    assert told == ["failed"]


def test_tokens_that_could_not_be_written_are_written_with_the_next(qtbot: QtBot, store: FakeAnswerStore) -> None:
    recorder = AnswerRecorder(store)
    told: list[object] = []
    recorder.failed.connect(told.append)
    store.broken = sqlite3.OperationalError("database or disk is full")
    for token_id in (1, 2):
        recorder.add(5, [token_id], f"{token_id} ")
        recorder.flush()
    qtbot.waitUntil(lambda: len(told) == 1)
    qtbot.wait(20)
    assert told == [store.broken]
    store.broken = None
    recorder.add(5, [3], "3 ")
    recorder.close()
    assert store.token_ids[5] == [1, 2, 3]
    assert store.texts[5] == "1 2 3 "
