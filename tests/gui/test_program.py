"""What ties the services together: closing, quitting, settings that act at once, and what a start goes on with."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

import app.program
from app.machine_record import MACHINE_FILE_NAME
from app.options import Options
from app.pages import PageName
from app.program import Program
from app.secrets import Secrets
from app.settings import FONT_SCALE, KEEP_IN_TRAY, MODELS_FOLDER, SETUP_FINISHED, THEME, Settings
from app.theme import tokens
from app.tray import Tray
from app.widgets.question import QuestionDialog
from tests.helpers.fake_engine import FakeEngineHost
from tests.helpers.shell_services import no_keyring
from tests.helpers.stand_in_pages import stand_in_pages


class StandInEngine(FakeEngineHost):
    """Takes what the program gives the real one, and notes what it is told."""

    def __init__(
        self,
        _data_dir: Path,
        *,
        models_folder: Path | None = None,
        runtimes: Sequence[Path] = (),
        parent: object = None,
    ) -> None:
        super().__init__(is_started=False)
        self.folders = [models_folder]
        self.starts = 0

    def start(self) -> None:
        self.starts += 1
        super().start()

    def restart(self, *, models_folder: Path | None = None, runtimes: Sequence[Path] | None = None) -> None:
        self.folders.append(models_folder)
        super().restart(models_folder=models_folder, runtimes=runtimes)


class Desk:
    """A program with stand-in pages; ``quits`` counts how often the application was asked to end."""

    def __init__(self, folder: Path, app: QApplication, *, is_safe_mode: bool = False) -> None:
        settings = Settings(folder / "settings.json", is_stored=not is_safe_mode)
        if not is_safe_mode:
            settings.set(SETUP_FINISHED, True)
        (folder / "logs").mkdir(exist_ok=True)
        self.program = Program(app, Options(folder, is_safe_mode), settings, Secrets(no_keyring))
        self.quits = 0
        self.program.leave = self._leave
        self.engine = cast(StandInEngine, self.program.services.engine)
        self.program.start()

    def _leave(self) -> None:
        self.quits += 1


@pytest.fixture(autouse=True)
def _stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.program, "EngineHost", StandInEngine)
    monkeypatch.setattr(app.program, "program_pages", stand_in_pages)
    monkeypatch.setattr(app.program, "import_pages", lambda: None)


@pytest.fixture
def desk(tmp_path: Path, qapp: QApplication, qtbot: QtBot) -> Iterator[Desk]:
    desk = Desk(tmp_path, qapp)
    qtbot.waitUntil(lambda: desk.engine.starts == 1)
    yield desk
    end(desk)


def end(desk: Desk) -> None:
    desk.program.stop()
    desk.program.window.close_for_good()
    desk.program.window.deleteLater()
    del desk.program, desk.engine
    gc.collect()


def begin_job(desk: Desk) -> None:
    desk.engine.reply_nothing("split")
    desk.program.services.jobs.add_split("starter", title="SmolLM2")
    assert desk.program.work.is_busy()


def answer_question(qtbot: QtBot, *, yes: bool) -> list[str]:
    """Answers the next question as soon as it is open; its title is in the list afterwards."""
    titles: list[str] = []

    def press() -> None:
        dialog = QApplication.activeModalWidget()
        assert isinstance(dialog, QuestionDialog)
        titles.append(dialog.windowTitle())
        (dialog.yes if yes else dialog.no).click()

    QTimer.singleShot(50, press)
    return titles


def test_a_start_shows_the_chats_and_starts_the_engine(desk: Desk) -> None:
    assert desk.program.window.isVisible()
    assert desk.program.window.shown_page() is PageName.CHAT
    assert desk.engine.starts == 1


def test_with_nothing_to_do_closing_the_window_quits_without_a_question(desk: Desk) -> None:
    desk.program.window.close()
    assert desk.quits == 1


def test_with_work_under_way_quitting_asks(desk: Desk, qtbot: QtBot) -> None:
    begin_job(desk)
    titles = answer_question(qtbot, yes=False)
    desk.program.quit()
    assert (titles, desk.quits) == (["Quit while something is under way?"], 0)
    answer_question(qtbot, yes=True)
    desk.program.quit()
    assert desk.quits == 1


def test_with_work_under_way_closing_the_window_leaves_the_icon_near_the_clock(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    stays: list[None] = []
    monkeypatch.setattr(Tray, "is_available", staticmethod(lambda: True))
    monkeypatch.setattr(desk.program.tray, "stay", lambda: stays.append(None))
    begin_job(desk)
    desk.program.window.close()
    assert (desk.quits, stays) == (0, [None])
    assert not desk.program.window.isVisible()
    desk.program.show_window("library")
    assert desk.program.window.isVisible()
    assert desk.program.window.shown_page() is PageName.LIBRARY


def test_who_does_not_want_the_icon_is_asked_instead(desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tray, "is_available", staticmethod(lambda: True))
    desk.program.services.settings.set(KEEP_IN_TRAY, False)
    begin_job(desk)
    titles = answer_question(qtbot, yes=False)
    desk.program.window.close()
    assert len(titles) == 1
    assert desk.program.window.isVisible()


def test_theme_and_text_size_act_at_once(desk: Desk, qapp: QApplication) -> None:
    settings = desk.program.services.settings
    settings.set(THEME, "dark")
    assert tokens().is_dark
    settings.set(FONT_SCALE, 1.5)
    assert qapp.font().pixelSize() == 21
    settings.set(THEME, "light")
    settings.set(FONT_SCALE, 1.0)
    assert not tokens().is_dark


def test_another_folder_of_models_is_told_to_a_fresh_engine(desk: Desk, tmp_path: Path) -> None:
    other = tmp_path / "other"
    desk.program.services.settings.set(MODELS_FOLDER, str(other))
    desk.program.services.settings.reset(MODELS_FOLDER)
    assert desk.engine.folders == [tmp_path / "models", other, tmp_path / "models"]


def test_what_was_measured_with_another_device_is_forgotten(desk: Desk) -> None:
    services = desk.program.services
    measured = services.paths.data_dir / MACHINE_FILE_NAME
    measured.write_text("{}")
    services.gpu.switched.emit()
    assert not measured.exists()


def test_the_software_for_a_card_that_does_not_start_is_said(desk: Desk) -> None:
    desk.program.services.gpu.fell_back.emit("The engine stopped unexpectedly (exit code 7).")
    bar = desk.program.window.notice
    assert bar.isVisible()
    assert bar.message() == "The software for your graphics card did not start, so models run on the processor."


def test_a_wish_to_restart_is_remembered(desk: Desk) -> None:
    desk.program.window.restart_requested.emit()
    assert desk.program.wants_restart
    assert desk.quits == 1


def test_damaged_settings_are_said(tmp_path: Path, qapp: QApplication, qtbot: QtBot) -> None:
    (tmp_path / "settings.json").write_text("{", encoding="utf-8")
    desk = Desk(tmp_path, qapp)
    qtbot.waitUntil(lambda: "could not be read" in desk.program.window.notice.message())
    end(desk)


def test_damaged_chats_are_said_with_where_they_were_kept(tmp_path: Path, qapp: QApplication, qtbot: QtBot) -> None:
    (tmp_path / "conversations.sqlite3").write_bytes(b"not a database" * 500)
    desk = Desk(tmp_path, qapp)
    qtbot.waitUntil(lambda: "chats was damaged" in desk.program.window.notice.message())
    assert "conversations.damaged-1.sqlite3" in desk.program.window.notice.accessibleName()
    end(desk)


def test_safe_mode_says_so_and_starts_nothing(tmp_path: Path, qapp: QApplication, qtbot: QtBot) -> None:
    desk = Desk(tmp_path, qapp, is_safe_mode=True)
    qtbot.waitUntil(lambda: "Safe mode" in desk.program.window.notice.message())
    assert desk.engine.starts == 0
    assert desk.program.window.shown_page() is PageName.CHAT
    end(desk)
