"""The wizard on a fake engine: from the first window to a chat, and everything that can come in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtWidgets import QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.job_records import JobKind, JobState
from app.services import Services
from app.settings import HELD_JOBS, SETUP_FINISHED
from app.widgets.notice_bar import NoticeBar, NoticeKind
from app.wizard.card_dialog import CardDialog
from app.wizard.flow import Step
from app.wizard.found_models import FoundModel
from app.wizard.offers import Action
from app.wizard.page import WizardPage
from engine.api import DriveReport, HubModel, MachineReport, ModelInfo, ModelPlan
from engine.errors import (
    AccessRefused,
    DiskFull,
    EngineError,
    HubUnreachable,
    TargetNotWritable,
    UnsupportedModel,
)
from engine.events import Finished, JobProgress, Outcome, SplitResult
from tests.helpers.fake_engine import FakeEngineHost, FakeRequest
from tests.helpers.page_services import close_page_services, page_services

GB = 10**9
STARTER_NAME = "HuggingFaceTB--SmolLM2-135M-Instruct@d3dd8a1f"
MACHINE = MachineReport("Linux", "A processor", 8, 32 * GB, 24 * GB, 1000 * GB, 500 * GB, 1.9 * GB, 25 * GB, ())
PLAN = ModelPlan(
    model=STARTER_NAME,
    architecture="LlamaForCausalLM",
    dtype="bfloat16",
    blocks=32,
    is_cut=False,
    disk_now_bytes=57_000_000,
    disk_peak_bytes=269_000_000,
    disk_after_bytes=269_000_000,
    disk_free_bytes=500 * GB,
    device="cpu",
    device_bytes=269_000_000,
    host_bytes=0,
    slot_bytes=0,
    streamed_bytes=0,
    cache_bytes=94_000_000,
    context=4096,
    disk_bytes_per_second=1.9 * GB,
    predicted_s_per_token=0.04,
)
PROGRESS = JobProgress("cutting", 3, 32, "layer-001", 20_000_000, 540_000_000, 1.3 * GB, 0.4)
STARTER = ModelInfo(
    name=STARTER_NAME,
    title="HuggingFaceTB/SmolLM2-135M-Instruct",
    state="ready",
    nbytes=269_000_000,
    path="/models/starter",
    dtype="bfloat16",
    architecture="LlamaForCausalLM",
    context=8192,
    can_chat=True,
    has_thinking_switch=False,
    source="/packages/starter.gguf",
)


def split_result(model: str = STARTER_NAME) -> SplitResult:
    return SplitResult(model, f"/models/{model}", 32, 269_000_000, 0, 1.0)


@pytest.fixture(autouse=True)
def no_models_of_other_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.wizard.found_search.find_models", lambda _environment, _home: [])


@pytest.fixture
def engine(qtbot: QtBot) -> FakeEngineHost:
    fake = FakeEngineHost()
    fake.reply("probe", MACHINE)
    fake.reply("plan", PLAN)
    fake.reply("list_models", [])
    return fake


@pytest.fixture
def services(engine: FakeEngineHost, tmp_path: Path) -> Iterator[Services]:
    made = page_services(tmp_path, engine)
    yield made
    close_page_services(made)


@pytest.fixture
def open_page(qtbot: QtBot, services: Services) -> Callable[[], WizardPage]:
    """Each call is a new start of the program with the same data folder."""

    def open_one() -> WizardPage:
        page = WizardPage(services)
        qtbot.addWidget(page)
        page.resize(920, 760)
        page.show()
        page.open()
        return page

    return open_one


def click(qtbot: QtBot, button: QPushButton) -> None:
    assert button.isVisible(), button.text()
    assert button.isEnabled(), button.text()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def to_cost(qtbot: QtBot, page: WizardPage) -> None:
    click(qtbot, page.welcome.forward)
    click(qtbot, page.machine.forward)
    click(qtbot, page.choice.starter if page.choice.starter.isVisible() else page.choice.forward)
    qtbot.waitUntil(page.cost.forward.isEnabled)


def test_four_clicks_lead_from_launch_to_chatting_with_the_recommended_model(
    qtbot: QtBot, engine: FakeEngineHost, services: Services, open_page: Callable[[], WizardPage]
) -> None:
    engine.reply("split", [PROGRESS, Finished(Outcome.DONE, split_result())])
    page = open_page()
    with qtbot.waitSignal(page.navigate) as navigated:
        to_cost(qtbot, page)
        click(qtbot, page.cost.forward)
    assert navigated.args is not None
    target = navigated.args[0]
    assert target.startswith("chat:")
    conversation = services.conversations.conversation(int(target.partition(":")[2]))
    assert conversation is not None
    assert conversation.model == STARTER_NAME
    assert engine.asked("split")[0].args == ("starter",)


def test_one_click_on_the_welcome_chats_with_the_starter(
    qtbot: QtBot, engine: FakeEngineHost, open_page: Callable[[], WizardPage]
) -> None:
    engine.reply("split", [PROGRESS, Finished(Outcome.DONE, split_result())])
    page = open_page()
    with qtbot.waitSignal(page.navigate):
        click(qtbot, page.welcome.starter)


def test_this_computer_is_described_in_words(qtbot: QtBot, open_page: Callable[[], WizardPage]) -> None:
    page = open_page()
    click(qtbot, page.welcome.forward)
    qtbot.waitUntil(page.machine.meaning.isVisible)
    assert "10 GB" in page.machine.meaning.text()


def test_a_measurement_that_fails_is_said_and_can_be_repeated(
    qtbot: QtBot, engine: FakeEngineHost, open_page: Callable[[], WizardPage]
) -> None:
    engine.reply("probe", EngineError("Models cannot be written to X: read-only.", "Choose another folder."))
    page = open_page()
    click(qtbot, page.welcome.forward)
    qtbot.waitUntil(page.machine.notice.isVisible)
    engine.reply("probe", MACHINE)
    page.machine.notice.action_chosen.emit()
    qtbot.waitUntil(page.machine.meaning.isVisible)
    assert page.machine.notice.isHidden()


def test_the_machine_is_measured_once_and_remembered(
    qtbot: QtBot, engine: FakeEngineHost, open_page: Callable[[], WizardPage]
) -> None:
    page = open_page()
    click(qtbot, page.welcome.forward)
    qtbot.waitUntil(page.machine.meaning.isVisible)
    again = open_page()
    assert again.state.step is Step.MACHINE
    assert again.machine.meaning.isVisible()
    assert len(engine.asked("probe")) == 1


def test_closing_at_any_point_continues_there(
    qtbot: QtBot, engine: FakeEngineHost, open_page: Callable[[], WizardPage]
) -> None:
    page = open_page()
    to_cost(qtbot, page)
    assert open_page().state == page.state
    engine.reply_nothing("split")
    click(qtbot, page.cost.forward)
    again = open_page()
    assert again.state.step is Step.PROGRESS
    assert again.progress.pause.isVisible()


def test_a_running_job_shows_phase_block_bytes_and_time(
    qtbot: QtBot, engine: FakeEngineHost, services: Services, open_page: Callable[[], WizardPage]
) -> None:
    engine.reply_nothing("split")
    page = open_page()
    to_cost(qtbot, page)
    click(qtbot, page.cost.forward)
    request = engine.asked("split")[0]
    engine.send(request.request_id, PROGRESS)
    shown = " ".join(label.text() for label in page.progress.findChildren(QLabel))
    assert "block 3 of 32" in shown
    assert "20.0 MB of 540 MB" in shown
    click(qtbot, page.progress.pause)
    qtbot.waitUntil(page.progress.go_on.isVisible)
    assert services.jobs.jobs()[0].state is JobState.PAUSED
    click(qtbot, page.progress.go_on)
    qtbot.waitUntil(lambda: services.jobs.jobs()[0].state is JobState.RUNNING)
    click(qtbot, page.progress.cancel)
    qtbot.waitUntil(lambda: page.state.step is Step.COST)


def test_a_full_drive_pauses_the_job_and_says_so(
    qtbot: QtBot, engine: FakeEngineHost, open_page: Callable[[], WizardPage]
) -> None:
    engine.reply("split", DiskFull("Needs 1.50 GB, 1.20 GB are free.", "Free some space.", need=10**15, have=1))
    page = open_page()
    to_cost(qtbot, page)
    click(qtbot, page.cost.forward)
    qtbot.waitUntil(page.progress.notice.isVisible)
    assert page.progress.notice.message() == "Needs 1.50 GB, 1.20 GB are free."
    assert page.progress.go_on.isVisible()


def test_a_model_that_cannot_run_is_refused_with_one_way_on(
    qtbot: QtBot, engine: FakeEngineHost, open_page: Callable[[], WizardPage], tmp_path: Path
) -> None:
    engine.reply("plan", UnsupportedModel("Its weights are in FP8.", "Choose a bfloat16 checkpoint."))
    page = open_page()
    click(qtbot, page.welcome.forward)
    click(qtbot, page.machine.forward)
    page.choice.choose_path(tmp_path / "DeepSeek-V3")
    qtbot.waitUntil(page.cost.notice.isVisible)
    assert page.cost.notice.message() == "Its weights are in FP8."
    assert not page.cost.forward.isVisible()
    page.cost.notice.action_chosen.emit()
    assert page.state.step is Step.CHOICE


def test_deleting_the_original_is_offered_with_the_change_in_figures(
    qtbot: QtBot, engine: FakeEngineHost, open_page: Callable[[], WizardPage], tmp_path: Path
) -> None:
    large = replace(PLAN, disk_peak_bytes=30 * GB, disk_after_bytes=30 * GB)
    less = replace(PLAN, disk_peak_bytes=6 * GB, disk_after_bytes=-GB)
    engine.reply("plan", lambda request: less if request.kwargs["delete_original"] else large)
    engine.reply_nothing("split")
    page = open_page()
    page.choice.choose_path(tmp_path / "Qwen3-14B")
    qtbot.waitUntil(page.cost.box.isVisible)
    page.cost.box.click()
    assert page.state.delete_original
    click(qtbot, page.cost.forward)
    assert engine.asked("split")[0].kwargs["delete_original"] is True


@pytest.mark.parametrize(
    ("peak", "after", "text"),
    [
        (6, -1, "At the peak 6.00 GB instead of 30.0 GB. Afterwards 1.00 GB less than today instead of 28.0 GB more"),
        (30, 2, "Afterwards 2.00 GB more than today instead of 28.0 GB. Each weight file"),
    ],
)
def test_what_deleting_the_original_changes_is_said_once(
    qtbot: QtBot, engine: FakeEngineHost, open_page: Callable[[], WizardPage], tmp_path: Path, peak: int, after: int,
    text: str,
) -> None:  # fmt: skip
    large = replace(PLAN, disk_peak_bytes=30 * GB, disk_after_bytes=28 * GB)
    less = replace(PLAN, disk_peak_bytes=peak * GB, disk_after_bytes=after * GB)
    engine.reply("plan", lambda request: less if request.kwargs["delete_original"] else large)
    page = open_page()
    page.choice.choose_path(tmp_path / "Qwen3-14B")
    qtbot.waitUntil(page.cost.box.isVisible)
    assert any(label.text().startswith(text) for label in page.cost.findChildren(QLabel))


def test_too_little_room_says_need_and_have_and_offers_the_deletion_that_helps(
    qtbot: QtBot, engine: FakeEngineHost, open_page: Callable[[], WizardPage], tmp_path: Path
) -> None:
    large = replace(PLAN, disk_peak_bytes=30 * GB, disk_free_bytes=12 * GB)
    less = replace(large, disk_peak_bytes=6 * GB, disk_after_bytes=-GB)
    engine.reply("plan", lambda request: less if request.kwargs["delete_original"] else large)
    page = open_page()
    page.choice.choose_path(tmp_path / "Qwen3-14B")
    qtbot.waitUntil(page.cost.box.isVisible)
    assert "30.0 GB" in page.cost.notice.message()
    assert "12.0 GB" in page.cost.notice.message()
    assert not page.cost.forward.isEnabled()
    page.cost.notice.action_chosen.emit()
    assert page.cost.box.isChecked()
    assert page.cost.forward.isEnabled()
    assert page.cost.notice.isHidden()


def test_a_model_that_is_cut_already_leads_straight_to_a_chat(
    qtbot: QtBot, engine: FakeEngineHost, open_page: Callable[[], WizardPage]
) -> None:
    engine.reply("plan", replace(PLAN, is_cut=True))
    page = open_page()
    to_cost(qtbot, page)
    with qtbot.waitSignal(page.navigate):
        click(qtbot, page.cost.forward)
    assert not engine.asked("split")


def test_the_starter_can_be_used_while_another_model_is_cut(
    qtbot: QtBot, engine: FakeEngineHost, services: Services, open_page: Callable[[], WizardPage], tmp_path: Path
) -> None:
    engine.reply_nothing("split")
    page = open_page()
    page.choice.choose_path(tmp_path / "Qwen3-14B")
    qtbot.waitUntil(page.cost.forward.isEnabled)
    click(qtbot, page.cost.forward)
    click(qtbot, page.progress.forward)
    qtbot.waitUntil(lambda: [request.args[0] for request in engine.asked("split")][-1] == "starter")
    assert services.jobs.jobs()[0].state is JobState.PAUSED
    with qtbot.waitSignal(page.navigate):
        engine.finish(engine.asked("split")[-1].request_id, split_result())
    qtbot.waitUntil(lambda: services.jobs.jobs()[0].state is JobState.RUNNING)
    assert page.state.step is Step.PROGRESS


def test_a_starter_that_is_ready_is_used_at_once(
    qtbot: QtBot, engine: FakeEngineHost, services: Services, open_page: Callable[[], WizardPage], tmp_path: Path
) -> None:
    engine.reply_nothing("split")
    engine.reply("list_models", [STARTER])
    page = open_page()
    page.choice.choose_path(tmp_path / "Qwen3-14B")
    qtbot.waitUntil(page.cost.forward.isEnabled)
    click(qtbot, page.cost.forward)
    with qtbot.waitSignal(page.navigate):
        click(qtbot, page.progress.forward)
    assert services.jobs.jobs()[0].state is JobState.RUNNING


def test_a_job_held_for_the_night_says_when_it_begins(
    qtbot: QtBot, engine: FakeEngineHost, services: Services, open_page: Callable[[], WizardPage], tmp_path: Path
) -> None:
    engine.reply_nothing("split")
    page = open_page()
    page.choice.choose_path(tmp_path / "Qwen3-14B")
    qtbot.waitUntil(page.cost.forward.isEnabled)
    click(qtbot, page.cost.forward)
    job = services.jobs.jobs()[0]
    services.settings.set(HELD_JOBS, job.id)
    services.jobs.pause(job.id)
    qtbot.waitUntil(lambda: "23:00" in page.progress.text.text())


def test_somebody_who_is_set_up_begins_with_the_choice(services: Services, open_page: Callable[[], WizardPage]) -> None:
    services.settings.set(SETUP_FINISHED, True)
    assert open_page().state.step is Step.CHOICE


def test_no_row_offers_a_download_the_engine_does_not_have(
    open_page: Callable[[], WizardPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeEngineHost, "methods", frozenset({"plan", "split"}))
    page = open_page()
    for row in page.choice.rows:
        row.open()
    texts = [button.text() for button in page.choice.findChildren(QPushButton)]
    assert not [text for text in texts if "ownload" in text]
    assert "Choose its folder…" in texts
    assert page.choice.ask_hub.isHidden()


def test_a_row_opens_from_the_keyboard(qtbot: QtBot, open_page: Callable[[], WizardPage]) -> None:
    row = open_page().choice.rows[3]
    qtbot.keyClick(row.head, Qt.Key.Key_Return)
    assert row.is_open()
    qtbot.keyClick(row.head, Qt.Key.Key_Space)
    assert not row.is_open()


def test_a_search_without_a_match_says_so(qtbot: QtBot, open_page: Callable[[], WizardPage]) -> None:
    page = open_page()
    page.choice.search.setText("no such model")
    assert not [row for row in page.choice.rows if not row.isHidden()]
    page.choice.search.setText("qwen3 8b")
    assert len([row for row in page.choice.rows if not row.isHidden()]) == 1


def test_models_of_other_programs_are_offered(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, open_page: Callable[[], WizardPage]
) -> None:
    found = [FoundModel("/cache/models--a--b", "a/b", 4 * GB, Path("/cache/models--a--b"))]
    monkeypatch.setattr("app.wizard.found_search.find_models", lambda _environment, _home: found)
    page = open_page()
    qtbot.waitUntil(lambda: any(row.offer.title == "a/b" for row in page.choice.rows))


def test_every_button_has_a_name(open_page: Callable[[], WizardPage]) -> None:
    page = open_page()
    for row in page.choice.rows:
        row.open()
    page.cost.notice.show_notice(NoticeKind.INFO, "A notice.", action="An action")
    assert not [
        button.text() for button in page.findChildren(QPushButton) if button.text() and not button.accessibleName()
    ]


HIT = HubModel(
    repo="lab/large-one",
    downloads=10,
    likes=1,
    is_gated=False,
    nbytes=16 * GB,
    parameters=8 * GB,
    library="transformers",
    task="text-generation",
    tags=(),
    last_modified=None,
    page="https://huggingface.co/lab/large-one",
    reason="",
)


def test_the_recommended_download_says_what_is_fetched_and_becomes_a_job(
    qtbot: QtBot, engine: FakeEngineHost, services: Services, open_page: Callable[[], WizardPage]
) -> None:
    kept = replace(PLAN, disk_after_bytes=33 * GB, disk_peak_bytes=33 * GB, download_bytes=16 * GB)
    usual = replace(PLAN, disk_after_bytes=17 * GB, disk_peak_bytes=20 * GB, download_bytes=16 * GB)
    engine.reply("plan_download", lambda request: kept if request.kwargs["keep_download"] else usual)
    engine.reply_nothing("download")
    page = open_page()
    click(qtbot, page.welcome.forward)
    qtbot.waitUntil(page.machine.meaning.isVisible)
    click(qtbot, page.machine.forward)
    click(qtbot, page.choice.forward)
    qtbot.waitUntil(page.cost.box.isVisible)
    assert page.cost.box.text() == "Keep the downloaded files as well"
    assert any(label.text() == "16.0 GB" for label in page.cost.findChildren(QLabel))
    click(qtbot, page.cost.forward)
    assert engine.asked("download")[0].args[0] == "Qwen/Qwen3-8B"
    assert services.jobs.jobs()[0].kind is JobKind.DOWNLOAD


def test_the_hub_is_searched_only_when_asked(
    qtbot: QtBot, engine: FakeEngineHost, open_page: Callable[[], WizardPage]
) -> None:
    engine.reply("search_models", [HIT, replace(HIT, repo="lab/gguf-only", reason="It has only GGUF files.")])
    page = open_page()
    page.choice.search.setText("large one")
    assert not engine.asked("search_models")
    page.choice.ask_hub.click()
    qtbot.waitUntil(lambda: any(row.offer.title == "lab/large-one" for row in page.choice.rows))
    refused = page.choice.rows[-1]
    assert refused.offer.action is Action.LATER
    assert "It has only GGUF files." in " ".join(label.text() for label in refused.findChildren(QLabel))


CARD = """---
license: mit
---
<p align="center"><img src="https://example.org/logo.png"></p>

