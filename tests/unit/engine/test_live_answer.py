"""The terminal's view of an answer: wrapped by words, free of control characters, honest about what happened."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len

from engine.command_line.live_answer import LiveAnswer, describe_layer, without_controls, wrap_words
from engine.events import Finished, LayerProgress, Outcome, PassKind, TokenArrived


@pytest.mark.parametrize("width", [10, 20, 37])
@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox jumps over the lazy dog again and again",
        "一个很长的中文句子没有空格但是必须在终端里换行显示出来",
        "Averyveryverylongwordwithoutanyspaces and then some",
        "two\n\nparagraphs of text that wrap",
    ],
)
def test_rows_fit_the_terminal_and_lose_nothing(text: str, width: int) -> None:
    rows = wrap_words(text, width)
    assert all(cell_len(row) <= width for row in rows)
    assert "".join("".join(rows).split()) == "".join(text.split())


def test_escape_sequences_of_a_model_never_reach_the_terminal() -> None:
    assert without_controls("a\x1b[2Jb\x00c\x07\td\n") == "a[2Jbc\td\n"


def test_a_pipe_gets_the_text_alone() -> None:
    out = io.StringIO()
    view = LiveAnswer(out)
    view.show(TokenArrived(0, 1, "Hello"))
    view.show(LayerProgress(PassKind.DECODE, 1, 3, 30, "layer-002", False, 10**9, 2e9, 4.0))
    view.show(TokenArrived(1, 2, " world"))
    view.show(Finished(Outcome.DONE))
    assert out.getvalue() == "Hello world\n"


def test_the_live_line_names_token_layer_speed_and_time_left() -> None:
    event = LayerProgress(PassKind.DECODE, 11, 37, 80, "layer-036", False, 10**9, 1.9e9, 4.2)
    assert describe_layer(event) == "token 12 · layer 37/80 · 1.90 GB/s · 4.2 s left"
    prompt = LayerProgress(PassKind.PREFILL, 0, 1, 80, "layer-000", True, 0, 0.0, None)
    assert describe_layer(prompt) == "reading the prompt · layer 1/80"
