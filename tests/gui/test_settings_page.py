"""The settings page: made from the declarations, searched, and usable without a mouse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.secrets import TokenPlace
from app.services import Services
from app.settings import (
    LANGUAGE,
    MODELS_FOLDER,
    NIGHT_ONLY,
    PROXY,
    RAM_BUDGET,
    SETTINGS,
    THEME,
    Editor,
)
from app.settings_page.controls import SizeControl
from app.settings_page.editors import SettingEditor, control_for
from app.settings_page.page import SettingsPage
from app.settings_page.rows import SettingRow
from app.settings_page.token_row import TokenEditor
from engine.api import ModelInfo, ModelPlan
from tests.helpers.shell_services import shell_services


@pytest.fixture
def services(tmp_path: Path, qapp: QApplication) -> Iterator[Services]:
    with shell_services(tmp_path, qapp) as services:
        yield services


@pytest.fixture
def page(services: Services, qtbot: QtBot) -> SettingsPage:
    services.engine.reply("list_models", [])  # pyright: ignore[reportAttributeAccessIssue]
    page = SettingsPage(services)
    qtbot.addWidget(page)
    page.resize(1000, 800)
    page.show()
    page.open()
    return page


def control(page: SettingsPage, kind: type[QWidget], name: str) -> Any:
    return next(each for each in page.findChildren(kind) if each.accessibleName() == name)


def shown_titles(page: SettingsPage) -> set[str]:
    return {row.findChildren(QLabel)[0].text() for row in page.findChildren(SettingRow) if row.isVisible()}


def test_every_declared_setting_has_a_row(page: SettingsPage, services: Services) -> None:
    services.settings.set(NIGHT_ONLY, True)
    declared = {each.title for each in SETTINGS if each.editor is not Editor.NONE}
    assert declared <= shown_titles(page)


def test_a_setting_that_means_nothing_now_is_not_shown(page: SettingsPage, services: Services) -> None:
    assert "Night begins" not in shown_titles(page)
    control(page, QCheckBox, "Start jobs at night").click()
    assert "Night begins" in shown_titles(page)


def test_search_shows_what_is_meant_and_says_when_there_is_nothing(page: SettingsPage, qtbot: QtBot) -> None:
    qtbot.keyClicks(page.search, "gpu")
    assert shown_titles(page) == {"Graphics memory for models"}
    page.search.setText("telemetry")
    assert any("Version" in each for each in shown_titles(page))
    page.search.setText("teleportation")
    assert shown_titles(page) == set()
    assert any("teleportation" in each.text() for each in page.findChildren(QLabel) if each.isVisible())
    page.search.clear()
    assert "Theme" in shown_titles(page)


def test_a_choice_is_made_and_followed(page: SettingsPage, services: Services) -> None:
    dark = control(page, QToolButton, "Dark")
    dark.click()
    assert services.settings.value(THEME) == "dark"
    services.settings.set(THEME, "light")
    assert control(page, QToolButton, "Light").isChecked()


def test_an_address_that_is_none_is_refused_below_its_row(page: SettingsPage, services: Services, qtbot: QtBot) -> None:
    line = control(page, QLineEdit, "Proxy")
    qtbot.keyClicks(line, "localhost")
    qtbot.keyClick(line, Qt.Key.Key_Return)
    assert services.settings.value(PROXY) == ""
    notes = [each.text() for each in page.findChildren(QLabel) if each.isVisible() and "whole address" in each.text()]
    assert len(notes) == 1
    line.setText("http://localhost:8080")
    qtbot.keyClick(line, Qt.Key.Key_Return)
    assert services.settings.value(PROXY) == "http://localhost:8080"
    assert not any("whole address" in each.text() for each in page.findChildren(QLabel) if each.isVisible())


def test_a_budget_has_automatic_as_its_lowest_step(page: SettingsPage, services: Services) -> None:
    spin = control(page, QAbstractSpinBox, "Memory for models")
    assert spin.text() == "Automatic"
    spin.setValue(8)
    assert services.settings.value(RAM_BUDGET) == 8_000_000_000
    spin.setValue(0.2)
    assert services.settings.value(RAM_BUDGET) is None
    assert spin.text() == "Automatic"


def test_a_slider_goes_up_to_the_memory_of_the_machine(services: Services, qtbot: QtBot) -> None:
    control = control_for(RAM_BUDGET, default_folder="", top_bytes=16_000_000_000)
    assert isinstance(control, SizeControl)
    editor = SettingEditor(services.settings, RAM_BUDGET, control)
    qtbot.addWidget(editor)
    assert control.slider is not None
    control.slider.setValue(32)
    assert services.settings.value(RAM_BUDGET) == 16_000_000_000
    assert control.slider.maximum() == 32


def test_the_default_folder_is_shown_until_another_is_chosen(page: SettingsPage, services: Services) -> None:
    line = control(page, QLineEdit, "Folder of models")
    assert line.text() == str(services.paths.models_dir)
    services.settings.set(MODELS_FOLDER, str(services.paths.data_dir))
    assert line.text() == str(services.paths.data_dir)
    next(each for each in page.findChildren(QPushButton) if each.text() == "Use default").click()
    assert services.settings.value(MODELS_FOLDER) == ""


def test_a_language_needs_a_restart_and_offers_it(page: SettingsPage, services: Services, qtbot: QtBot) -> None:
    services.settings.set(LANGUAGE, "zh_CN")
    assert page.notice.isVisible()
    with qtbot.waitSignal(page.restart_requested):
        next(each for each in page.notice.findChildren(QPushButton) if each.text() == "Restart Strata").click()
    services.settings.set(LANGUAGE, "system")
    assert not page.notice.isVisible()


def test_the_token_is_hidden_and_its_place_said(page: SettingsPage, services: Services, qtbot: QtBot) -> None:
    with qtbot.waitSignal(services.secrets.changed):
        services.secrets.open()
    assert services.secrets.place() is TokenPlace.SESSION
    editor = page.findChild(TokenEditor)
    assert editor is not None
    assert "no keyring" in editor.place.text()
    line = control(page, QLineEdit, "Hub token")
    assert line.echoMode() is QLineEdit.EchoMode.Password
    line.setFocus()
    qtbot.keyClicks(line, "hf_abcdefgh")
    qtbot.keyClick(line, Qt.Key.Key_Return)
    assert services.secrets.token() == "hf_abcdefgh"
    control(page, QPushButton, "Remove the token").click()
    assert services.secrets.token() is None


def model(name: str) -> ModelInfo:
    return ModelInfo(name, name, "ready", 1, "/models/" + name, "bf16", "x", 4096, True, False, None)


def plan(s_per_token: float, streamed: int) -> ModelPlan:
    return ModelPlan("a", "x", "bf16", 3, True, 0, 0, 0, 1, "cpu", 0, 1, 1, streamed, 1, 4096, 1e9, s_per_token)


def test_a_budget_is_told_in_seconds_per_token(services: Services, qtbot: QtBot) -> None:
    engine = services.engine
    engine.reply("list_models", [model("big")])  # pyright: ignore[reportAttributeAccessIssue]
    engine.reply(  # pyright: ignore[reportAttributeAccessIssue]
        "plan", lambda request: plan(0.5, 0) if request.args[1].ram else plan(4.0, 8_000_000_000)
    )
    page = SettingsPage(services)
    qtbot.addWidget(page)
    page.show()
    page.open()
    sentence = page._pace.sentence
    qtbot.waitUntil(lambda: "4.0 s per token" in sentence.text())
    assert "8.00 GB" in sentence.text()
    services.settings.set(RAM_BUDGET, 16_000_000_000)
    qtbot.waitUntil(lambda: "0.5 s per token" in sentence.text())
    assert "stays in memory" in sentence.text()


def test_every_control_has_a_name_and_can_be_reached_with_the_tab_key(page: SettingsPage, services: Services) -> None:
    services.settings.set(NIGHT_ONLY, True)
    controls = [
        each
        for kind in (QLineEdit, QComboBox, QCheckBox, QPushButton, QToolButton, QAbstractSpinBox)
        for each in page.findChildren(kind)
        if each.isVisible() and each.objectName() not in ("qt_spinbox_lineedit", "_q_qlineeditclearbutton")
    ]
    assert len(controls) > 20
    for each in controls:
        assert each.accessibleName(), each
    reached = set()
    current: QWidget = page.search
    for _ in range(300):
        reached.add(current)
        following = current.nextInFocusChain()
        assert following is not None
        current = following
    assert {each for each in controls if each.focusPolicy() & Qt.FocusPolicy.TabFocus} <= reached
