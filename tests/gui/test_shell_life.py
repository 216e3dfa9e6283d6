"""What happens around a working model: notices, tray, sleep, a second start, a blocked window, a crash."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMessageLogContext, QObject, QtMsgType
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from app.announcer import Announcer
from app.answer_notice import AnswerNotice
from app.conversations.records import AnswerState
from app.crash import CrashHook, CrashReport, _log_qt_message, take_fatal_trace
from app.engine_host import EngineState
from app.engine_notice import EngineNotice
from app.keep_awake import KeepAwake, LogindBlock
from app.services import Services
from app.settings import NOTIFY
from app.single_instance import SingleInstance
from app.tray import Tray
from app.watchdog import Watchdog, runnable_wait_s
from app.widgets.notice_bar import NoticeBar
from app.work import Work
from engine.api import Message, SamplingOptions
from engine.errors import NotFinite
from engine.events import Finished, JobProgress, LayerProgress, Notice, Outcome, PassKind
from tests.helpers.fake_engine import FakeEngineHost
from tests.helpers.shell_services import shell_services


@pytest.fixture
def services(tmp_path: Path, qapp: QApplication) -> Iterator[Services]:
    with shell_services(tmp_path, qapp) as services:
        yield services


def engine_of(services: Services) -> FakeEngineHost:
    assert isinstance(services.engine, FakeEngineHost)
    return services.engine


def begin_answer(services: Services) -> int:
    """Asks a question; the fake engine leaves the answer waiting."""
    store = services.conversations
    chat = store.add_conversation(model="tiny")
    question = store.add_message(chat.id, parent_id=None, role="user", text="Hi")
    answer = store.add_message(
        chat.id, role="assistant", text="", parent_id=question.id, model="tiny", state=AnswerState.WAITING
    )
    services.answers.enqueue(chat.id, answer.id, "tiny", [Message("user", "Hi")], SamplingOptions())
    return answer.id


class SleepLog:
    """Notes what was asked of the system."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def hold(self, reason: str) -> bool:
        self.calls.append("hold")
        return True

    def release(self) -> None:
        self.calls.append("release")


def test_the_computer_stays_awake_only_while_there_is_work_and_it_is_wished(qtbot: QtBot) -> None:
    log = SleepLog()
    awake = KeepAwake(log, is_allowed=True)
    awake.set_working(True)
    awake.set_working(True)
    assert awake.is_held()
    awake.set_allowed(False)
    awake.set_allowed(True)
    awake.set_working(False)
    assert log.calls == ["hold", "release", "hold", "release"]


@pytest.mark.skipif(sys.platform != "linux", reason="logind is a part of Linux")
def test_without_a_system_bus_nothing_happens() -> None:
    block = LogindBlock()
    block.hold("working")
    block.release()


def test_work_says_what_is_under_way(services: Services, qtbot: QtBot) -> None:
    work = Work(services.answers, services.jobs, services.gpu)
    busy: list[bool] = []
    work.busy_changed.connect(busy.append)
    assert work.sentence() == ""
    message = begin_answer(services)
    qtbot.waitUntil(lambda: bool(engine_of(services).asked("answer")))
    assert work.is_busy()
    services.answers.answer_progress.emit(
        message, LayerProgress(PassKind.DECODE, 11, 37, 80, "layer-036", False, 1, 1.0, 40.0)
    )
    assert "token 12, layer 37 of 80" in work.sentence()
    assert "40 s" in work.sentence()
    request = engine_of(services).asked("answer")[0]
    engine_of(services).send(request.request_id, Finished(Outcome.CANCELLED))
    qtbot.waitUntil(lambda: not work.is_busy())
    assert busy == [True, False]


def test_work_counts_jobs_too(services: Services, qtbot: QtBot) -> None:
    work = Work(services.answers, services.jobs, services.gpu)
    services.jobs.start()
    services.jobs.add_split("starter", title="SmolLM2")
    request = engine_of(services).asked("split")[0]
    engine_of(services).send(request.request_id, JobProgress("cutting", 3, 10, "layer-002", 300, 1000, 1.0, 120.0))
    qtbot.waitUntil(lambda: "30.0%" in work.sentence())
    assert "SmolLM2" in work.sentence()
    assert "2 min left" in work.sentence()


