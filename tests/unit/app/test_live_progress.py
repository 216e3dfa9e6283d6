"""The line under a growing answer says what happened last, and when nothing did."""

from __future__ import annotations

from dataclasses import replace

from app.chat.live_progress import LivePhase, LiveProgress, Strip
from engine.events import LayerProgress, Loaded, LoadProgress, PassKind
from tests.helpers.fake_engine import load_events


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def layer(block: int, *, kind: PassKind = PassKind.DECODE, token: int = 11, resident: bool = False) -> LayerProgress:
    return LayerProgress(kind, token, block, 30, f"layer-{block}", resident, 10**9, 1.9e9, 4.2)


def test_reading_the_prompt_has_a_share() -> None:
    progress = LiveProgress()
    progress.take(layer(12, kind=PassKind.PREFILL, token=0))
    assert progress.line().startswith("Reading the prompt · 40 %")


def test_a_slow_token_shows_the_way_through_it() -> None:
    progress = LiveProgress()
    progress.take(layer(18))
    assert progress.line() == "Token 12 · layer 18 of 30 · 1.90 GB/s · next token in about 4 s"


def test_fast_tokens_are_counted_by_the_second() -> None:
    clock = Clock()
    progress = LiveProgress(clock)
    for _ in range(4):
        clock.time += 0.25
        progress.take_text()
    assert progress.line() == "Token 5 · 4.0 tokens/s"


def test_bursts_and_tokens_without_text_do_not_change_the_rate() -> None:
    clock = Clock()
    progress = LiveProgress(clock)
    for burst in range(8):
        clock.time += 1.0
        for token in range(20):
            progress.take(layer(1, token=20 * burst + token))
            if token % 2:
                progress.take_text()
    assert progress.line() == "Token 161 · 20 tokens/s"


def test_silence_is_called_a_stall_and_ends_with_the_next_event() -> None:
    clock = Clock()
    progress = LiveProgress(clock)
    progress.take(layer(3))
    clock.time += 40
    assert progress.is_stalled
    assert progress.line() == "Stalled for 40 s"
    progress.take(layer(4))
    assert not progress.is_stalled


def test_waiting_is_no_stall_and_names_the_chat() -> None:
    clock = Clock()
    progress = LiveProgress(clock)
    progress.wait_for("Trees")
    clock.time += 600
    assert progress.line() == "Waits for the answer in “Trees”"
    assert progress.elapsed() == ""


def test_loading_has_a_share_and_time_counts_from_its_begin() -> None:
    clock = Clock()
    progress = LiveProgress(clock)
    progress.take(LoadProgress(1, 4, 250, 1000))
    clock.time += 3
    assert progress.line() == "Loading the model · 25 %"
    assert progress.elapsed() == "3 s"


def test_the_strip_knows_resident_blocks() -> None:
    progress = LiveProgress()
    progress.take(layer(1, resident=True))
    progress.take(layer(2))
    assert (progress.strip.count, progress.strip.done, progress.strip.resident) == (30, 2, frozenset({1}))


def test_a_dead_engine_is_said_and_forgotten_when_it_goes_on() -> None:
    progress = LiveProgress()
    progress.take(layer(9))
    progress.interrupt()
    assert progress.phase is LivePhase.RESTARTING
    assert progress.strip.count == 0
    progress.take(layer(1))
    assert progress.phase is LivePhase.WRITING


def test_the_line_says_whether_there_is_an_engine() -> None:
    clock = Clock()
    progress = LiveProgress(clock)
    progress.begin()
    progress.has_engine = False
    assert progress.line() == "Starting the engine"
    progress.is_engine_dead = True
    clock.time += 600
    assert progress.line() == "The engine is not running"


def test_the_strip_fills_while_a_model_loads_and_knows_one_that_stays_whole() -> None:
    progress = LiveProgress()
    progress.take(LoadProgress(1, 4, 250, 1000))
    assert progress.strip == Strip(share=0.25)
    whole = next(each for each in load_events("/models/tiny") if isinstance(each, Loaded))
    progress.begin_reading(replace(whole, streamed_bytes=0))
    progress.take(layer(2))
    assert progress.strip.resident == frozenset(range(1, 31))


def test_the_time_to_the_next_token_runs_on_between_two_events() -> None:
    clock = Clock()
    progress = LiveProgress(clock)
    progress.take(replace(layer(2), pass_seconds_left=9.0))
    clock.time += 4
    assert progress.line().endswith("next token in about 5 s")
