"""The board of jobs, on an engine from a script: order, pause, deaths, full drives, restarts of the program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.job_records import Job, JobState, read_jobs
from app.jobs import JobBoard
from engine.api import HubAccess
from engine.errors import AccessRefused, DamagedFile, DiskFull, HubBusy, HubUnreachable, SourceError
from engine.events import Finished, JobProgress, MoveResult, Notice, Outcome, SplitResult, VerifyResult
from tests.helpers.fake_engine import FakeEngineHost

RESULT = SplitResult("acme--tiny@12345678", "/models/acme--tiny@12345678", 5, 100, 0, 1.0)
MakeBoard = Callable[[], JobBoard]


def progress(bytes_done: int = 10) -> JobProgress:
    return JobProgress("cutting", 2, 5, "layer-000", bytes_done, 100, 5.0, 18.0)


@pytest.fixture
def host(qapp: object) -> FakeEngineHost:
    return FakeEngineHost()


@pytest.fixture
def free() -> dict[str, int]:
    return {"bytes": 0}


@pytest.fixture
def clock() -> list[float]:
    return [1000.0]


@pytest.fixture
def make_board(host: FakeEngineHost, tmp_path: Path, free: dict[str, int], clock: list[float]) -> Iterator[MakeBoard]:
    boards: list[JobBoard] = []

    def make() -> JobBoard:
        boards.append(
            JobBoard(
                host,
                tmp_path / "jobs.json",
                models_folder=lambda: tmp_path,
                hub_access=lambda: HubAccess(token="secret"),
                floor_bytes=lambda: 7,
                free_bytes=lambda folder: free["bytes"],
                now=lambda: clock[0],
            )
        )
        return boards[-1]

    yield make
    for board in boards:
        board.close()


@pytest.fixture
def board(make_board: MakeBoard) -> JobBoard:
    board = make_board()
    board.start()
    return board


def get(board: JobBoard, job_id: str) -> Job:
    job = board.job(job_id)
    assert job is not None
    return job


def test_a_split_runs_and_is_done(qtbot: QtBot, host: FakeEngineHost, board: JobBoard, tmp_path: Path) -> None:
    told: list[str] = []
    board.job_added.connect(lambda job_id: told.append("added"))
    board.job_ended.connect(lambda job_id: told.append("ended"))
    host.reply("split", [progress(), Notice("careful"), Finished(Outcome.DONE, RESULT)])
    job_id = board.add_split("/checkpoints/tiny", delete_original=True, target=tmp_path / "elsewhere")
    assert get(board, job_id).state is JobState.RUNNING
    assert board.running is not None
    qtbot.waitUntil(lambda: get(board, job_id).state is JobState.DONE)
    job = get(board, job_id)
    assert (job.progress, job.notices, job.model, job.folder) == (progress(), ("careful",), RESULT.model, RESULT.path)
    (asked,) = host.asked("split")
    assert asked.args == ("/checkpoints/tiny",)
    assert asked.kwargs == {"delete_original": True, "target": tmp_path / "elsewhere"}
    assert told == ["added", "ended"]
    assert job.title == "tiny"


MOVED = MoveResult("lab--tiny@1", "/big/lab--tiny@1", 40, 1000, 1000, 2.0)


def test_a_move_is_a_job_like_the_others(
    qtbot: QtBot, host: FakeEngineHost, board: JobBoard, tmp_path: Path, free: dict[str, int]
) -> None:
    job_id = board.add_move("lab--tiny@1", tmp_path / "big", title="Moving tiny")
    (asked,) = host.asked("move")
    assert (asked.args, asked.kwargs) == (("lab--tiny@1", tmp_path / "big"), {"floor_bytes": 7})
    host.fail(asked.request_id, DiskFull("Full.", need=50, have=10))
    assert get(board, job_id).waits_for_bytes == 50
    free["bytes"] = 60
    board._resume_waiting()
    host.finish(host.asked("move")[-1].request_id, MOVED)
    job = get(board, job_id)
    assert (job.state, job.model, job.folder) == (JobState.DONE, "lab--tiny@1", "/big/lab--tiny@1")
    assert host.asked("discard_move") == []


@pytest.mark.parametrize("is_running", [True, False])
def test_a_move_that_is_cancelled_leaves_nothing_behind_and_a_paused_one_everything(
    qtbot: QtBot, host: FakeEngineHost, board: JobBoard, tmp_path: Path, is_running: bool
) -> None:
    job_id = board.add_move("lab--tiny@1", tmp_path / "big")
    if not is_running:
        board.pause(job_id)
        qtbot.waitUntil(lambda: not get(board, job_id).is_stopping)
        assert get(board, job_id).state is JobState.PAUSED
    assert host.asked("discard_move") == []
    board.cancel(job_id)
    qtbot.waitUntil(lambda: len(host.asked("discard_move")) == 1)
    assert host.asked("discard_move")[0].args == ("lab--tiny@1",)
    assert get(board, job_id).state is JobState.CANCELLED


def test_jobs_run_one_after_another(qtbot: QtBot, host: FakeEngineHost, board: JobBoard) -> None:
    first, second = board.add_split("one"), board.add_verify("two", repair=True)
    assert get(board, second).state is JobState.QUEUED
    host.finish(host.waiting[0].request_id, RESULT)
    assert get(board, first).state is JobState.DONE
    assert get(board, second).state is JobState.RUNNING
    (verify,) = host.asked("verify")
    assert verify.kwargs == {"repair": True, "access": HubAccess(token="secret")}


def test_a_paused_job_lets_the_next_begin_only_when_its_block_has_ended(
    qtbot: QtBot, host: FakeEngineHost, board: JobBoard
) -> None:
    first, second = board.add_split("one"), board.add_split("two")
    board.pause(first)
    assert get(board, first).state is JobState.PAUSED
    assert get(board, first).is_stopping
    assert get(board, second).state is JobState.QUEUED
    qtbot.waitUntil(lambda: get(board, second).state is JobState.RUNNING)
    assert not get(board, first).is_stopping
    board.resume(first)
    assert get(board, first).state is JobState.QUEUED
    host.finish(host.waiting[0].request_id, RESULT)
    assert get(board, first).state is JobState.RUNNING


def test_resumed_before_its_block_has_ended_it_runs_again_after_it(
    qtbot: QtBot, host: FakeEngineHost, board: JobBoard
) -> None:
    job_id = board.add_split("one")
    board.pause(job_id)
    board.resume(job_id)
    qtbot.waitUntil(lambda: len(host.asked("split")) == 2)
    assert get(board, job_id).state is JobState.RUNNING


def test_a_cancelled_job_can_be_retried(qtbot: QtBot, host: FakeEngineHost, board: JobBoard) -> None:
    ended: list[str] = []
    board.job_ended.connect(ended.append)
    job_id = board.add_split("one")
    board.cancel(job_id)
    qtbot.waitUntil(lambda: ended == [job_id])
    assert get(board, job_id).state is JobState.CANCELLED
    board.retry(job_id)
    assert get(board, job_id).state is JobState.RUNNING


def test_a_queued_job_is_cancelled_without_asking_the_engine(host: FakeEngineHost, board: JobBoard) -> None:
    board.add_split("one")
    waiting = board.add_split("two")
    board.cancel(waiting)
    assert get(board, waiting).state is JobState.CANCELLED
    assert host.cancelled == []


def test_what_was_done_before_it_could_be_paused_is_done(host: FakeEngineHost, board: JobBoard) -> None:
    job_id = board.add_split("one")
    board.pause(job_id)
    host.finish(host.waiting[0].request_id, RESULT)
    assert get(board, job_id).state is JobState.DONE


def test_a_failure_says_why_and_a_retry_clears_it(qtbot: QtBot, host: FakeEngineHost, board: JobBoard) -> None:
    job_id = board.add_split("one")
    host.fail(host.waiting[0].request_id, SourceError("This is no model.", "Give another.", detail="log"))
    job = get(board, job_id)
    assert job.state is JobState.FAILED
    assert job.error is not None
    assert (job.error.kind, job.error.message, job.error.next_step) == (
        "SourceError",
        "This is no model.",
        "Give another.",
    )
    board.retry(job_id)
    assert get(board, job_id).error is None


def test_damage_that_was_found_is_named(host: FakeEngineHost, board: JobBoard) -> None:
    job_id = board.add_verify("tiny")
    host.fail(host.waiting[0].request_id, DamagedFile("damaged", files=("blocks/head.safetensors",)))
    assert get(board, job_id).damaged == ("blocks/head.safetensors",)


def test_what_was_repaired_is_no_damage(host: FakeEngineHost, board: JobBoard) -> None:
    job_id = board.add_verify("tiny", repair=True)
    host.finish(host.waiting[0].request_id, VerifyResult("tiny", 5, 100, (), ("blocks/head.safetensors",)))
    assert get(board, job_id).state is JobState.DONE
    assert get(board, job_id).damaged == ()


def test_a_full_drive_pauses_until_there_is_room(
    qtbot: QtBot, host: FakeEngineHost, board: JobBoard, free: dict[str, int]
) -> None:
    job_id = board.add_split("one")
    host.fail(host.waiting[0].request_id, DiskFull("needs 9 GB, 1 GB free", need=9000, have=1000))
    job = get(board, job_id)
    assert job.state is JobState.PAUSED
    assert job.waits_for_bytes == 9000
    assert job.error is not None
    board._resume_waiting()
    assert get(board, job_id).state is JobState.PAUSED
    free["bytes"] = 9000
    board._resume_waiting()
    assert get(board, job_id).state is JobState.RUNNING
    assert get(board, job_id).error is None


def test_a_job_paused_by_the_user_is_not_resumed_by_room(
    host: FakeEngineHost, board: JobBoard, free: dict[str, int]
) -> None:
    job_id = board.add_split("one")
    host.fail(host.waiting[0].request_id, DiskFull("full", need=9000, have=1000))
    board.pause(job_id)
    free["bytes"] = 10_000
    board._resume_waiting()
    assert get(board, job_id).state is JobState.PAUSED


def test_a_download_is_asked_with_what_holds_now(host: FakeEngineHost, board: JobBoard, tmp_path: Path) -> None:
    board.add_download("acme/tiny@main", keeps_download=True, target=tmp_path)
    (asked,) = host.asked("download")
    assert asked.args == ("acme/tiny@main", HubAccess(token="secret"))
    assert asked.kwargs == {"target": tmp_path, "keep_download": True, "floor_bytes": 7}


def test_the_token_is_not_kept(host: FakeEngineHost, board: JobBoard, tmp_path: Path) -> None:
    job_id = board.add_download("acme/tiny")
    host.fail(host.waiting[0].request_id, AccessRefused("gated", page="https://hub/acme/tiny", needs_token=True))
    error = get(board, job_id).error
    assert error is not None
    assert (error.page, error.needs_token) == ("https://hub/acme/tiny", True)
    board.close()
    assert "secret" not in (tmp_path / "jobs.json").read_text()


def test_without_a_network_a_download_is_tried_again_later_and_later(
    host: FakeEngineHost, board: JobBoard, clock: list[float]
) -> None:
    job_id = board.add_download("acme/tiny")
    waits: list[float] = []
    for _ in range(7):
        host.fail(host.waiting[0].request_id, HubUnreachable("no connection"))
        job = get(board, job_id)
        assert job.state is JobState.PAUSED
        assert job.waits_until is not None
        waits.append(job.waits_until - clock[0])
        board._resume_waiting()
        assert get(board, job_id).state is JobState.PAUSED
        clock[0] = job.waits_until
        board._resume_waiting()
        assert get(board, job_id).state is JobState.RUNNING
    assert waits == [60.0, 120.0, 300.0, 900.0, 1800.0, 1800.0, 1800.0]
    host.send(host.waiting[0].request_id, progress())
    host.fail(host.waiting[0].request_id, HubBusy("busy", retry_after_s=90.0))
    assert get(board, job_id).waits_until == clock[0] + 90.0


def test_a_download_that_waits_for_the_network_can_be_paused_for_good(
    host: FakeEngineHost, board: JobBoard, clock: list[float]
) -> None:
    job_id = board.add_download("acme/tiny")
    host.fail(host.waiting[0].request_id, HubUnreachable("no connection"))
    board.pause(job_id)
    clock[0] += 1e6
    board._resume_waiting()
    assert get(board, job_id).state is JobState.PAUSED


def test_after_the_engine_died_the_job_goes_on(qtbot: QtBot, host: FakeEngineHost, board: JobBoard) -> None:
    job_id = board.add_split("one")
    host.send(host.waiting[0].request_id, progress())
    host.die()
    assert get(board, job_id).state is JobState.QUEUED
    qtbot.waitUntil(lambda: get(board, job_id).state is JobState.RUNNING)
    assert len(host.asked("split")) == 2


def test_a_job_that_kills_the_engine_twice_at_the_same_block_has_failed(
    qtbot: QtBot, host: FakeEngineHost, board: JobBoard
) -> None:
    job_id = board.add_split("one")
    for deaths in (1, 2):
        qtbot.waitUntil(lambda deaths=deaths: len(host.asked("split")) == deaths)
        host.send(host.waiting[0].request_id, progress(10))
        host.die()
    assert get(board, job_id).state is JobState.FAILED


def test_a_job_that_gets_on_between_two_deaths_goes_on(qtbot: QtBot, host: FakeEngineHost, board: JobBoard) -> None:
    job_id = board.add_split("one")
    for deaths in (1, 2, 3):
        qtbot.waitUntil(lambda deaths=deaths: len(host.asked("split")) == deaths)
        host.send(host.waiting[0].request_id, progress(10 * deaths))
        host.die()
    assert get(board, job_id).state is JobState.QUEUED


def test_a_removed_job_is_stopped_and_forgotten(
    qtbot: QtBot, host: FakeEngineHost, board: JobBoard, tmp_path: Path
) -> None:
    first, second = board.add_split("one"), board.add_split("two")
    with qtbot.waitSignal(board.job_removed):
        board.remove(first)
    assert host.cancelled == [1]
    qtbot.waitUntil(lambda: get(board, second).state is JobState.RUNNING)
    board.close()
    assert [job.id for job in read_jobs(tmp_path / "jobs.json")] == [second]


def test_jobs_go_on_after_the_program_was_started_again(
    qtbot: QtBot, host: FakeEngineHost, make_board: MakeBoard
) -> None:
    board = make_board()
    board.start()
    ran, queued = board.add_split("one", delete_original=True), board.add_split("two")
    paused = board.add_split("three", is_held=True)
    host.send(host.waiting[0].request_id, progress())
    board.close()
    host.shutdown()

    again = make_board()
    assert [job.state for job in again.jobs()] == [JobState.QUEUED, JobState.QUEUED, JobState.PAUSED]
    assert get(again, ran).progress == progress()
    again.start()
    assert get(again, ran).state is JobState.RUNNING
    assert get(again, queued).state is JobState.QUEUED
    assert get(again, paused).state is JobState.PAUSED
    assert host.asked("split")[-1].kwargs["delete_original"] is True


def test_a_job_that_was_killed_with_the_program_goes_on(
    qtbot: QtBot, host: FakeEngineHost, make_board: MakeBoard, tmp_path: Path
) -> None:
    board = make_board()
    board.start()
    board.add_split("one")
    qtbot.waitUntil(lambda: len(read_jobs(tmp_path / "jobs.json")) == 1)
    assert [job.state for job in make_board().jobs()] == [JobState.QUEUED]


def test_nothing_begins_while_the_engine_stays_dead(qtbot: QtBot, host: FakeEngineHost, board: JobBoard) -> None:
    host.die(restarts=False)
    job_id = board.add_split("one")
    assert get(board, job_id).state is JobState.QUEUED
    host.restart()
    qtbot.waitUntil(lambda: get(board, job_id).state is JobState.RUNNING)
