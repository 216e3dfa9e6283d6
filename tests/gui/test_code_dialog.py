"""The question about a model's own code: what it says, that a yes reaches the engine, and that a no changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.code_dialog import CodeDialog, ask_about_code
from app.job_records import JobError, JobState, read_jobs
from app.library.page import LibraryPage
from app.model_code import ModelCode, code_of
from app.services import Services
from app.wizard.flow import Step
from app.wizard.page import WizardPage
from engine.errors import CodeNotAllowed, EngineError, TargetNotWritable
from engine.events import Finished, Outcome
from tests.gui.test_wizard_page import MACHINE, PLAN, split_result
from tests.helpers.chat_page import Chat
from tests.helpers.chat_services import chat_services
from tests.helpers.fake_engine import FakeEngineHost, FakeRequest, load_events
from tests.helpers.page_services import close_page_services, page_services

REFUSED = CodeNotAllowed(
    "A model of type “own” runs only with Python code from its own repository, and you have not allowed this code.",
    "Choose a model that transformers supports by itself; or, if you trust this code, add --allow-remote-code.",
    model="acme/own",
    revision="0123456789abcdef0123456789abcdef01234567",
    files=("configuration_own.py", "modeling_own.py"),
    sizes=(4_100, 82_000),
    digest="d1935",
)
YES = ("acme/own", REFUSED.revision, "d1935")


class Consent:
    """Answers as the engine does: ``CodeNotAllowed`` until the yes to this very code has come."""

    def __init__(self, engine: FakeEngineHost) -> None:
        self.is_given = False
        engine.reply("allow_shown_code", self._note)

    def _note(self, request: FakeRequest) -> EngineError | None:
        assert request.args == YES
        self.is_given = True
        return None

    def guard(self, reply: object) -> object:
        return lambda _request: reply if self.is_given else REFUSED


@pytest.fixture
def engine(qtbot: QtBot) -> FakeEngineHost:
    fake = FakeEngineHost()
    fake.reply("probe", MACHINE)
    fake.reply("list_models", [])
    return fake


@pytest.fixture
def consent(engine: FakeEngineHost) -> Consent:
    given = Consent(engine)
    engine.reply("plan", given.guard(PLAN))
    engine.reply("split", given.guard([Finished(Outcome.DONE, split_result())]))
    return given


@pytest.fixture
def services(engine: FakeEngineHost, tmp_path: Path) -> Iterator[Services]:
    made = page_services(tmp_path, engine)
    yield made
    close_page_services(made)


@pytest.fixture
def wizard(qtbot: QtBot, services: Services, consent: Consent, monkeypatch: pytest.MonkeyPatch) -> WizardPage:
    monkeypatch.setattr("app.wizard.found_search.find_models", lambda _environment, _home: [])
    page = WizardPage(services)
    qtbot.addWidget(page)
    page.resize(920, 760)
    page.show()
    page.open()
    return page


def choose(page: WizardPage) -> None:
    page.choice.chosen.emit("/from/own", "own", False)


def question(qtbot: QtBot, page: QWidget) -> CodeDialog:
    qtbot.waitUntil(lambda: any(each.isVisible() for each in page.findChildren(CodeDialog)))
    return next(each for each in page.findChildren(CodeDialog) if each.isVisible())


def said(dialog: CodeDialog) -> str:
    return " ".join(each.text() for each in dialog.findChildren(QLabel))


def test_the_question_names_model_version_and_files_and_enter_and_escape_say_no(qtbot: QtBot) -> None:
    engine = FakeEngineHost()
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Escape):
        dialog = ask_about_code(code_of(REFUSED), engine, window)
        assert "acme/own, version 0123456789ab," in said(dialog)
        assert dialog.files.toPlainText() == "configuration_own.py · 4.10 kB\nmodeling_own.py · 82.0 kB"
        assert dialog.focusWidget() is dialog.no
        with qtbot.waitSignal(dialog.rejected):
            qtbot.keyClick(dialog, key)
    assert not engine.requests


def test_a_yes_waits_for_the_engine_and_what_it_says_instead_is_shown(qtbot: QtBot, engine: FakeEngineHost) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    dialog = ask_about_code(code_of(REFUSED), engine, window)
    dialog.allow.click()
    dialog.reject()
    assert dialog.isVisible()
    (request,) = engine.asked("allow_shown_code")
    engine.fail(request.request_id, TargetNotWritable("The folder /data cannot be written."))
    assert "cannot be written" in dialog.notice.message()
    dialog.allow.click()
    with qtbot.waitSignal(dialog.accepted):
        engine.give(engine.waiting[-1].request_id, None)


def test_the_wizard_asks_and_plans_again_after_a_yes(qtbot: QtBot, wizard: WizardPage, engine: FakeEngineHost) -> None:
    choose(wizard)
    question(qtbot, wizard).allow.click()
    qtbot.waitUntil(lambda: wizard.cost.forward.isVisible() and wizard.cost.forward.isEnabled())
    assert wizard.cost.notice.isHidden()
    assert [request.args[0] for request in engine.asked("plan")][:2] == ["/from/own", "/from/own"]


def test_after_a_no_the_wizard_says_why_and_offers_another_model(
    qtbot: QtBot, wizard: WizardPage, consent: Consent
) -> None:
    choose(wizard)
    question(qtbot, wizard).no.click()
    assert wizard.cost.notice.isVisible()
    assert "“own”" in wizard.cost.notice.message()
    assert not wizard.cost.forward.isVisible()
    wizard.cost.notice.action_chosen.emit()
    assert wizard.state.step is Step.CHOICE
    assert not consent.is_given


def test_a_wizard_that_nobody_looks_at_does_not_ask(qtbot: QtBot, wizard: WizardPage, engine: FakeEngineHost) -> None:
    choose(wizard)
    wizard.hide()
    qtbot.waitUntil(lambda: not engine.waiting)
    assert not wizard.findChildren(CodeDialog)
    wizard.show()
    wizard.open()
    question(qtbot, wizard)


def test_a_job_that_failed_for_its_code_asks_by_its_button_and_goes_on(
    qtbot: QtBot, services: Services, engine: FakeEngineHost, consent: Consent
) -> None:
    page = LibraryPage(services)
    qtbot.addWidget(page)
    page.show()
    page.open()
    job_id = services.jobs.add_split("/from/own", title="own")
    qtbot.waitUntil(lambda: (job := services.jobs.job(job_id)) is not None and job.state is JobState.FAILED)
    row = page._job_rows[job_id]
    assert row.retry.text() == "Look at its code"
    row.retry.click()
    question(qtbot, page).no.click()
    assert len(engine.asked("split")) == 1
    row.retry.click()
    question(qtbot, page).allow.click()
    qtbot.waitUntil(lambda: services.jobs.job(job_id) is None)
    assert len(engine.asked("split")) == 2


def test_the_progress_step_asks_about_the_code_of_its_job(
    qtbot: QtBot, wizard: WizardPage, engine: FakeEngineHost, services: Services
) -> None:
    choose(wizard)
    question(qtbot, wizard).allow.click()
    qtbot.waitUntil(wizard.cost.forward.isEnabled)
    engine.reply("split", REFUSED)
    wizard.cost.forward.click()
    qtbot.waitUntil(wizard.progress.notice.isVisible)
    wizard.progress.notice.action_chosen.emit()
    engine.reply_nothing("split")
    question(qtbot, wizard).allow.click()
    qtbot.waitUntil(lambda: len(engine.asked("split")) == 2)


def test_the_code_a_job_stopped_at_is_known_after_a_restart(qtbot: QtBot, services: Services, consent: Consent) -> None:
    job_id = services.jobs.add_split("/from/own")
    qtbot.waitUntil(lambda: (job := services.jobs.job(job_id)) is not None and job.state is JobState.FAILED)
    services.jobs.close()
    (job,) = read_jobs(services.paths.jobs_file)
    assert isinstance(job.error, JobError)
    assert job.error.code == ModelCode(*YES[:2], (("configuration_own.py", 4_100), ("modeling_own.py", 82_000)), YES[2])


def test_a_chat_asks_before_its_model_is_loaded_and_answers_after_a_yes(tmp_path: Path, qtbot: QtBot) -> None:
    with chat_services(tmp_path) as (services, engine):
        chat = Chat(services, engine, qtbot)
        consent = Consent(engine)
        engine.reply("load", lambda request: load_events(request.args[0]) if consent.is_given else REFUSED)
        engine.answer_with("An oak")
        chat.write("Name a tree")
        dialog = question(qtbot, chat.page)
        assert not engine.asked("answer")
        dialog.allow.click()
        qtbot.waitUntil(lambda: chat.texts() == ["Name a tree", "An oak"])
        chat.wait_for_end()
        chat.close()
