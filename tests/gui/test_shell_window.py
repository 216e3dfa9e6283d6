"""The window around the pages: where one gets, by mouse and by keys, and what closing means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QLabel, QToolButton
from pytestqt.qtbot import QtBot

from app.about_dialog import AboutDialog
from app.main_window import MainWindow
from app.pages import PageName
from app.services import Services
from app.settings import FONT_SCALE, SETUP_FINISHED
from app.shortcuts import SHORTCUTS, add_action, shortcut, title
from app.shortcuts_dialog import ShortcutsDialog
from tests.helpers.shell_services import shell_services
from tests.helpers.stand_in_pages import StandInPage, stand_in_pages


@pytest.fixture
def services(tmp_path: Path, qapp: QApplication) -> Iterator[Services]:
    with shell_services(tmp_path, qapp) as services:
        yield services


@pytest.fixture
def window(services: Services, qtbot: QtBot) -> MainWindow:
    services.settings.set(SETUP_FINISHED, True)
    window = MainWindow(services, stand_in_pages())
    qtbot.addWidget(window, before_close_func=lambda _: window.close_for_good())
    window.show()
    window.go("chat")
    qtbot.waitUntil(window.isActiveWindow)
    return window


def page(window: MainWindow, name: PageName) -> StandInPage:
    return cast(StandInPage, window._page(name))


def press(qtbot: QtBot, window: MainWindow, keys: str) -> None:
    combination = cast(Any, QKeySequence(keys))[0]
    qtbot.keyClick(window, combination.key(), combination.keyboardModifiers())


def test_a_page_is_built_once_and_opened_each_time(window: MainWindow) -> None:
    window.go("library")
    first = page(window, PageName.LIBRARY)
    window.go("chat")
    window.go("library")
    assert page(window, PageName.LIBRARY) is first
    assert first.opened == 2
    assert "Library" in window.windowTitle()


def test_a_page_asks_for_another(window: MainWindow) -> None:
    page(window, PageName.CHAT).navigate.emit("settings")
    assert window.shown_page() is PageName.SETTINGS


def test_a_conversation_can_be_opened_from_anywhere(window: MainWindow) -> None:
    window.go("library")
    window.go("chat:17")
    assert window.shown_page() is PageName.CHAT
    assert page(window, PageName.CHAT).opened_conversations == ["17"]


def test_the_sidebar_marks_the_open_page(window: MainWindow) -> None:
    rows = {row.accessibleName(): row for row in window.sidebar.findChildren(QToolButton) if row.isVisible()}
    rows["Library"].click()
    assert window.shown_page() is PageName.LIBRARY
    assert rows["Library"].isChecked()
    assert not rows["Settings"].isChecked()
    rows["Library"].click()
    assert rows["Library"].isChecked()


def test_keys_reach_their_deeds(window: MainWindow, services: Services, qtbot: QtBot) -> None:
    press(qtbot, window, "Ctrl+,")
    assert window.shown_page() is PageName.SETTINGS
    press(qtbot, window, "Ctrl+N")
    assert page(window, PageName.CHAT).new_chats == 1
    press(qtbot, window, "Ctrl+B")
    assert window.sidebar.is_folded()
    press(qtbot, window, "Ctrl+B")
    assert not window.sidebar.is_folded()
    press(qtbot, window, "Ctrl++")
    assert services.settings.value(FONT_SCALE) == 1.1
    press(qtbot, window, "Ctrl+-")
    press(qtbot, window, "Ctrl+-")
    assert services.settings.value(FONT_SCALE) == 0.92
    press(qtbot, window, "Ctrl+0")
    assert services.settings.value(FONT_SCALE) == 1.0


def test_searching_chats_unfolds_the_sidebar(window: MainWindow, qtbot: QtBot) -> None:
    window.toggle_sidebar()
    press(qtbot, window, "Ctrl+K")
    assert not window.sidebar.is_folded()


@pytest.mark.parametrize("keys", ["F1", "Ctrl+/"])
def test_the_shortcuts_are_shown(window: MainWindow, qtbot: QtBot, keys: str) -> None:
    press(qtbot, window, keys)
    dialogs = window.findChildren(ShortcutsDialog)
    assert len(dialogs) == 1
    shown = {text.text() for text in dialogs[0].findChildren(QLabel)}
    assert {title(each) for each in SHORTCUTS} <= shown
    qtbot.keyClick(dialogs[0], Qt.Key.Key_Escape)


def test_the_about_dialog_names_the_version(window: MainWindow) -> None:
    window.show_about()
    (dialog,) = window.findChildren(AboutDialog)
    assert any("Version" in each.text() for each in dialog.findChildren(QLabel))
    dialog.accept()


def test_no_key_means_two_things() -> None:
    keys = [key for each in SHORTCUTS for key in each.keys]
    assert len(keys) == len(set(keys))


def test_an_action_has_the_keys_and_the_title_of_the_table(window: MainWindow) -> None:
    called: list[object] = []
    action = add_action(window, "regenerate", lambda: called.append(None))
    assert isinstance(action, QAction)
    assert action.shortcuts() == [QKeySequence("Ctrl+R")]
    action.trigger()
    assert called == [None]
    assert shortcut("regenerate").title == action.text()


def test_the_wizard_has_the_whole_window_the_first_time(services: Services, qtbot: QtBot) -> None:
    window = MainWindow(services, stand_in_pages())
    qtbot.addWidget(window, before_close_func=lambda _: window.close_for_good())
    window.show()
    window.go("wizard")
    assert not window.sidebar.isVisible()
    page(window, PageName.WIZARD).navigate.emit("chat")
    assert window.sidebar.isVisible()
    assert services.settings.value(SETUP_FINISHED)
    window.go("wizard")
    assert window.sidebar.isVisible()


def test_closing_asks_the_program_and_keeps_the_window(window: MainWindow, qtbot: QtBot) -> None:
    with qtbot.waitSignal(window.close_requested):
        window.close()
    assert window.isVisible()
    window.close_for_good()
    assert not window.isVisible()


def test_size_and_folded_sidebar_are_there_the_next_time(services: Services, qtbot: QtBot) -> None:
    services.settings.set(SETUP_FINISHED, True)
    first = MainWindow(services, stand_in_pages())
    qtbot.addWidget(first)
    first.resize(780, 540)
    first.toggle_sidebar()
    first.close_for_good()
    second = MainWindow(services, stand_in_pages())
    qtbot.addWidget(second, before_close_func=lambda _: second.close_for_good())
    assert second.sidebar.is_folded()
    assert (second.width(), second.height()) == (780, 540)


def test_every_control_of_the_frame_has_a_name(window: MainWindow) -> None:
    for each in window.sidebar.findChildren(QToolButton):
        assert each.accessibleName()
        assert each.focusPolicy() & Qt.FocusPolicy.TabFocus
