"""The sentence about a dead engine says how it ended and what it was doing."""

from __future__ import annotations

import pytest

from app.engine_death import describe_death
from engine.events import Event, JobProgress, LayerProgress, LoadProgress, PassKind, TokenArrived

LAYER = LayerProgress(PassKind.DECODE, 3, 12, 30, "layer-011", False, 0, 0.0, None)


@pytest.mark.parametrize(
    ("exit_code", "method", "event", "message"),
    [
        (-9, "answer", LAYER, "The engine stopped unexpectedly (killed, signal 9) while computing layer 12 of 30."),
        (-11, "answer", TokenArrived(4, 7, "x"),
         "The engine stopped unexpectedly (crashed, signal 11) after token 5 of an answer."),
        (-6, "answer", None, "The engine stopped unexpectedly (aborted, signal 6) while reading a question."),
        (1, "load", None, "The engine stopped unexpectedly (exit code 1) while loading a model."),
        (1, "load", LoadProgress(1, 2, 3, 4), "The engine stopped unexpectedly (exit code 1) while loading a model."),
        (0xC0000005, "split", JobProgress("cutting", 4, 9, "layer-003", 0, 0, 0.0, None),
         "The engine stopped unexpectedly (exit code 0xC0000005) while working on block 4 of 9."),
        (-64, None, None, "The engine stopped unexpectedly (signal 64)."),
        (None, None, None, "The engine could not be started."),
    ],
)  # fmt: skip
def test_says_how_and_where(exit_code: int | None, method: str | None, event: Event | None, message: str) -> None:
    error = describe_death(exit_code, method=method, last_event=event, detail="the end of its output")
    assert error.message == message
    assert error.exit_code == exit_code
    assert error.next_step
    assert error.detail == "the end of its output"


def test_being_killed_hints_at_memory() -> None:
    assert "memory" in describe_death(-9).next_step