def test_the_sentence_of_a_download_does_not_jump_to_the_cutting_beside_it(services: Services, qtbot: QtBot) -> None:
    work = Work(services.answers, services.jobs, services.gpu)
    services.jobs.start()
    services.jobs.add_download("Qwen/Qwen3-14B", title="Qwen3-14B")
    request = engine_of(services).asked("download")[0]
    for progress in (
        JobProgress("downloading", 1, 5, "model-1", 400, 1000, 1.0, 120.0),
        JobProgress("cutting", 3, 10, "layer-002", 100, 1000, 1.0, 240.0),
    ):
        engine_of(services).send(request.request_id, progress)
        qtbot.waitUntil(lambda progress=progress: services.jobs.jobs()[0].progress == progress)
        assert "40.0%" in work.sentence()
    done = JobProgress("downloading", 5, 5, "model-5", 1000, 1000, 1.0, 0.0)
    cutting = JobProgress("cutting", 6, 10, "layer-005", 600, 1000, 1.0, 60.0)
    for progress in (done, cutting):
        engine_of(services).send(request.request_id, progress)
    qtbot.waitUntil(lambda: "60.0%" in work.sentence())


def test_the_window_says_when_answers_cannot_be_saved_and_what_the_engine_remarks(
    services: Services, qtbot: QtBot
) -> None:
    bar = NoticeBar()
    qtbot.addWidget(bar)
    owner = AnswerNotice(services.answers, bar)
    services.answers.saving_failed.emit(OSError(28, "No space left on device"))
    assert not bar.isHidden()
    assert bar.message() == "The answer cannot be saved at the moment."
    services.answers.answer_noticed.emit(1, Notice("Something odd."))
    assert bar.message() == "Something odd."
    owner.deleteLater()


def test_an_answer_is_announced_only_to_who_looks_elsewhere(services: Services, qtbot: QtBot) -> None:
    told: list[tuple[str, str, str]] = []
    is_seen = [True]
    announcer = Announcer(
        services.settings,
        services.conversations,
        is_seen=lambda: is_seen[0],
        notify=lambda title, text, target: told.append((title, text, target)),
    )
    announcer.follow(services.answers, services.jobs)
    message = services.conversations.message(begin_answer(services))
    assert message is not None
    failure = NotFinite("The model produced NaN.")
    services.answers.answer_failed.emit(message.id, failure)
    assert told == []
    is_seen[0] = False
    services.answers.answer_failed.emit(message.id, failure)
    assert told == [("The answer could not be finished", "The model produced NaN.", f"chat:{message.conversation_id}")]
    services.settings.set(NOTIFY, False)
    services.answers.answer_failed.emit(message.id, failure)
    assert len(told) == 1


def test_a_job_that_failed_is_announced_with_its_sentence(services: Services, qtbot: QtBot) -> None:
    told: list[tuple[str, str, str]] = []
    announcer = Announcer(
        services.settings, services.conversations, is_seen=lambda: False, notify=lambda *given: told.append(given)
    )
    announcer.follow(services.answers, services.jobs)
    services.jobs.start()
    services.jobs.add_split("starter", title="SmolLM2")
    engine_of(services).fail(engine_of(services).asked("split")[0].request_id, NotFinite("It is broken."))
    qtbot.waitUntil(lambda: bool(told))
    assert told == [("A job needs you", "SmolLM2\nIt is broken.", "library")]


# Qt looks for a tray of X11 also where there is no X11 (6.12).
@pytest.mark.qt_log_ignore("systemTrayWindowChanged", extend=True)
def test_the_tray_shows_what_is_under_way_while_the_window_is_closed(services: Services, qtbot: QtBot) -> None:
    work = Work(services.answers, services.jobs, services.gpu)
    tray = Tray(work)
    assert not tray.is_shown()
    begin_answer(services)
    tray.stay()
    assert "Getting the answer ready" in tray.tooltip()
    tray.leave()
    assert not tray.is_shown()


def test_the_window_says_that_the_engine_died_and_that_it_is_back(qtbot: QtBot) -> None:
    engine = FakeEngineHost()
    bar = NoticeBar()
    qtbot.addWidget(bar)
    notice = EngineNotice(engine, bar)
    engine._state = EngineState.STOPPED
    engine.engine_died.emit("It was ended by signal 9.")
    assert "stopped unexpectedly" in bar.message()
    engine._set_state(EngineState.READY)
    assert "running again" in bar.message()
    assert notice.parent() is None


