"""Hours of the night, and jobs that wait for them."""

from __future__ import annotations

import gc
from datetime import datetime, time
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.job_records import JobState
from app.jobs import JobBoard
from app.night_hours import NightHours
from app.night_shift import NightShift
from app.settings import NIGHT_ONLY, Settings
from tests.helpers.fake_engine import FakeEngineHost

NIGHT = NightHours(time(23), time(7))
NOON = datetime(2026, 3, 1, 12)
MIDNIGHT = datetime(2026, 3, 2, 0, 30)


@pytest.mark.parametrize(("hour", "is_night"), [(22, False), (23, True), (3, True), (7, False), (12, False)])
def test_a_night_goes_over_midnight(hour: int, is_night: bool) -> None:
    assert NIGHT.contains(datetime(2026, 3, 1, hour)) is is_night


def test_equal_hours_mean_always() -> None:
    assert NightHours(time(1), time(1)).contains(NOON)


def test_the_next_start_is_today_tomorrow_or_now() -> None:
    assert NIGHT.next_start(NOON) == datetime(2026, 3, 1, 23)
    assert NIGHT.next_start(MIDNIGHT) == MIDNIGHT
    early = NightHours(time(1), time(5))
    assert early.next_start(NOON) == datetime(2026, 3, 2, 1)


class Desk:
    """A board, its night shift, and a clock to set."""

    def __init__(self, folder: Path, now: datetime, *, is_night_only: bool = True) -> None:
        self.now = now
        self.settings = Settings(folder / "settings.json")
        self.settings.set(NIGHT_ONLY, is_night_only)
        self.jobs = JobBoard(FakeEngineHost(), folder / "jobs.json", models_folder=lambda: folder)
        self.shift = NightShift(self.settings, self.jobs, now=lambda: self.now)
        self.jobs.start()

    def state(self, job_id: str) -> JobState:
        job = self.jobs.job(job_id)
        assert job is not None
        return job.state

    def close(self) -> None:
        """Here and not whenever Python collects: that may be in a thread, where Qt's timers must not be deleted."""
        self.jobs.close()
        self.settings.flush()
        del self.shift, self.jobs, self.settings
        gc.collect()


@pytest.fixture
def desk(tmp_path: Path, qtbot: QtBot):
    desk = Desk(tmp_path, NOON)
    yield desk
    desk.close()


def test_a_new_job_waits_for_the_night_and_starts_then(desk: Desk) -> None:
    held: list[tuple[str, datetime]] = []
    desk.shift.held.connect(lambda job_id, start: held.append((job_id, start)))
    job = desk.jobs.add_split("starter")
    assert desk.state(job) is JobState.PAUSED
    assert held == [(job, datetime(2026, 3, 1, 23))]
    desk.now = MIDNIGHT
    desk.shift.look()
    assert desk.state(job) is JobState.RUNNING
    assert desk.shift.held_jobs() == []


def test_a_job_continued_by_hand_is_no_longer_held(desk: Desk) -> None:
    job = desk.jobs.add_split("starter")
    desk.jobs.resume(job)
    assert desk.state(job) is JobState.RUNNING
    assert desk.shift.held_jobs() == []


def test_a_job_the_user_paused_himself_is_not_started_at_night(desk: Desk) -> None:
    job = desk.jobs.add_split("starter")
    desk.jobs.resume(job)
    desk.jobs.pause(job)
    desk.now = MIDNIGHT
    desk.shift.look()
    assert desk.state(job) is JobState.PAUSED


def test_switching_the_setting_off_starts_what_waits(desk: Desk) -> None:
    job = desk.jobs.add_split("starter")
    desk.settings.set(NIGHT_ONLY, False)
    assert desk.state(job) is JobState.RUNNING


def test_at_night_a_job_starts_at_once(tmp_path: Path, qtbot: QtBot) -> None:
    desk = Desk(tmp_path, MIDNIGHT)
    job = desk.jobs.add_split("starter")
    assert desk.state(job) is JobState.RUNNING
    desk.close()


def test_what_is_held_is_held_after_a_restart_too(tmp_path: Path, qtbot: QtBot) -> None:
    first = Desk(tmp_path, NOON)
    job = first.jobs.add_split("starter")
    first.close()
    second = Desk(tmp_path, MIDNIGHT)
    second.shift.look()
    assert second.state(job) is JobState.RUNNING
    second.close()
