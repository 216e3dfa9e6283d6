"""A single call hears only of itself, ends once, and takes itself away."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.engine_calls import EngineCall
from engine.errors import ModelNotFound
from engine.events import Finished, JobProgress, Outcome
from tests.helpers.fake_engine import FakeEngineHost

PROGRESS = JobProgress("cutting", 1, 2, "embed", 1, 2, 1.0, None)


def heard_by(call: EngineCall) -> list[tuple[str, object]]:
    heard: list[tuple[str, object]] = []
    call.occurred.connect(lambda event: heard.append(("occurred", event)))
    call.result.connect(lambda value: heard.append(("result", value)))
    call.failed.connect(lambda error: heard.append(("failed", error)))
    call.finished.connect(lambda: heard.append(("finished", None)))
    return heard


def test_a_short_call_gives_its_result_and_is_finished(qtbot: QtBot) -> None:
    host = FakeEngineHost()
    host.reply("list_models", ["model"])
    host.reply("probe", "machine")
    call = EngineCall(host, "list_models")
    EngineCall(host, "probe")
    heard = heard_by(call)
    qtbot.waitUntil(lambda: call.is_over)
    assert heard == [("result", ["model"]), ("finished", None)]


def test_a_long_call_gives_its_events(qtbot: QtBot) -> None:
    host = FakeEngineHost()
    host.reply("split", [PROGRESS])
    call = EngineCall(host, "split", "source", delete_original=False)
    heard = heard_by(call)
    qtbot.waitUntil(lambda: call.is_over)
    assert heard == [("occurred", PROGRESS), ("occurred", Finished(Outcome.DONE)), ("finished", None)]
    assert host.requests[0].args == ("source",)
    assert host.requests[0].kwargs == {"delete_original": False}


def test_a_failure_ends_it(qtbot: QtBot) -> None:
    host = FakeEngineHost()
    error = ModelNotFound("There is no such model.")
    host.reply("plan", error)
    call = EngineCall(host, "plan", "nowhere")
    heard = heard_by(call)
    qtbot.waitUntil(lambda: call.is_over)
    assert heard == [("failed", error), ("finished", None)]


def test_cancel_asks_once_and_not_after_the_end(qtbot: QtBot) -> None:
    host = FakeEngineHost()
    call = EngineCall(host, "split", "source")
    call.cancel()
    qtbot.waitUntil(lambda: call.is_over)
    call.cancel()
    assert host.cancelled == [call.request_id]


def test_it_deletes_itself_and_a_deleted_parent_hears_nothing(qtbot: QtBot) -> None:
    host = FakeEngineHost()
    parent = QObject()
    gone: list[str] = []
    ended = EngineCall(host, "split", "source")
    ended.destroyed.connect(lambda: gone.append("ended"))
    heard = heard_by(orphan := EngineCall(host, "split", "source", parent=parent))
    number = orphan.request_id
    host.finish(ended.request_id)
    parent.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    host.finish(number)
    assert gone == ["ended"]
    assert heard == []
