"""Verdicts are about time, and give both numbers where something is missing."""

from __future__ import annotations

import pytest

from app.estimates import Estimate, Pace, Shortage
from app.verdicts import disk_verdict, duration_text, pace_text, reads_text, speed_text, time_verdict, verdict

GB = 10**9


def test_a_streamed_model_says_its_seconds_and_its_minutes() -> None:
    expected = "Runs from your disk, about 1.4 s per token, 7 min for a typical answer"
    assert verdict(Estimate(1.4, 16 * GB, 8 * GB)) == expected


def test_a_resident_model_says_that_it_runs_from_memory() -> None:
    assert time_verdict(0.04, 0) == "Runs from memory, about 0.04 s per token, 12 s for a typical answer"


def test_a_shortage_names_need_and_have_and_never_says_that_it_does_not_fit() -> None:
    text = verdict(Shortage(5 * GB, 3 * GB))
    assert "5.00 GB" in text
    assert "3.00 GB" in text
    assert "fit" not in text


def test_a_full_drive_is_said_with_need_floor_and_have() -> None:
    assert disk_verdict(40 * GB, 100 * GB, 2 * GB) is None
    text = disk_verdict(40 * GB, 12 * GB, 2 * GB)
    assert text is not None
    assert all(number in text for number in ("40.0 GB", "2.00 GB", "12.0 GB"))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.00002, "0.1 ms"),
        (0.0001, "0.1 ms"),
        (0.003, "3 ms"),
        (0.0096, "0.01 s"),
        (0, "0.00 s"),
        (0.04, "0.04 s"),
        (0.8, "0.8 s"),
        (42, "42 s"),
        (420, "7 min"),
        (7800, "2 h 10 min"),
        (3 * 86400, "3 d 0 h"),
    ],
)
def test_a_duration_reads_at_a_glance(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_speeds_are_in_words_and_in_short() -> None:
    assert reads_text(1.9 * GB) == "Reads 1.90 GB a second"
    assert speed_text(1.9 * GB) == "1.90 GB/s"


def test_every_pace_has_a_name() -> None:
    assert len({pace_text(pace) for pace in Pace}) == len(Pace)