# Large One

It speaks **French**. ![chart](chart.png) See [the paper](https://example.org/paper).

| a | b |
|---|---|
| 1 | 2 |
"""


def test_the_description_of_a_model_of_the_hub_is_read_before_it_is_chosen(
    qtbot: QtBot, engine: FakeEngineHost, open_page: Callable[[], WizardPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.reply("search_models", [HIT])
    engine.reply("model_card", CARD)
    page = open_page()
    page.choice.search.setText("large one")
    page.choice.ask_hub.click()
    qtbot.waitUntil(lambda: any(row.offer.title == "lab/large-one" for row in page.choice.rows))
    row = page.choice.rows[-1]
    row.open()
    read = next(each for each in row.findChildren(QPushButton) if each.text() == "Read its description")
    assert not engine.asked("model_card")
    read.click()
    assert engine.asked("model_card")[0].args[0] == "lab/large-one"
    dialog = page.findChildren(CardDialog)[-1]
    qtbot.waitUntil(lambda: "Large One" in dialog.text.toPlainText())
    said = dialog.text.toPlainText()
    assert "It speaks French." in said
    assert "license" not in said
    assert "<img" not in dialog.text.toHtml()
    asked: list[str] = []
    monkeypatch.setattr("app.wizard.card_dialog.follow_link", lambda address, _parent: asked.append(address))
    dialog.text.anchorClicked.emit(QUrl("https://example.org/paper"))
    assert asked == ["https://example.org/paper"]


def test_a_description_that_cannot_be_fetched_can_be_asked_for_again(
    qtbot: QtBot, engine: FakeEngineHost, services: Services
) -> None:
    engine.reply("model_card", HubUnreachable("There is no connection to huggingface.co.", "Check the network."))
    dialog = CardDialog(services, "lab/large-one")
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(dialog.notice.isVisible)
    engine.reply("model_card", "")
    dialog.notice.action_chosen.emit()
    qtbot.waitUntil(lambda: "has written no description" in dialog.text.toPlainText())
    assert not dialog.notice.isVisible()


def test_a_hub_that_cannot_be_reached_is_said(
    qtbot: QtBot, engine: FakeEngineHost, open_page: Callable[[], WizardPage]
) -> None:
    engine.reply("search_models", HubUnreachable("There is no connection to huggingface.co.", "Check the network."))
    page = open_page()
    click(qtbot, page.welcome.forward)
    click(qtbot, page.machine.forward)
    page.choice.search.setText("qwen")
    page.choice.ask_hub.click()
    qtbot.waitUntil(lambda: any("no connection" in bar.message() for bar in page.choice.findChildren(NoticeBar)))


def test_a_gated_model_asks_for_its_licence_and_a_token_before_anything_is_fetched(
    qtbot: QtBot, engine: FakeEngineHost, services: Services, open_page: Callable[[], WizardPage]
) -> None:
    refusal = AccessRefused(
        "Llama 3.1 8B asks for permission.", "Accept its licence.", page="https://huggingface.co/x", needs_token=True
    )
    engine.reply("plan_download", refusal)
    page = open_page()
    click(qtbot, page.welcome.forward)
    click(qtbot, page.machine.forward)
    gated = next(row for row in page.choice.rows if row.offer.is_gated)
    gated.chosen.emit()
    qtbot.waitUntil(page.cost.access.isVisible)
    assert not engine.asked("download")
    engine.reply("plan_download", PLAN)
    page.cost.access.token.setText(" hf_secret ")
    click(qtbot, page.cost.access.use)
    qtbot.waitUntil(page.cost.forward.isEnabled)
    assert services.secrets.token() == "hf_secret"
    assert page.cost.access.token.text() == ""
    assert engine.asked("plan_download")[-1].args[1].token == "hf_secret"
    assert not page.cost.access.isVisible()


def test_download_and_cutting_advance_side_by_side(
    qtbot: QtBot, engine: FakeEngineHost, open_page: Callable[[], WizardPage]
) -> None:
    engine.reply("plan_download", PLAN)
    engine.reply_nothing("download")
    page = open_page()
    page.choice.chosen.emit("Qwen/Qwen3-4B", "Qwen3 4B", True)
    qtbot.waitUntil(page.cost.forward.isEnabled)
    click(qtbot, page.cost.forward)
    request_id = engine.asked("download")[0].request_id
    engine.send(request_id, JobProgress("downloading", 2, 3, "model-2.safetensors", 3 * GB, 8 * GB, 0.1 * GB, 50.0))
    engine.send(request_id, PROGRESS)
    said = [" ".join(label.text() for label in stage.findChildren(QLabel)) for stage in stages(page)]
    assert "file 2 of 3" in said[0]
    assert "3.00 GB of 8.00 GB" in said[0]
    assert "block 3 of 32" in said[1]
    engine.send(request_id, JobProgress("waiting", 2, 3, "model-2.safetensors", 3 * GB, 8 * GB, 0.0, None))
    said = [" ".join(label.text() for label in stage.findChildren(QLabel)) for stage in stages(page)]
    assert "Waiting for the hub" in said[0]
    assert "0 B/s" in said[0]


def stages(page: WizardPage) -> list[QWidget]:
    return [page.progress.download, page.progress.cutting]


BIG = DriveReport("/media/big/Strata models", "/media/big", 900 * GB, 300 * GB, False, True)


def main_drive(services: Services) -> DriveReport:
    return DriveReport(str(services.paths.models_dir), "/", 1000 * GB, 500 * GB, True, True)


def label_texts(widget: QWidget) -> str:
    return " ".join(label.text() for label in widget.findChildren(QLabel) if not label.isHidden())


def test_other_drives_are_described_while_they_are_measured(
    qtbot: QtBot, engine: FakeEngineHost, services: Services, open_page: Callable[[], WizardPage]
) -> None:
    engine.reply("list_drives", [main_drive(services), BIG])
    page = open_page()
    click(qtbot, page.welcome.forward)
    qtbot.waitUntil(lambda: len(engine.asked("measure_drive")) == 1)
    assert "Drive big being measured… · 300 GB of 900 GB free" in label_texts(page.machine)
    assert page.machine.forward.isEnabled()
    engine.give(engine.asked("measure_drive")[0].request_id, 0.5 * GB)
    assert "Reads 500 MB a second (good) · 300 GB of 900 GB free" in label_texts(page.machine)
    assert label_texts(page.machine).count("The drive that holds your models") == 1


def plan_in(services: Services) -> Callable[[FakeRequest], ModelPlan]:
    def plan(request: FakeRequest) -> ModelPlan:
        target = request.kwargs["target"]
        speed = 2.0 if target is None else 9.0
        return replace(PLAN, folder=str(target or services.paths.models_dir), predicted_s_per_token=speed)

    return plan


def test_the_folder_is_chosen_for_this_model_and_what_it_costs_there_is_shown(
    qtbot: QtBot, engine: FakeEngineHost, services: Services, open_page: Callable[[], WizardPage]
) -> None:
    engine.reply("list_drives", [main_drive(services), BIG])
    engine.reply("measure_drive", 0.5 * GB)
    engine.reply("plan", plan_in(services))
    engine.reply_nothing("split")
    page = open_page()
    to_cost(qtbot, page)
    qtbot.waitUntil(lambda: page.cost.place.box.count() == 4)
    assert (
        page.cost.place.box.currentText() == "The drive that holds your models · 500 GB free · reads 1.90 GB a second"
    )
    page.cost.place.box.activated.emit(1)
    assert not page.cost.forward.isEnabled()
    qtbot.waitUntil(page.cost.forward.isEnabled)
    assert "9.0 s" in label_texts(page.cost)
    assert BIG.folder in label_texts(page.cost)
    again = open_page()
    qtbot.waitUntil(again.cost.forward.isEnabled)
    assert again.state.target == BIG.folder
    click(qtbot, again.cost.forward)
    assert engine.asked("split")[0].kwargs["target"] == Path(BIG.folder)


def test_a_folder_that_cannot_be_used_leads_back_to_the_usual_one(
    qtbot: QtBot, engine: FakeEngineHost, services: Services, open_page: Callable[[], WizardPage]
) -> None:
    plan = plan_in(services)
    refusal = TargetNotWritable("Models cannot be written there.", "Choose another folder.")
    engine.reply("list_drives", [main_drive(services), BIG])
    engine.reply("plan", lambda request: refusal if request.kwargs["target"] else plan(request))
    page = open_page()
    to_cost(qtbot, page)
    qtbot.waitUntil(lambda: page.cost.place.box.count() == 4)
    page.cost.place.box.activated.emit(1)
    qtbot.waitUntil(page.cost.notice.isVisible)
    page.cost.notice.action_chosen.emit()
    qtbot.waitUntil(page.cost.forward.isEnabled)
    assert page.state.target == ""
    assert page.cost.place.folder == str(services.paths.models_dir)


def test_what_was_begun_elsewhere_says_where_it_is_finished(
    qtbot: QtBot, engine: FakeEngineHost, open_page: Callable[[], WizardPage]
) -> None:
    engine.reply("plan", replace(PLAN, folder="/media/old/models"))
    page = open_page()
    to_cost(qtbot, page)
    assert not page.cost.place.box.isEnabled()
    assert "It was begun in /media/old/models and is finished there." in label_texts(page.cost)


def test_a_file_opened_in_the_file_browser_is_planned_at_once(
    qtbot: QtBot, engine: FakeEngineHost, open_page: Callable[[], WizardPage]
) -> None:
    page = open_page()
    page.open_file("/home/Zoë/Downloads/a model.gguf")
    assert page.state.step is Step.COST
    assert page.state.title == "a model.gguf"
    qtbot.waitUntil(page.cost.forward.isEnabled)
    assert engine.asked("plan")[-1].args[0] == "/home/Zoë/Downloads/a model.gguf"
