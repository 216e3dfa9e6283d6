"""The library on a fake engine: what is shown, and what each button asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QLabel, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from app.job_records import JobKind, JobState
from app.library.model_row import ModelRow
from app.library.move_dialog import MoveDialog
from app.library.page import LibraryPage
from app.library.usage import used_text
from app.services import Services
from app.settings import MODELS_FOLDER
from app.widgets.question import QuestionDialog
from engine.api import DriveReport, FolderReport, MachineReport, ModelInfo
from engine.errors import DamagedFile, ModelBusy
from engine.events import Finished, JobProgress, MoveResult, Outcome, VerifyResult
from tests.helpers.fake_engine import FakeEngineHost
from tests.helpers.page_services import close_page_services, page_services

GB = 10**9
MACHINE = MachineReport("Linux", "A processor", 8, 32 * GB, 24 * GB, 1000 * GB, 500 * GB, 1.9 * GB, 25 * GB, ())
PROGRESS = JobProgress("verifying", 3, 38, "layer-001", GB, 8 * GB, 1.3 * GB, 6.0)


def model(title: str, state: str = "ready", nbytes: int = 8 * GB) -> ModelInfo:
    name = title.replace("/", "--") + "@12345678"
    return ModelInfo(
        name, title, state, nbytes, f"/models/{name}", "bfloat16", None, 4096, True, False, f"/from/{title}"
    )


QWEN = model("Qwen/Qwen3-4B")
HALF = model("lab/half-done", "unfinished", 3 * GB)
DAMAGED = model("lab/broken", "damaged", GB)


@pytest.fixture
def engine(qtbot: QtBot) -> FakeEngineHost:
    fake = FakeEngineHost()
    fake.reply("probe", MACHINE)
    fake.reply("list_models", [QWEN, HALF, DAMAGED])
    return fake


@pytest.fixture
def services(engine: FakeEngineHost, tmp_path: Path) -> Iterator[Services]:
    made = page_services(tmp_path, engine)
    yield made
    close_page_services(made)


@pytest.fixture
def page(qtbot: QtBot, services: Services, engine: FakeEngineHost) -> LibraryPage:
    made = LibraryPage(services)
    qtbot.addWidget(made)
    made.resize(1000, 760)
    made.show()
    made.open()
    qtbot.waitUntil(lambda: not engine.waiting and bool(made.rows or made.empty.isVisible()))
    return made


def row_of(page: LibraryPage, info: ModelInfo) -> ModelRow:
    return next(row for row in page.rows if row.model.info.name == info.name)


def text_of(row: ModelRow) -> str:
    return " ".join(label.text() for label in row.findChildren(QLabel))


def choose(row: ModelRow, text: str) -> None:
    action = next(action for action in row.more.menu().actions() if action.text() == text)
    assert action.isEnabled()
    action.trigger()


def answer_question(qtbot: QtBot, page: LibraryPage, pick: Callable[[QuestionDialog], QPushButton]) -> None:
    dialog = page.findChildren(QuestionDialog)[-1]
    qtbot.mouseClick(pick(dialog), Qt.MouseButton.LeftButton)


def test_every_model_shows_size_state_and_verdict(page: LibraryPage) -> None:
    text = text_of(row_of(page, QWEN))
    assert "8.00 GB" in text
    assert "Runs from memory" in text
    assert "Unfinished" in text_of(row_of(page, HALF))
    assert "Damaged" in text_of(row_of(page, DAMAGED))
    total = " ".join(label.text() for label in page.findChildren(QLabel))
    assert "3 models take 12.0 GB" in total


def test_chat_opens_one_chat_with_that_model_and_reuses_a_blank_one(
    qtbot: QtBot, page: LibraryPage, services: Services
) -> None:
    targets: list[str] = []
    page.navigate.connect(targets.append)
    row_of(page, QWEN).main.click()
    row_of(page, QWEN).main.click()
    assert len(set(targets)) == 1
    assert [chat.model for chat in services.conversations.conversations()] == [QWEN.name]


def test_verifying_is_a_job_with_progress_and_ends_with_a_sentence(
    qtbot: QtBot, page: LibraryPage, engine: FakeEngineHost, services: Services
) -> None:
    choose(row_of(page, QWEN), "Verify every block")
    request = engine.asked("verify")[0]
    assert (request.args, request.kwargs["repair"]) == ((QWEN.name,), False)
    engine.send(request.request_id, PROGRESS)
    assert services.jobs.jobs()[0].state is JobState.RUNNING
    result = VerifyResult(QWEN.name, 38, 8 * GB, (), ())
    engine.send(request.request_id, Finished(Outcome.DONE, result))
    qtbot.waitUntil(lambda: "as it was written" in page.notice.message())
    qtbot.waitUntil(lambda: not services.jobs.jobs())


def test_damage_is_named_and_repairing_is_the_one_button(
    qtbot: QtBot, page: LibraryPage, engine: FakeEngineHost, services: Services
) -> None:
    damage = DamagedFile("One file does not match.", "Repair it.", files=("blocks/layer-003.safetensors",))
    engine.reply("verify", damage)
    choose(row_of(page, QWEN), "Verify every block")
    qtbot.waitUntil(page.notice.isVisible)
    assert page.notice.message() == "One file does not match."
    engine.reply_nothing("verify")
    page.notice.action_chosen.emit()
    assert engine.asked("verify")[-1].kwargs["repair"] is True
    assert [job.kind for job in services.jobs.jobs()] == [JobKind.REPAIR]


def test_an_unfinished_model_is_finished_from_its_original(page: LibraryPage, engine: FakeEngineHost) -> None:
    engine.reply_nothing("split")
    row_of(page, HALF).main.click()
    assert engine.asked("split")[0].args == (HALF.source,)


def test_finishing_goes_on_with_the_job_that_was_cancelled(
    qtbot: QtBot, page: LibraryPage, engine: FakeEngineHost, services: Services
) -> None:
    engine.reply_nothing("split")
    assert HALF.source is not None
    job_id = services.jobs.add_split(HALF.source, True, title="half-done")
    services.jobs.cancel(job_id)
    qtbot.waitUntil(lambda: not services.jobs.jobs()[0].is_stopping)
    qtbot.waitUntil(lambda: not engine.waiting)
    row_of(page, HALF).main.click()
    assert [job.id for job in services.jobs.jobs()] == [job_id]
    assert engine.asked("split")[-1].kwargs["delete_original"] is True


def test_removing_asks_first_and_says_that_the_original_stays(
    qtbot: QtBot, page: LibraryPage, engine: FakeEngineHost
) -> None:
    choose(row_of(page, QWEN), "Remove…")
    dialog = page.findChildren(QuestionDialog)[-1]
    said = " ".join(label.text() for label in dialog.findChildren(QLabel))
    assert f"The original in {QWEN.source} is not touched" in said
    answer_question(qtbot, page, lambda question: question.no)
    assert not engine.asked("remove")
    engine.reply("remove", QWEN.name)
    engine.reply("list_models", [HALF, DAMAGED])
    choose(row_of(page, QWEN), "Remove…")
    answer_question(qtbot, page, lambda question: question.yes)
    qtbot.waitUntil(lambda: len(page.rows) == 2)
    assert "8.00 GB" in page.notice.message()


def test_a_removal_that_fails_is_said(qtbot: QtBot, page: LibraryPage, engine: FakeEngineHost) -> None:
    engine.reply("remove", ModelBusy("It is being worked on.", "Wait until it has finished."))
    choose(row_of(page, QWEN), "Remove…")
    answer_question(qtbot, page, lambda question: question.yes)
    qtbot.waitUntil(page.notice.isVisible)
    assert page.notice.message() == "It is being worked on."
    assert len(page.rows) == 3


def test_a_models_folder_can_be_opened(page: LibraryPage, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    choose(row_of(page, QWEN), "Open its folder")
    assert opened == [QWEN.path]


def test_jobs_at_work_are_at_the_top_with_their_buttons(
    qtbot: QtBot, page: LibraryPage, engine: FakeEngineHost, services: Services
) -> None:
    engine.reply_nothing("split")
    job_id = services.jobs.add_split("/from/a", title="A")
    engine.send(engine.asked("split")[0].request_id, PROGRESS)
    pause = next(each for each in page.findChildren(QToolButton) if each.accessibleName() == "Pause A")
    pause.click()
    qtbot.waitUntil(lambda: not services.jobs.jobs()[0].is_stopping)
    assert services.jobs.jobs()[0].state is JobState.PAUSED
    services.jobs.remove(job_id)
    row = pause.parentWidget()
    assert row is not None
    assert row.isHidden()


def test_while_a_job_works_on_a_model_it_is_neither_removed_nor_verified(
    qtbot: QtBot, page: LibraryPage, engine: FakeEngineHost
) -> None:
    choose(row_of(page, QWEN), "Verify every block")
    page.open()
    qtbot.waitUntil(lambda: row_of(page, QWEN).is_busy)
    actions = {action.text(): action.isEnabled() for action in row_of(page, QWEN).more.menu().actions()}
    assert not actions["Remove…"]
    assert not actions["Verify every block"]


def test_searching_and_sorting(page: LibraryPage) -> None:
    page.search.setText("qwen")
    assert [row.model.short for row in page.rows] == ["Qwen3-4B"]
    page.search.setText("nothing like that")
    assert page.rows == []
    page.search.setText("")
    page.order.setCurrentIndex(1)
    assert page.rows[0].model.short == "Qwen3-4B"


def test_an_empty_library_leads_to_the_wizard(qtbot: QtBot, engine: FakeEngineHost, services: Services) -> None:
    engine.reply("list_models", [])
    page = LibraryPage(services)
    qtbot.addWidget(page)
    page.show()
    page.open()
    qtbot.waitUntil(page.empty.isVisible)
    with qtbot.waitSignal(page.navigate) as navigated:
        page.empty.button.click()
    assert navigated.args == ["wizard"]


def test_a_downloaded_model_is_finished_and_removed_as_one(
    qtbot: QtBot, page: LibraryPage, engine: FakeEngineHost, services: Services
) -> None:
    engine.reply_nothing("download")
    fetched = replace(HALF, source=str(services.paths.downloads_dir / "lab--half-done@12345678"))
    engine.reply("list_models", [fetched])
    page.open()
    qtbot.waitUntil(lambda: len(page.rows) == 1)
    choose(row_of(page, fetched), "Remove…")
    said = " ".join(label.text() for label in page.findChildren(QuestionDialog)[-1].findChildren(QLabel))
    assert "downloaded again" in said
    answer_question(qtbot, page, lambda question: question.no)
    row_of(page, fetched).main.click()
    assert engine.asked("download")[0].args[0] == "lab/half-done"


def test_a_model_says_when_it_was_last_used(page: LibraryPage, services: Services) -> None:
    assert "not used yet" in text_of(row_of(page, QWEN))
    chat = services.conversations.add_conversation()
    services.conversations.add_message(chat.id, "assistant", "x", parent_id=None, model=QWEN.name)
    page._shelve(None)
    assert "last used today" in text_of(row_of(page, QWEN))


def test_the_day_of_the_last_use_is_said_in_words() -> None:
    now = datetime(2026, 3, 15, 9)

    def said(year: int, month: int, day: int, hour: int) -> str:
        return used_text(datetime(year, month, day, hour).timestamp(), now)

    assert [said(2026, 3, 14, 23), said(2026, 2, 1, 1), said(2025, 2, 1, 1)] == [
        "last used yesterday", "last used on 1 February", "last used on 1 February 2025"
    ]  # fmt: skip


def test_what_went_through_the_drive_is_told_once_something_did(
    qtbot: QtBot, page: LibraryPage, engine: FakeEngineHost
) -> None:
    assert page.ledger.isHidden()
    request = engine.ask("verify")
    engine.finish(request, VerifyResult("m", 4, 41 * GB, (), ()))
    qtbot.waitUntil(page.ledger.isVisible)
    assert "Read today 41.0 GB · written today 0 B" in page.ledger.sums()


AWAY = replace(model("lab/far-away", "away", 5 * GB), path="/media/usb/lab--far-away@12345678")
BIG = DriveReport("/media/big/Strata models", "/media/big", 900 * GB, 300 * GB, False, True)
SMALL = DriveReport("/media/small/Strata models", "/media/small", 9 * GB, 4 * GB, False, True)
MAIN = DriveReport("/models", "/", 1000 * GB, 500 * GB, True, True)


def open_move_dialog(qtbot: QtBot, page: LibraryPage, engine: FakeEngineHost, *drives: DriveReport) -> MoveDialog:
    engine.reply("list_drives", list(drives))
    engine.reply("measure_drive", 0.4 * GB)
    choose(row_of(page, QWEN), "Move to another drive…")
    dialog = page.findChildren(MoveDialog)[-1]
    qtbot.waitUntil(lambda: dialog.place.box.count() > 2 and not engine.waiting)
    return dialog


def test_a_model_is_moved_to_another_drive_as_a_job(
    qtbot: QtBot, page: LibraryPage, engine: FakeEngineHost, services: Services
) -> None:
    engine.reply_nothing("move")
    dialog = open_move_dialog(qtbot, page, engine, MAIN, BIG, SMALL)
    texts = [dialog.place.box.itemText(index) for index in range(dialog.place.box.count())]
    assert texts[:2] == [
        "Drive big · 300 GB free · reads 400 MB a second", "Drive small · 4.00 GB free · reads 400 MB a second"
    ]  # fmt: skip
    assert texts[-1] == "Other folder…"
    assert "292 GB stay free there." in " ".join(label.text() for label in dialog.findChildren(QLabel))
    qtbot.mouseClick(dialog.move_button, Qt.MouseButton.LeftButton)
    (request,) = engine.asked("move")
    assert request.args == (QWEN.name, Path(BIG.folder))
    copying = JobProgress("copying", 3, 38, "layer-001", GB, 8 * GB, 0.2 * GB, 35.0)
    engine.send(request.request_id, copying)
    job = " ".join(label.text() for label in page.findChildren(QLabel))
    assert "Moving Qwen3-4B" in job
    assert "Copying · block 3 of 38 · layer-001" in job
    assert "200 MB/s · about 35 s left" in job
    assert not row_of(page, QWEN).more.menu().actions()[0].isEnabled()
    result = MoveResult(QWEN.name, f"{BIG.folder}/{QWEN.name}", 40, 8 * GB, 8 * GB, 60.0)
    engine.finish(request.request_id, result)
    qtbot.waitUntil(lambda: f"Qwen3-4B is in {BIG.folder} now" in page.notice.message())
    qtbot.waitUntil(lambda: not services.jobs.jobs())


def test_a_move_to_a_drive_without_room_is_said_and_cannot_begin(
    qtbot: QtBot, page: LibraryPage, engine: FakeEngineHost
) -> None:
    dialog = open_move_dialog(qtbot, page, engine, MAIN, SMALL)
    text = " ".join(label.text() for label in dialog.findChildren(QLabel))
    assert "This needs 8.00 GB on the drive" in text
    assert "4.00 GB are free" in text
    assert not dialog.move_button.isEnabled()
    dialog.reject()
    assert engine.asked("move") == []


def test_with_one_drive_only_another_folder_can_be_chosen(
    qtbot: QtBot, page: LibraryPage, engine: FakeEngineHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.reply("list_drives", [MAIN])
    choose(row_of(page, QWEN), "Move to another drive…")
    dialog = page.findChildren(MoveDialog)[-1]
    qtbot.waitUntil(lambda: not engine.waiting)
    assert "no other drive" in " ".join(label.text() for label in dialog.findChildren(QLabel))
    assert not dialog.move_button.isEnabled()
    monkeypatch.setattr("app.drive_picker.QFileDialog.getExistingDirectory", lambda *_: str(tmp_path))
    dialog.place.box.activated.emit(dialog.place.box.count() - 1)
    assert dialog.move_button.isEnabled()
    assert dialog.folder == tmp_path
    monkeypatch.setattr("app.drive_picker.QFileDialog.getExistingDirectory", lambda *_: "/models")
    dialog.place.box.activated.emit(dialog.place.box.count() - 1)
    assert not dialog.move_button.isEnabled()


def test_a_model_whose_drive_is_away_is_shown_and_comes_back(
    qtbot: QtBot, page: LibraryPage, engine: FakeEngineHost
) -> None:
    engine.reply("list_models", [QWEN, AWAY])
    page.open()
    qtbot.waitUntil(lambda: len(page.rows) == 2)
    row = row_of(page, AWAY)
    text = text_of(row)
    assert "Not connected" in text
    assert "5.00 GB" in text
    assert row.main.text() == "Look again"
    assert [action.text() for action in row.more.menu().actions()] == ["Look again"]
    engine.reply("list_models", [QWEN, replace(AWAY, state="ready")])
    row.main.click()
    qtbot.waitUntil(lambda: row_of(page, AWAY).main.text() == "Chat")


def test_folders_of_models_are_shown_added_and_taken_off(
    qtbot: QtBot, page: LibraryPage, engine: FakeEngineHost, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    usb = FolderReport("/media/usb", False, False, 1, 5 * GB, 0, 0, True)
    big = FolderReport("/media/big", False, True, 0, 0, 900 * GB, 300 * GB, True)
    engine.reply(
        "model_folders", [FolderReport("/models", True, True, 3, 12 * GB, 1000 * GB, 500 * GB, False), usb, big]
    )
    page.open()
    qtbot.waitUntil(lambda: len(page.folders.rows) == 3)
    said = [" ".join(label.text() for label in row.findChildren(QLabel)) for row in page.folders.rows]
    assert "New models go here 3 models, 12.0 GB · 500 GB of 1.00 TB free" in said[0]
    assert "Not connected One model, 5.00 GB when it was last seen." in said[1]
    assert "No models yet · 300 GB of 900 GB free" in said[2]
    assert page.folders.rows[0].more.isHidden()
    engine.reply("add_models_folder", None)
    monkeypatch.setattr("app.library.folders_view.QFileDialog.getExistingDirectory", lambda *_: "/media/other")
    page.folders.add.click()
    assert engine.asked("add_models_folder")[0].args == (Path("/media/other"),)
    engine.reply("forget_models_folder", None)
    actions = {action.text(): action for action in page.folders.rows[2].more.menu().actions()}
    actions["Take it off this list…"].trigger()
    answer_question(qtbot, page, lambda dialog: dialog.yes)
    assert engine.asked("forget_models_folder")[0].args == (Path("/media/big"),)
    actions["Put new models here"].trigger()
    assert services.settings.value(MODELS_FOLDER) == "/media/big"


def test_what_was_begun_in_another_folder_is_finished_there(page: LibraryPage, engine: FakeEngineHost) -> None:
    engine.reply_nothing("split")
    row_of(page, HALF).main.click()
    assert engine.asked("split")[0].kwargs["target"] == Path("/models")
