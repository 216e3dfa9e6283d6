"""A message as parts: thinking told apart from the answer, however it arrives; heights found fast."""

from __future__ import annotations

import random

import pytest

from app.chat.parts import MessageParts, Part, PartKind
from app.chat.row_heights import RowHeights
from app.chat.selection import Place, Selection
from app.conversations.records import AnswerState, StoredMessage


def answer(text: str = "", state: AnswerState = AnswerState.RUNNING) -> StoredMessage:
    return StoredMessage(2, 1, 1, "assistant", text, 0.0, state)


def kinds(parts: list[Part]) -> list[PartKind]:
    return [each.kind for each in parts]


@pytest.mark.parametrize("step", [1, 2, 3, 100])
@pytest.mark.parametrize("text", ["<think>\nhm\n</think>\n\nYes.", "hm, opened by the template\n</think>\n\nYes."])
def test_thinking_is_folded_however_it_arrives(step: int, text: str) -> None:
    parts = MessageParts(answer())
    for start in range(0, len(text), step):
        parts.append(text[start : start + step])
    assert kinds(parts.parts) == [PartKind.NAME, PartKind.THINKING_HEAD, PartKind.PROSE, PartKind.LIVE]
    assert parts.parts[2].text == "Yes."
    parts.toggle_thinking()
    assert PartKind.THINKING in kinds(parts.parts)
    assert "hm" in next(each.text for each in parts.parts if each.kind is PartKind.THINKING)


def test_an_end_mark_that_is_half_there_is_not_shown() -> None:
    parts = MessageParts(answer())
    parts.append("<think>hm</thi")
    parts.toggle_thinking()
    assert [each.text for each in parts.parts if each.kind is PartKind.THINKING] == ["hm"]


def test_an_answer_that_only_mentions_a_tag_is_no_thinking() -> None:
    parts = MessageParts(answer("Use the <thing> tag.", AnswerState.DONE))
    assert kinds(parts.parts) == [PartKind.NAME, PartKind.PROSE, PartKind.FOOTER]


def test_a_failed_answer_ends_with_the_reason() -> None:
    message = StoredMessage(2, 1, 1, "assistant", "half", 0.0, AnswerState.FAILED, error="The disk is full.")
    assert kinds(MessageParts(message).parts)[-2:] == [PartKind.ERROR, PartKind.FOOTER]


def test_parts_that_did_not_change_are_the_same_after_appending() -> None:
    parts = MessageParts(answer("One.\n\nTwo."))
    before = parts.parts
    parts.append(" More.")
    assert parts.parts[:2] == before[:2]
    assert parts.parts[2].text == "Two. More."


def test_a_pasted_book_becomes_pieces_of_one_bubble() -> None:
    text = "\n".join("words " * 20 for _ in range(500))
    parts = MessageParts(StoredMessage(1, 1, None, "user", text, 0.0)).parts
    pieces = [each for each in parts if each.kind is PartKind.QUESTION]
    assert len(pieces) > 5
    assert "\n".join(each.text for each in pieces) == text


def test_row_heights_equal_the_obvious_sums() -> None:
    chance = random.Random(1)
    plain = [chance.randint(1, 90) for _ in range(200)]
    rows = RowHeights(plain)
    for step in range(300):
        index = chance.randrange(len(plain))
        plain[index] = chance.randint(1, 90)
        rows.set(index, plain[index])
        if step % 10 == 0:
            plain.append(step + 1)
            rows.append(step + 1)
        place = chance.randrange(len(plain) + 1)
        assert rows.top_of(place) == sum(plain[:place])
        y = chance.randrange(sum(plain))
        assert rows.top_of(rows.row_at(y)) <= y < rows.top_of(rows.row_at(y) + 1)
    assert rows.total == sum(plain)
    assert rows.row_at(10**9) == len(plain) - 1


def test_a_selection_says_what_of_each_part_is_in_it() -> None:
    selection = Selection(anchor=Place(2, 1, 5), head=Place(0, 3, 2))
    assert selection.within(0, 2, 10) == (0, 0)
    assert selection.within(0, 3, 10) == (2, 10)
    assert selection.within(1, 0, 10) == (0, 10)
    assert selection.within(2, 1, 10) == (0, 5)
    assert selection.within(2, 2, 10) == (0, 0)
