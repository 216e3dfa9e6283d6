"""A job in words: what it waits for, and which of its two stages counts."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from PySide6.QtWidgets import QApplication

from app.job_records import Job, JobKind, JobState
from app.job_texts import LeadingProgress, phase_text, waits_text
from engine.events import JobProgress

JOB = Job("1", JobKind.DOWNLOAD, "acme/tiny", "Tiny", 0.0, 0.0, state=JobState.PAUSED)


def test_a_job_says_when_it_is_tried_again(qapp: QApplication) -> None:
    at = time.mktime((2026, 5, 4, 21, 5, 0, 0, 0, -1))
    assert waits_text(replace(JOB, waits_until=at)).endswith("tried again at 21:05.")
    assert "2.50 GB" in waits_text(replace(JOB, waits_for_bytes=2_500_000_000))
    assert waits_text(JOB) == ""


def test_the_download_counts_until_it_is_complete() -> None:
    leading = LeadingProgress()
    cutting = JobProgress("cutting", 1, 9, "layer-000", 5, 100, 1.0, None)
    half = JobProgress("downloading", 1, 3, "a", 50, 100, 1.0, None)
    assert leading.take(cutting) == cutting
    assert leading.take(half) == half
    assert leading.take(cutting) == half
    leading.take(replace(half, bytes_done=100))
    assert leading.take(cutting) == cutting


@pytest.mark.parametrize("phase", ["checking", "planning", "downloading", "waiting", "paused", "cutting", "verifying"])
def test_every_phase_has_words(qapp: QApplication, phase: str) -> None:
    assert phase_text(phase) != phase
