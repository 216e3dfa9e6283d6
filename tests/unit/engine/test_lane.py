"""The lane: one job after another, events out, errors to the reader, an abandoned reader cancels."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from engine.cancel import CancelToken
from engine.events import Finished, Notice, Outcome
from engine.lane import Emit, Lane


@pytest.fixture
def lane() -> Iterator[Lane]:
    made = Lane("test")
    yield made
    made.close()


def test_events_arrive_in_order_and_end_with_finished(lane: Lane) -> None:
    def job(emit: Emit) -> Finished:
        for i in range(3):
            emit(Notice(str(i)))
        return Finished(Outcome.DONE)

    events = list(lane.events(job, CancelToken()))
    assert events == [Notice("0"), Notice("1"), Notice("2"), Finished(Outcome.DONE)]


def test_an_error_reaches_the_one_who_reads_and_the_lane_goes_on(lane: Lane) -> None:
    def fail(emit: Emit) -> Finished:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        list(lane.events(fail, CancelToken()))
    assert list(lane.events(lambda emit: Finished(Outcome.DONE), CancelToken())) == [Finished(Outcome.DONE)]


def test_all_jobs_run_on_one_thread(lane: Lane) -> None:
    threads: set[int] = set()

    def job(emit: Emit) -> Finished:
        threads.add(threading.get_ident())
        return Finished(Outcome.DONE)

    for _ in range(5):
        list(lane.events(job, CancelToken()))
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_leaving_the_events_early_cancels_the_job_and_waits_for_it(lane: Lane) -> None:
    cancel = CancelToken()
    ended = threading.Event()

    def job(emit: Emit) -> Finished:
        emit(Notice("begun"))
        assert cancel._event.wait(10)
        ended.set()
        return Finished(Outcome.CANCELLED)

    events = lane.events(job, cancel)
    assert next(events) == Notice("begun")
    events.close()  # pyright: ignore[reportAttributeAccessIssue]
    assert ended.is_set()


def test_a_finished_job_never_cancels_its_token(lane: Lane) -> None:
    for _ in range(300):
        cancel = CancelToken()
        list(lane.events(lambda emit: Finished(Outcome.DONE), cancel))
        assert not cancel.is_cancelled


def test_a_closed_lane_says_so_instead_of_waiting_for_ever() -> None:
    lane = Lane("closed")
    lane.close()
    with pytest.raises(RuntimeError, match="closed"):
        list(lane.events(lambda emit: Finished(Outcome.DONE), CancelToken()))