def test_an_engine_that_will_not_start_gets_a_button(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeEngineHost()
    restarts: list[None] = []
    monkeypatch.setattr(engine, "restart", lambda: restarts.append(None))
    bar = NoticeBar()
    qtbot.addWidget(bar)
    notice = EngineNotice(engine, bar)
    engine._state = EngineState.DEAD
    engine.engine_died.emit("It died three times.")
    next(each for each in bar.findChildren(QPushButton) if each.text() == "Start the engine").click()
    assert restarts == [None]
    assert notice.parent() is None


def test_a_second_start_brings_the_first_to_the_front(tmp_path: Path, qtbot: QtBot) -> None:
    first = SingleInstance(tmp_path / "strata.lock")
    second = SingleInstance(tmp_path / "strata.lock")
    assert first.acquire()
    assert not second.acquire()
    with qtbot.waitSignal(first.activated) as shown:
        assert second.activate_other()
    assert shown.args == [""]
    with qtbot.waitSignal(first.activated) as shown:
        assert second.activate_other("/home/Zoë/a model.gguf")
    assert shown.args == ["/home/Zoë/a model.gguf"]
    first.release()
    assert second.acquire()
    second.release()


def test_another_data_folder_is_another_program(tmp_path: Path, qtbot: QtBot) -> None:
    instances = [SingleInstance(tmp_path / name) for name in ("a.lock", "b.lock")]
    assert all(each.acquire() for each in instances)
    for each in instances:
        each.release()


def test_a_blocked_window_is_logged_with_where_it_was(qtbot: QtBot, caplog: pytest.LogCaptureFixture) -> None:
    watchdog = Watchdog()
    watchdog.start()
    try:
        qtbot.wait(60)
        with qtbot.waitSignal(watchdog.blocked) as told:
            time.sleep(0.5)
        assert told.args is not None
        assert told.args[0] > 0.1
        assert "test_a_blocked_window_is_logged" in caplog.text
    finally:
        watchdog.stop()


def test_waiting_for_a_processor_that_others_have_is_not_being_blocked(qtbot: QtBot) -> None:
    waited = [0.0]
    watchdog = Watchdog(waited_s=lambda: waited[0] + runnable_wait_s())
    watchdog.start()
    qtbot.wait(60)
    time.sleep(0.25)
    waited[0] += 0.25
    qtbot.wait(60)
    watchdog.stop()
    assert watchdog.longest_s < 0.2


def test_a_window_that_answers_is_not_reported(qtbot: QtBot) -> None:
    watchdog = Watchdog(limit_s=5)
    told: list[float] = []
    watchdog.blocked.connect(told.append)
    watchdog.start()
    qtbot.wait(100)
    watchdog.stop()
    assert told == []
    assert watchdog.longest_s < 5


@pytest.fixture
def hook(tmp_path: Path, qapp: QApplication) -> Iterator[CrashHook]:
    before = sys.excepthook, threading.excepthook
    hook = CrashHook(tmp_path / "strata.log", lambda: ("hf_secretsecret",))
    yield hook
    sys.excepthook, threading.excepthook = before


def test_an_exception_nobody_caught_becomes_a_report(hook: CrashHook, qtbot: QtBot) -> None:
    reports: list[CrashReport] = []
    hook.crashed.connect(reports.append)
    hook._take_exception(ValueError, ValueError("with hf_secretsecret inside"), None)
    assert reports[0].title.startswith("ValueError: with [removed]")
    assert "hf_secretsecret" not in reports[0].text
    assert "Strata" in reports[0].text


def test_a_thread_reports_in_the_gui_thread(hook: CrashHook, qtbot: QtBot) -> None:
    threads: list[str] = []
    hook.crashed.connect(lambda _report: threads.append(threading.current_thread().name))
    threading.excepthook = hook._take_thread_exception

    def fail() -> None:
        raise RuntimeError("in a thread")

    thread = threading.Thread(target=fail, name="other")
    with qtbot.waitSignal(hook.crashed) as told:
        thread.start()
    thread.join()
    assert told.args is not None
    assert "Thread: other" in told.args[0].text


def test_messages_of_qt_reach_the_log(hook: CrashHook, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        _log_qt_message(QtMsgType.QtWarningMsg, QMessageLogContext(), "QPainter is not active")
    assert "QPainter is not active" in caplog.text


def test_none_survives_more_calls_of_qt_than_it_has_references() -> None:
    """PySide 6.12.0 on Python 3.11 drops a reference with each call that returns nothing."""
    thing = QObject()
    for _ in range(20_000):
        thing.setObjectName("x")
    assert sys.getrefcount(None) > 1000


def test_the_trace_of_a_fatal_signal_is_taken_once(tmp_path: Path) -> None:
    file = tmp_path / "fatal.log"
    file.write_text("Fatal Python error: Segmentation fault\n", encoding="utf-8")
    assert "Segmentation fault" in take_fatal_trace(file)
    assert take_fatal_trace(file) == ""
