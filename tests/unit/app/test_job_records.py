"""The file of jobs: what is written comes back, and one bad record hides nothing."""

from __future__ import annotations

import json
from pathlib import Path

from app.job_records import Job, JobError, JobKind, JobState, read_jobs, write_jobs
from engine.events import JobProgress


def job(job_id: str = "a", **values: object) -> Job:
    fields: dict[str, object] = {
        "id": job_id, "kind": JobKind.SPLIT, "source": "/models/x", "title": "x", "created_at": 1.0, "updated_at": 2.0,
    }  # fmt: skip
    return Job(**{**fields, **values})  # pyright: ignore[reportArgumentType]


def test_jobs_come_back_as_they_were(tmp_path: Path) -> None:
    jobs = [
        job(progress=JobProgress("cutting", 3, 30, "layer-001", 5, 100, 2.5, None), notices=("careful",)),
        job("b", kind=JobKind.REPAIR, state=JobState.FAILED, error=JobError("DiskFull", "full", need=9, have=3)),
        job("c", state=JobState.PAUSED, waits_for_bytes=12, damaged=("blocks/head.safetensors",)),
    ]
    write_jobs(tmp_path / "jobs.json", jobs)
    assert read_jobs(tmp_path / "jobs.json") == jobs


def test_what_ran_is_queued_again(tmp_path: Path) -> None:
    write_jobs(tmp_path / "jobs.json", [job(state=JobState.RUNNING, is_stopping=True)])
    (found,) = read_jobs(tmp_path / "jobs.json")
    assert found.state is JobState.QUEUED
    assert not found.is_stopping


def test_a_job_that_was_being_paused_stays_paused(tmp_path: Path) -> None:
    write_jobs(tmp_path / "jobs.json", [job(state=JobState.PAUSED, is_stopping=True)])
    (found,) = read_jobs(tmp_path / "jobs.json")
    assert found.state is JobState.PAUSED
    assert not found.is_stopping


def test_a_missing_file_is_no_jobs(tmp_path: Path) -> None:
    assert read_jobs(tmp_path / "jobs.json") == []


def test_bad_records_hide_nothing(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    write_jobs(path, [job("first"), job("last")])
    content = json.loads(path.read_text())
    bad: list[object] = [None, 3, {}, {"id": "x", "kind": "juggle"}, {**content["jobs"][0], "state": "bored"}]
    bad += [{**content["jobs"][0], "notices": 3}, {**content["jobs"][0], "title": 7}]
    content["jobs"][1:1] = bad
    path.write_text(json.dumps(content))
    assert [each.id for each in read_jobs(path)] == ["first", "last"]


def test_what_is_only_shown_may_be_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    write_jobs(path, [job()])
    content = json.loads(path.read_text())
    content["jobs"][0] |= {"progress": {"phase": "cutting"}, "error": "?", "from_the_future": 1}
    path.write_text(json.dumps(content))
    (found,) = read_jobs(path)
    assert found.progress is None
    assert found.error is None


def test_a_file_that_is_not_ours_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    for number, text in enumerate(("{ no json", "[]", '{"jobs": 3}'), start=1):
        path.write_text(text)
        assert read_jobs(path) == []
        assert (tmp_path / f"jobs.damaged-{number}.json").read_text() == text


def test_a_write_leaves_nothing_beside_the_file(tmp_path: Path) -> None:
    write_jobs(tmp_path / "data" / "jobs.json", [job()])
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["jobs.json"]
