"""The transcript: only what is near exists, appending draws the end only, and the reader's place is kept."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.chat.footer_view import FooterView, MessageAction
from app.chat.formulas import Formulas
from app.chat.live_view import LiveView
from app.chat.part_views import CodeView, QuestionView, ThinkingHead
from app.chat.thumbnails import Thumbnails
from app.chat.transcript import Transcript
from app.conversations.images import ImageFolder
from app.conversations.records import AnswerState, StoredMessage

PARAGRAPH = "A paragraph with some words in it that go on for a while, and then a little longer. "


def question(number: int, text: str = "A question") -> StoredMessage:
    return StoredMessage(number, 1, number - 1 or None, "user", text, 0.0)


def answer(number: int, text: str, state: AnswerState = AnswerState.DONE, **more: Any) -> StoredMessage:
    return StoredMessage(number, 1, number - 1, "assistant", text, 0.0, state, **more)


@pytest.fixture
def transcript(qtbot: QtBot, tmp_path: Path) -> Transcript:
    shown = Transcript(Formulas(), Thumbnails(ImageFolder(tmp_path)))
    qtbot.addWidget(shown)
    shown.resize(800, 600)
    shown.show()
    return shown


def test_ten_thousand_messages_make_a_screenful_of_widgets(transcript: Transcript) -> None:
    transcript.set_messages(
        [question(n) if n % 2 else answer(n, PARAGRAPH * 3 + "\n\n- a\n- b") for n in range(1, 10_001)]
    )
    assert len(transcript.views()) < 80
    made = transcript.made_views
    bar = transcript.verticalScrollBar()
    for value in (0, bar.maximum() // 2, bar.maximum()):
        bar.setValue(value)
    assert transcript.made_views - made < 300
    assert len(transcript.views()) < 80


def test_a_fifty_thousand_word_answer_makes_a_screenful_of_widgets(transcript: Transcript) -> None:
    text = "\n\n".join(PARAGRAPH * 4 for _ in range(800))
    assert len(text.split()) > 50_000
    transcript.set_messages([question(1), answer(2, text)])
    assert len(transcript.views()) < 60


def test_appending_draws_only_the_last_parts_again(transcript: Transcript) -> None:
    text = "\n\n".join(PARAGRAPH for _ in range(300))
    transcript.set_messages([question(1), answer(2, text, AnswerState.RUNNING)])
    drawn = transcript.drawn_parts
    for number in range(50):
        transcript.append_text(2, f" word{number}")
        transcript.flush_text()
    assert transcript.drawn_parts - drawn <= 55
    assert transcript.message_at(1).text.endswith("word49")


def test_many_tokens_become_one_drawing(transcript: Transcript) -> None:
    transcript.set_messages([question(1), answer(2, "Hello", AnswerState.RUNNING)])
    drawn = transcript.drawn_parts
    for _ in range(200):
        transcript.append_text(2, " word")
    transcript.flush_text()
    assert transcript.drawn_parts - drawn == 1


def test_in_a_chat_that_fits_a_found_message_takes_nobody_from_the_end(transcript: Transcript) -> None:
    transcript.set_messages([question(1), answer(2, "Hello", AnswerState.RUNNING)])
    transcript.show_message(1)
    assert transcript.jump.isHidden()
    transcript.append_text(2, "\n\n".join(PARAGRAPH for _ in range(60)))
    transcript.flush_text()
    bar = transcript.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0


def test_it_follows_a_growing_answer_only_while_the_reader_is_at_the_end(transcript: Transcript) -> None:
    text = "\n\n".join(PARAGRAPH for _ in range(60))
    transcript.set_messages([question(1), answer(2, text, AnswerState.RUNNING)])
    bar = transcript.verticalScrollBar()
    assert bar.value() == bar.maximum()
    transcript.append_text(2, "\n\n" + PARAGRAPH * 20)
    transcript.flush_text()
    assert bar.value() == bar.maximum()
    assert transcript.jump.isHidden()
    bar.setValue(bar.maximum() // 2)
    place = bar.value()
    transcript.append_text(2, "\n\n" + PARAGRAPH * 20)
    transcript.flush_text()
    assert bar.value() == place
    assert transcript.jump.isVisible()
    transcript.jump.click()
    assert bar.value() == bar.maximum()


def test_what_is_read_stays_where_it_is_when_heights_above_become_known(transcript: Transcript) -> None:
    transcript.set_messages(
        [
            question(n, PARAGRAPH * (n % 9)) if n % 2 else answer(n, "# T\n\n" + PARAGRAPH * (n % 13))
            for n in range(1, 301)
        ]
    )
    transcript.show_message(150)
    for _ in range(40):
        seen = {view: view.y() for view in transcript.views() if 0 <= view.y() < 500}
        bar = transcript.verticalScrollBar()
        before = bar.value()
        bar.setValue(before - 50)
        moved = [view.y() - y for view, y in seen.items() if view in transcript.views()]
        assert moved
        assert set(moved) == {50}


def test_parts_stand_below_each_other_without_overlap(transcript: Transcript) -> None:
    sample = "Text\n\n```python\nx = 1\n```\n\n| a |\n|---|\n| 1 |\n\n> q\n\n$$x^2$$"
    transcript.set_messages([question(1, "q " * 300), answer(2, sample), question(3)])
    views = transcript.views()
    for above, below in pairwise(views):
        assert above.geometry().bottom() < below.geometry().top() + 1
        assert above.height() > 0


def test_an_answer_that_ends_gets_its_buttons_and_loses_the_live_line(transcript: Transcript) -> None:
    transcript.set_messages([question(1), answer(2, "Hal", AnswerState.RUNNING)])
    assert any(isinstance(each, LiveView) for each in transcript.views())
    transcript.update_message(answer(2, "Hallo"))
    assert not any(isinstance(each, LiveView) for each in transcript.views())
    assert isinstance(transcript.views()[-1], FooterView)


def test_a_selection_runs_across_messages_and_is_copied_as_text(transcript: Transcript, qtbot: QtBot) -> None:
    transcript.set_messages([question(1, "What is it?"), answer(2, "It is **bold**.\n\nAnd $x^2$.")])
    transcript.select_all()
    assert transcript.selected_text() == "What is it?\n\nIt is bold.\n\nAnd x^2."
    transcript.setFocus()
    qtbot.keyClick(transcript, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text().startswith("What is it?")


def test_dragging_marks_what_is_between(transcript: Transcript, qtbot: QtBot) -> None:
    transcript.set_messages([question(1, "first words"), answer(2, "other words")])
    start = next(each for each in transcript.views() if isinstance(each, QuestionView)).document
    end = next(each for each in transcript.views() if each.document is not None and each.document is not start).document
    assert start is not None
    assert end is not None
    qtbot.mousePress(start, Qt.MouseButton.LeftButton, pos=QPoint(0, 8))
    transcript._move_selection(end.mapToGlobal(QPoint(end.natural_width() + 20, 8)))
    assert transcript.selected_text() == "first words\n\nother words"


def test_the_keyboard_reaches_every_message_and_its_deeds(transcript: Transcript, qtbot: QtBot) -> None:
    transcript.set_messages([question(1), answer(2, "Hi", version=2, versions=3)])
    chosen: list[tuple[int, MessageAction]] = []
    transcript.action_chosen.connect(lambda number, action: chosen.append((number, action)))
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_F2, Qt.Key.Key_Delete):
        qtbot.keyClick(transcript, key)
    assert chosen == [
        (2, MessageAction.OLDER),
        (2, MessageAction.NEWER),
        (1, MessageAction.EDIT),
        (1, MessageAction.DELETE),
    ]
    typed: list[str] = []
    transcript.typed.connect(typed.append)
    qtbot.keyClick(transcript, Qt.Key.Key_X)
    assert typed == ["x"]


def test_thinking_unfolds(transcript: Transcript) -> None:
    transcript.set_messages([question(1), answer(2, "<think>secret</think>\n\nYes.")])
    head = next(each for each in transcript.views() if isinstance(each, ThinkingHead))
    before = len(transcript.views())
    head.button.click()
    assert len(transcript.views()) == before + 1
    head.button.click()
    assert len(transcript.views()) == before


def test_a_long_fence_is_copied_whole(transcript: Transcript) -> None:
    code = "\n".join(f"x = {number}" for number in range(450))
    transcript.set_messages([question(1), answer(2, f"```python\n{code}\n```")])
    transcript.show_message(2)
    view = next(each for each in transcript.views() if isinstance(each, CodeView))
    view.copy_asked.emit()
    assert QGuiApplication.clipboard().text() == code


def test_found_words_are_marked_and_their_messages_named(transcript: Transcript) -> None:
    transcript.set_messages([question(1, "Ginkgo"), answer(2, "Oak"), question(3, "a ginkgo tree")])
    assert transcript.mark_words("ginkgo") == [1, 3]
    assert transcript.mark_words("") == []


def test_a_formula_that_cannot_be_set_is_shown_as_it_was_written(transcript: Transcript) -> None:
    transcript.set_messages([question(1), answer(2, r"See $\frac{a}{$ and $\foo{x}$ there.")])
    transcript.select_all()
    assert "frac" in transcript.selected_text()
