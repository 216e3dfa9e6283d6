"""The arithmetic of waiting: time to the next token, seconds per token, silence."""

from __future__ import annotations

import pytest

from app.answer_pace import PASSES_REMEMBERED, PaceClock, seconds_to_next_token
from engine.events import LayerProgress, PassKind


def progress(kind: PassKind = PassKind.DECODE, left: float | None = None) -> LayerProgress:
    return LayerProgress(kind, 0, 3, 10, "layer-002", False, 0, 0.0, left)


def test_what_the_engine_says_counts_down_between_its_reports() -> None:
    assert seconds_to_next_token(pass_seconds_left=8.0, progress_age_s=3.0, pass_age_s=5.0, pass_seconds=[2.0]) == 5.0


def test_before_the_engine_says_the_median_pass_is_taken() -> None:
    assert (
        seconds_to_next_token(pass_seconds_left=None, progress_age_s=0.0, pass_age_s=1.5, pass_seconds=[4.0, 6.0, 90.0])
        == 4.5
    )


def test_an_overdue_token_is_due_now_and_never_in_the_past() -> None:
    assert seconds_to_next_token(pass_seconds_left=1.0, progress_age_s=9.0, pass_age_s=9.0, pass_seconds=[]) == 0.0
    assert seconds_to_next_token(pass_seconds_left=None, progress_age_s=9.0, pass_age_s=9.0, pass_seconds=[1.0]) == 0.0


def test_without_any_pass_nobody_knows() -> None:
    assert seconds_to_next_token(pass_seconds_left=None, progress_age_s=0.0, pass_age_s=1.0, pass_seconds=[]) is None


def test_the_pass_over_the_prompt_is_not_counted_as_a_token() -> None:
    clock = PaceClock(100.0)
    clock.saw_token(160.0)
    assert clock.pace(161.0).s_per_token is None
    clock.saw_token(164.0)
    pace = clock.pace(165.0)
    assert pace.s_per_token == 4.0
    assert pace.tokens == 2
    assert pace.elapsed_s == 65.0
    assert pace.next_token_s == 3.0


def test_while_the_prompt_is_read_the_passes_of_single_tokens_say_nothing() -> None:
    clock = PaceClock(0.0)
    clock.saw_token(10.0)
    clock.saw_token(11.0)
    clock.saw_progress(progress(PassKind.PREFILL), 11.1)
    assert clock.pace(11.2).next_token_s is None


def test_a_single_slow_pass_does_not_move_the_median() -> None:
    clock = PaceClock(0.0)
    now = 0.0
    for seconds in (1.0, 2.0, 2.0, 2.0, 60.0, 2.0, 2.0):
        now += seconds
        clock.saw_token(now)
    assert clock.pace(now).s_per_token == 2.0


def test_old_passes_are_forgotten() -> None:
    clock = PaceClock(0.0)
    now = 0.0
    for seconds in [1.0] * (PASSES_REMEMBERED + 1) + [5.0] * PASSES_REMEMBERED:
        now += seconds
        clock.saw_token(now)
    assert clock.pace(now).s_per_token == 5.0


def test_silence_is_measured_from_the_last_sign_of_life() -> None:
    clock = PaceClock(0.0)
    clock.saw_progress(progress(left=3.0), 2.0)
    assert clock.pace(42.0).silent_s == pytest.approx(40.0)
    clock.saw_token(43.0)
    assert clock.pace(43.5).silent_s == pytest.approx(0.5)
