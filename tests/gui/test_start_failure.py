"""A start that cannot succeed says why, in a dialog, and can be tried again."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

import app.session
from app.conversations.records import StoreError
from app.paths import Paths
from app.start_failure import StartError, StartFailureDialog

LOCKED = StoreError(
    "The conversations in /x cannot be opened.", "Check that the folder can be written.", detail="locked"
)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (LOCKED, "The conversations in /x cannot be opened."),
        (OSError(errno.ENOSPC, "No space left on device"), "cannot be used: No space left on device."),
        (sqlite3.OperationalError("attempt to write a readonly database"), "readonly database."),
    ],
)
def test_the_sentence_and_the_next_step_are_there_and_details_are_folded(
    qtbot: QtBot, tmp_path: Path, error: StartError, message: str
) -> None:
    dialog = StartFailureDialog(error, tmp_path / "not" / "there")
    qtbot.addWidget(dialog)
    dialog.show()
    assert message in dialog.message.text()
    assert dialog.next_step.text().startswith("Check that")
    assert not dialog.detail.isVisible()
    before = dialog.height()
    dialog.fold.click()
    assert dialog.detail.isVisible()
    assert dialog.detail.text()
    assert dialog.height() > before
    with qtbot.waitSignal(dialog.accepted):
        qtbot.mouseClick(dialog.again, Qt.MouseButton.LeftButton)


@pytest.mark.parametrize("tries", [0, 2])
def test_a_start_is_tried_as_often_as_wanted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tries: int) -> None:
    told: list[StartError] = []

    def ask(error: StartError, _folder: Path) -> bool:
        told.append(error)
        return len(told) <= tries

    def begin() -> str:
        if len(told) < 2:
            raise LOCKED
        return "started"

    monkeypatch.setattr(app.session, "is_tried_again", ask)
    assert app.session._persist(Paths(tmp_path), begin) == ("started" if tries else None)
    assert told == [LOCKED] * max(tries, 1)


def test_a_program_that_cannot_open_its_chats_says_so_and_ends(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What really happens with a locked file: the store's own error reaches the dialog."""
    file = tmp_path / "conversations.sqlite3"
    file.mkdir()
    from app.conversations.store import ConversationStore

    told: list[StartError] = []
    monkeypatch.setattr(app.session, "is_tried_again", lambda error, _folder: told.append(error))
    assert app.session._persist(Paths(tmp_path), lambda: ConversationStore(file)) is None
    assert isinstance(told[0], StoreError)
