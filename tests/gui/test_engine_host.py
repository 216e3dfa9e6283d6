"""The host with a real engine in a real child process and a tiny model: streams, stops, dies, comes back."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.context import SpawnProcess
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot

from app.answers import AnswerQueue
from app.conversations.records import AnswerState
from app.conversations.store import ConversationStore
from app.engine_host import DEATHS_ALLOWED, EngineHost, EngineState
from engine.api import LoadOptions, Message, SamplingOptions
from engine.errors import EngineDied, EngineError, EngineFault, EngineRestarted, ModelBusy, NotLoaded
from engine.events import (
    Event,
    Finished,
    GenerationResult,
    JobProgress,
    LayerProgress,
    Loaded,
    MoveResult,
    Outcome,
    SplitResult,
    TokenArrived,
)
from tests.helpers.checkpoints import make_checkpoint
from tests.helpers.fake_answer_store import FakeAnswerStore
from tests.helpers.families import write_tiny_tokenizer
from tests.helpers.splits import cut

QUESTION = [Message("user", "Why is the sky blue?")]
STREAMED = LoadOptions(nothing_resident=True)
SHORT = SamplingOptions(greedy=True, max_new_tokens=12)
ENDLESS = SamplingOptions(greedy=True, max_new_tokens=1900)
WAIT_MS = 60_000

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="sends signals")


class Heard:
    """Everything a host says, by request."""

    def __init__(self, host: EngineHost) -> None:
        self.events: dict[int, list[Event]] = {}
        self.results: dict[int, object] = {}
        self.failures: dict[int, EngineError] = {}
        self.deaths: list[str] = []
        self.states: list[str] = []
        self.order: list[int] = []
        host.event_arrived.connect(self._event)
        host.result_arrived.connect(self._result)
        host.request_failed.connect(self._failure)
        host.engine_died.connect(self.deaths.append)
        host.engine_state_changed.connect(self.states.append)

    def _event(self, request_id: int, event: Event) -> None:
        self.events.setdefault(request_id, []).append(event)
        if isinstance(event, Finished):
            self.order.append(request_id)

    def _result(self, request_id: int, value: object) -> None:
        self.results[request_id] = value
        self.order.append(request_id)

    def _failure(self, request_id: int, error: EngineError) -> None:
        self.failures[request_id] = error
        self.order.append(request_id)

    def tokens(self, request_id: int) -> list[TokenArrived]:
        return [event for event in self.events.get(request_id, []) if isinstance(event, TokenArrived)]

    def finished(self, request_id: int) -> Finished:
        last = self.events[request_id][-1]
        assert isinstance(last, Finished)
        return last

    def answer(self, request_id: int) -> GenerationResult:
        result = self.finished(request_id).result
        assert isinstance(result, GenerationResult)
        return result


class Desk:
    """A host with what it says, and waiting for it."""

    def __init__(self, host: EngineHost, split: Path) -> None:
        self.host = host
        self.split = split
        self.heard = Heard(host)

    def ended(self, qtbot: QtBot, *request_ids: int) -> None:
        qtbot.waitUntil(lambda: all(each in self.heard.order for each in request_ids), timeout=WAIT_MS)

    def load(self, qtbot: QtBot) -> None:
        number = self.host.ask("load", self.split, STREAMED)
        self.ended(qtbot, number)
        assert number not in self.heard.failures, self.heard.failures

    def begin_endless(self, qtbot: QtBot) -> int:
        """An answer that has begun to stream and will not end by itself."""
        number = self.host.ask("answer", QUESTION, ENDLESS)
        qtbot.waitUntil(lambda: len(self.heard.tokens(number)) >= 3, timeout=WAIT_MS)
        return number

    def ready(self, qtbot: QtBot) -> int:
        qtbot.waitUntil(lambda: self.host.state is EngineState.READY, timeout=WAIT_MS)
        assert self.host.process_id is not None
        return self.host.process_id


def make_tiny(folder: Path, seed: int = 0) -> Path:
    """Many thin layers: some 20 ms a token, and it never comes to an end by itself."""
    checkpoint = make_checkpoint(
        "llama", folder / f"tiny-{seed}", form="single", seed=seed, vocab_size=288, num_hidden_layers=24
    )
    write_tiny_tokenizer(checkpoint, 288)
    return checkpoint


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("engine-host")


@pytest.fixture(scope="module")
def split(folder: Path) -> Path:
    return cut(make_tiny(folder), folder)


@pytest.fixture(scope="module")
def shared_host(qapp: object, folder: Path) -> Iterator[EngineHost]:
    """One child for all tests that leave it alive: torch takes seconds to import."""
    host = EngineHost(folder / "data")
    host.start()
    yield host
    host.shutdown()


@pytest.fixture
def desk(shared_host: EngineHost, split: Path) -> Desk:
    return Desk(shared_host, split)


@pytest.fixture
def own_host(qapp: object, tmp_path: Path) -> Iterator[EngineHost]:
    host = EngineHost(tmp_path / "data")
    yield host
    host.shutdown()


def is_gone(process_id: int) -> bool:
    try:
        return psutil.Process(process_id).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_model_is_loaded_and_answers(qtbot: QtBot, desk: Desk) -> None:
    load = desk.host.ask("load", desk.split, STREAMED)
    answer = desk.host.ask("answer", QUESTION, SHORT)
    desk.ended(qtbot, load, answer)
    assert any(isinstance(event, Loaded) for event in desk.heard.events[load])
    result = desk.heard.answer(answer)
    tokens = desk.heard.tokens(answer)
    assert [token.index for token in tokens] == list(range(12))
    assert tuple(token.token_id for token in tokens) == result.token_ids
    assert "".join(token.text for token in tokens) == result.text
    assert any(isinstance(event, LayerProgress) for event in desk.heard.events[answer])


def test_stop_takes_effect_and_leaves_a_usable_engine(qtbot: QtBot, desk: Desk) -> None:
    desk.load(qtbot)
    endless = desk.begin_endless(qtbot)
    desk.host.cancel(endless)
    desk.ended(qtbot, endless)
    assert desk.heard.finished(endless).outcome is Outcome.CANCELLED
    ids = desk.heard.answer(endless).token_ids
    again = desk.host.ask("answer", QUESTION, SHORT)
    desk.ended(qtbot, again)
    common = min(len(ids), 12)
    assert desk.heard.answer(again).token_ids[:common] == ids[:common]


def test_short_calls_do_not_wait_behind_an_answer(qtbot: QtBot, desk: Desk) -> None:
    desk.load(qtbot)
    endless = desk.begin_endless(qtbot)
    models = desk.host.ask("list_models")
    count = desk.host.ask("count_tokens", QUESTION)
    desk.ended(qtbot, models, count)
    assert endless not in desk.heard.order
    assert isinstance(desk.heard.results[count], int)
    desk.host.cancel(endless)
    desk.ended(qtbot, endless)


def test_answers_wait_for_each_other_and_one_that_waits_is_stopped_at_once(qtbot: QtBot, desk: Desk) -> None:
    desk.load(qtbot)
    endless = desk.begin_endless(qtbot)
    second, third = desk.host.ask("answer", QUESTION, SHORT), desk.host.ask("answer", QUESTION, SHORT)
    desk.host.cancel(second)
    desk.ended(qtbot, second)
    assert desk.heard.finished(second) == Finished(Outcome.CANCELLED)
    assert desk.heard.tokens(third) == []
    desk.host.cancel(endless)
    desk.ended(qtbot, endless, third)
    assert desk.heard.order[-3:] == [second, endless, third]
    assert len(desk.heard.answer(third).token_ids) == 12


def test_progress_is_sampled_and_tokens_are_not(qtbot: QtBot, desk: Desk) -> None:
    desk.load(qtbot)
    started = time.monotonic()
    answer = desk.host.ask("answer", QUESTION, SamplingOptions(greedy=True, max_new_tokens=40))
    desk.ended(qtbot, answer)
    progress = [event for event in desk.heard.events[answer] if isinstance(event, LayerProgress)]
    assert 1 <= len(progress) <= 30 * (time.monotonic() - started) + 1
    assert len(desk.heard.tokens(answer)) == 40


def test_a_model_is_cut_while_another_one_answers_and_is_removed_after_it(
    qtbot: QtBot, desk: Desk, folder: Path
) -> None:
    desk.load(qtbot)
    endless = desk.begin_endless(qtbot)
    cutting = desk.host.ask("split", str(make_tiny(folder, seed=1)), delete_original=False)
    desk.ended(qtbot, cutting)
    assert endless not in desk.heard.order
    result = desk.heard.finished(cutting).result
    assert isinstance(result, SplitResult)
    assert Path(result.path).is_dir()

    busy = desk.host.ask("remove", desk.split.name)
    desk.ended(qtbot, busy)
    assert isinstance(desk.heard.failures[busy], ModelBusy)
    desk.host.cancel(endless)
    desk.ended(qtbot, endless)

    load = desk.host.ask("load", Path(result.path), STREAMED)
    desk.ended(qtbot, load)
    remove = desk.host.ask("remove", result.model)
    answer = desk.host.ask("answer", QUESTION, SHORT)
    desk.ended(qtbot, remove, answer)
    assert not Path(result.path).exists()
    assert isinstance(desk.heard.failures[answer], NotLoaded)


def test_a_bug_in_the_engine_comes_with_its_traceback(
    qtbot: QtBot, desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        number = desk.host.ask("plan", 3)
        desk.ended(qtbot, number)
    error = desk.heard.failures[number]
    assert isinstance(error, EngineFault)
    assert "Traceback" in error.detail
    assert "TypeError" in error.detail
    assert "TypeError" in caplog.text


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_engines_process_has_no_window_system_and_a_lower_priority(qtbot: QtBot, desk: Desk) -> None:
    process_id = desk.ready(qtbot)
    assert "libQt6" not in Path(f"/proc/{process_id}/maps").read_text()
    assert psutil.Process(process_id).nice() > psutil.Process().nice()


@posix_only
@pytest.mark.slow
def test_killed_in_the_middle_of_a_token_the_answer_goes_on_from_its_last_token(qtbot: QtBot, desk: Desk) -> None:
    desk.load(qtbot)
    options = SamplingOptions(greedy=True, max_new_tokens=40)
    whole = desk.host.ask("answer", QUESTION, options)
    desk.ended(qtbot, whole)
    store = FakeAnswerStore()
    queue = AnswerQueue(desk.host, store, models_folder=lambda: desk.split.parent, load_options=lambda model: STREAMED)
    texts: list[str] = []
    interrupted: list[EngineDied] = []
    queue.answer_text.connect(lambda message_id, text: texts.append(text))
    queue.answer_interrupted.connect(lambda message_id, error: interrupted.append(error))
    killed: list[int] = []

    def kill_once(message_id: int, text: str) -> None:
        if not killed and desk.host.process_id is not None and len("".join(texts)) >= 3:
            killed.append(desk.host.process_id)
            os.kill(desk.host.process_id, signal.SIGKILL)

    queue.answer_text.connect(kill_once)
    with qtbot.waitSignal(queue.answer_finished, timeout=WAIT_MS):
        queue.enqueue(1, 11, desk.split.name, QUESTION, options)
    queue.close()

    assert len(killed) == 1
    assert len(interrupted) == 1
    assert "(killed, signal 9)" in interrupted[0].message
    assert desk.heard.deaths == [str(interrupted[0])]
    assert desk.host.process_id not in killed
    answer, expected = store.results[11], desk.heard.answer(whole)
    assert answer.token_ids == expected.token_ids
    assert answer.text == expected.text == "".join(texts)
    (resumed,) = [each for each in desk.heard.events if each > whole and desk.heard.tokens(each)][1:]
    assert 0 < desk.heard.tokens(resumed)[0].index < 40


def test_an_answer_goes_on_in_the_next_run_of_the_program(qtbot: QtBot, desk: Desk, tmp_path: Path) -> None:
    desk.load(qtbot)
    options = SamplingOptions(greedy=True, max_new_tokens=40)
    whole = desk.host.ask("answer", QUESTION, options)
    desk.ended(qtbot, whole)
    store = ConversationStore(tmp_path / "conversations.sqlite3")
    chat = store.add_conversation(model=str(desk.split), sampling=options)
    question = store.add_message(chat.id, "user", QUESTION[0].text, parent_id=None)
    message = store.add_message(chat.id, "assistant", parent_id=question.id, state=AnswerState.WAITING)

    first = AnswerQueue(desk.host, store, models_folder=Path, load_options=lambda model: STREAMED)
    with qtbot.waitSignals([first.answer_text] * 5, timeout=WAIT_MS):
        assert first.resume_unfinished() == 1
    running = max(desk.heard.events)
    first.close()
    desk.host.cancel(running)
    desk.ended(qtbot, running)
    left = store.unfinished_answer(message.id)
    assert left is not None
    assert 0 < len(left.token_ids) < 40

    second = AnswerQueue(desk.host, store, models_folder=Path, load_options=lambda model: STREAMED)
    with qtbot.waitSignal(second.answer_finished, timeout=WAIT_MS):
        assert second.resume_unfinished() == 1
    second.close()
    stored = store.message(message.id)
    assert stored is not None
    assert stored.state is AnswerState.DONE
    assert stored.text == desk.heard.answer(whole).text
    store.close()


@posix_only
def test_a_dead_engine_is_reported_with_its_last_words_and_started_again(qtbot: QtBot, own_host: EngineHost) -> None:
    desk = Desk(own_host, Path())
    early = own_host.ask("list_models")
    own_host.start()
    desk.ended(qtbot, early)
    assert desk.heard.results[early] == []
    first = desk.ready(qtbot)
    os.kill(first, signal.SIGABRT)
    lost = own_host.ask("list_models")
    desk.ended(qtbot, lost)
    error = desk.heard.failures[lost]
    assert isinstance(error, EngineDied)
    assert error.exit_code == -signal.SIGABRT
    assert "aborted, signal 6" in error.message
    assert "Fatal Python error" in error.detail
    assert desk.ready(qtbot) != first
    assert desk.heard.states == ["starting", "ready", "stopped", "starting", "ready"]
    assert len(desk.heard.deaths) == 1


@posix_only
def test_an_engine_that_keeps_dying_stays_dead_until_it_is_asked_to_start(qtbot: QtBot, own_host: EngineHost) -> None:
    desk = Desk(own_host, Path())
    own_host.start()
    for deaths in range(DEATHS_ALLOWED):
        os.kill(desk.ready(qtbot), signal.SIGKILL)
        qtbot.waitUntil(lambda deaths=deaths: len(desk.heard.deaths) == deaths + 1, timeout=WAIT_MS)
    assert own_host.state is EngineState.DEAD
    refused = own_host.ask("list_models")
    assert refused not in desk.heard.order
    desk.ended(qtbot, refused)
    assert isinstance(desk.heard.failures[refused], EngineDied)
    own_host.restart()
    desk.ready(qtbot)


def test_a_restart_cuts_off_what_runs_and_may_move_the_models(qtbot: QtBot, own_host: EngineHost, split: Path) -> None:
    desk = Desk(own_host, split)
    own_host.start()
    first = desk.ready(qtbot)
    survey = own_host.ask("probe")
    own_host.restart(models_folder=split.parent)
    desk.ended(qtbot, survey)
    assert isinstance(desk.heard.failures[survey], EngineRestarted)
    models = own_host.ask("list_models")
    desk.ended(qtbot, models)
    assert desk.heard.deaths == []
    assert split.name in str(desk.heard.results[models])
    assert own_host.process_id != first


def test_a_model_in_use_is_moved_once_its_answer_has_ended_and_is_found_again(
    qtbot: QtBot, desk: Desk, split: Path, tmp_path: Path
) -> None:
    desk.load(qtbot)
    answer = desk.begin_endless(qtbot)
    move = desk.host.ask("move", split.name, tmp_path / "elsewhere", floor_bytes=0)

    def phases() -> list[str]:
        return [event.phase for event in desk.heard.events.get(move, []) if isinstance(event, JobProgress)]

    qtbot.waitUntil(lambda: "in use" in phases(), timeout=WAIT_MS)
    so_far = len(desk.heard.tokens(answer))
    qtbot.waitUntil(lambda: len(desk.heard.tokens(answer)) > so_far, timeout=WAIT_MS)
    assert move not in desk.heard.order
    assert split.is_dir()
    desk.host.cancel(answer)
    desk.ended(qtbot, answer, move)
    assert desk.heard.answer(answer).text
    result = desk.heard.finished(move).result
    assert isinstance(result, MoveResult)
    assert result.path == str(tmp_path / "elsewhere" / split.name)
    assert not split.exists()
    refused = desk.host.ask("answer", QUESTION, SHORT)
    desk.ended(qtbot, refused)
    assert isinstance(desk.heard.failures[refused], NotLoaded)
    desk.load(qtbot)
    again = desk.host.ask("answer", QUESTION, SHORT)
    back = desk.host.ask("move", split.name, split.parent, floor_bytes=0)
    desk.ended(qtbot, again, back)
    assert desk.heard.answer(again).token_ids
    assert split.is_dir()


def test_nothing_waits_for_the_child_to_start(
    qtbot: QtBot, own_host: EngineHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_start = threading.Event()
    start = SpawnProcess.start

    def start_when_allowed(process: SpawnProcess) -> None:
        may_start.wait()
        start(process)

    monkeypatch.setattr(SpawnProcess, "start", start_when_allowed)
    desk = Desk(own_host, Path())
    own_host.start()
    number = own_host.ask("list_models")
    own_host.cancel(number)
    assert own_host.state is EngineState.STARTING
    may_start.set()
    desk.ended(qtbot, number)
    desk.ready(qtbot)


def test_what_cannot_be_sent_raises_where_it_is_asked(qtbot: QtBot, desk: Desk) -> None:
    with pytest.raises((AttributeError, TypeError, pickle.PicklingError)):
        desk.host.ask("plan", lambda: None)
    models = desk.host.ask("list_models")
    desk.ended(qtbot, models)


def test_a_request_is_cancelled_before_there_is_a_child(qtbot: QtBot, own_host: EngineHost) -> None:
    desk = Desk(own_host, Path())
    number = own_host.ask("answer", QUESTION, SHORT)
    own_host.cancel(number)
    assert desk.heard.order == []
    desk.ended(qtbot, number)
    assert desk.heard.finished(number) == Finished(Outcome.CANCELLED)


@posix_only
def test_shutdown_ends_a_child_that_hangs(qtbot: QtBot, own_host: EngineHost) -> None:
    desk = Desk(own_host, Path())
    own_host.start()
    process_id = desk.ready(qtbot)
    os.kill(process_id, signal.SIGSTOP)
    own_host.shutdown()
    assert is_gone(process_id)
    assert own_host.state is EngineState.STOPPED
    assert desk.heard.deaths == []


def test_shutdown_before_the_child_is_up_leaves_none_behind(qtbot: QtBot, own_host: EngineHost) -> None:
    before = set(psutil.Process().children())
    own_host.start()
    own_host.shutdown()
    left = set(psutil.Process().children()) - before
    assert not [child for child in left if "spawn_main" in " ".join(child.cmdline())]


PARENT = """
import os, sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from app.engine_host import EngineHost

if __name__ == "__main__":
    application = QCoreApplication([])
    host = EngineHost(Path(sys.argv[1]))
    host.engine_state_changed.connect(lambda state: state == "ready" and print(host.process_id, flush=True))
    host.start()
    application.exec()
"""


@posix_only
def test_the_child_ends_when_the_program_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
    parent = subprocess.Popen(
        [sys.executable, script, tmp_path / "data"], stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
    finally:
        parent.kill()
        parent.communicate()
    psutil.wait_procs([child], timeout=60)
    assert is_gone(child.pid)
