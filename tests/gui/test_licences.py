"""Licences under About: only where an installer has put them, every one with its text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from app.about_dialog import AboutDialog
from app.licences_dialog import LicencesDialog
from app.theme import Theme

ROWS = [
    {"name": "Alpha", "version": "1.0", "licence": "MIT", "page": "", "files": ["Alpha-1.0/LICENSE"]},
    {"name": "Beta", "version": "", "licence": "LGPL-3.0-only", "page": "", "files": ["Beta/a.txt", "Beta/b.txt"]},
]


@pytest.fixture(autouse=True)
def look(qapp: QApplication) -> Theme:
    theme = Theme()
    theme.apply(qapp)
    return theme


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "licences.json").write_text(json.dumps(ROWS), encoding="utf-8")
    for row in ROWS:
        for name in row["files"]:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(f"The text of {name}", encoding="utf-8")
    return tmp_path


def test_the_chosen_licence_is_shown_with_all_its_texts(qtbot: QtBot, folder: Path) -> None:
    dialog = LicencesDialog(folder)
    qtbot.addWidget(dialog)
    assert [dialog.names.item(row).text() for row in range(dialog.names.count())] == ["Alpha 1.0", "Beta"]
    assert "The text of Alpha-1.0/LICENSE" in dialog.text.toPlainText()
    dialog.names.setCurrentRow(1)
    assert dialog.text.toPlainText().count("The text of Beta") == 2
    assert "LGPL-3.0-only" in dialog.text.toPlainText()


def test_about_opens_them_where_there_are_any(qtbot: QtBot, folder: Path) -> None:
    about = AboutDialog(licences=folder)
    qtbot.addWidget(about)
    about.show()
    about.licences.click()
    assert len(about.findChildren(LicencesDialog)) == 1


def test_a_checkout_has_none_to_show(qtbot: QtBot) -> None:
    about = AboutDialog()
    qtbot.addWidget(about)
    assert [each.text() for each in about.findChildren(QPushButton)] == ["Close"]
