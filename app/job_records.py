"""What is known of a long job, and the file all of them are kept in. Plain: no Qt, no engine process.

The file is small JSON, replaced as a whole. A record that cannot be read is left out and never hides the others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from app.model_code import ModelCode, read_code
from engine.events import JobProgress

FORMAT = 1


class JobKind(StrEnum):
    SPLIT = "split"
    DOWNLOAD = "download"
    VERIFY = "verify"
    REPAIR = "repair"
    MOVE = "move"


class JobState(StrEnum):
    """``QUEUED`` begins by itself; ``PAUSED`` waits for the user, for room on the drive, or for the network."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    FAILED = "failed"
    DONE = "done"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class JobError:
    """Why a job stopped: one sentence, what to do, and what belongs in a report.

    ``kind`` is the name of the ``EngineError`` class; ``need`` and ``have`` are its numbers, where it has some.
    ``page`` is where a licence is accepted or a token made; ``needs_token`` where the hub was given none. ``code`` is
    what the model brings and nobody has allowed.
    """

    kind: str
    message: str
    next_step: str = ""
    detail: str = ""
    need: int | None = None
    have: int | None = None
    page: str = ""
    needs_token: bool = False
    code: ModelCode | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """``source`` is what the engine is given: a source to cut or to download, the name of a model to verify or move.
    ``target`` is the folder of models it goes to, None for the usual one.

    ``model`` and ``folder`` are known once the engine has said them. ``waits_for_bytes``: paused until that much is
    free; ``waits_until``: paused until then, because the hub cannot be reached. ``is_stopping``: paused or cancelled,
    but the engine is still at the end of its block. Times are Unix times.
    """

    id: str
    kind: JobKind
    source: str
    title: str
    created_at: float
    updated_at: float
    target: str | None = None
    delete_original: bool = False
    keeps_download: bool = False
    state: JobState = JobState.QUEUED
    progress: JobProgress | None = None
    error: JobError | None = None
    notices: tuple[str, ...] = ()
    model: str = ""
    folder: str = ""
    damaged: tuple[str, ...] = ()
    waits_for_bytes: int | None = None
    waits_until: float | None = None
    is_stopping: bool = False

    @property
    def resumes_by_itself(self) -> bool:
        """Whether it is paused for something that passes."""
        return self.state is JobState.PAUSED and (self.waits_for_bytes is not None or self.waits_until is not None)

    @property
    def is_over(self) -> bool:
        return self.state in (JobState.DONE, JobState.CANCELLED)


def read_jobs(path: Path) -> list[Job]:
    """Every readable record; none where the file is missing. A file that is not ours is set aside, not overwritten.

    What ran when the program ended is queued again.
    """
    try:
        content: object = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError):
        _set_aside(path)
        return []
    rows = cast("dict[str, Any]", content).get("jobs") if isinstance(content, dict) else None
    if not isinstance(rows, list):
        _set_aside(path)
        return []
    found = [_job(row) for row in cast("list[object]", rows)]
    return [job for job in found if job is not None]


def write_jobs(path: Path, jobs: Iterable[Job]) -> None:
    """Durable when it returns; the old file or the new one is there, whatever happens. Raises ``OSError``."""
    content = json.dumps({"format": FORMAT, "jobs": [asdict(job) for job in jobs]}, ensure_ascii=False, indent=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _job(row: object) -> Job | None:
    """None for a record of another shape. Unknown fields of a newer version are left out."""
    if not isinstance(row, dict):
        return None
    values = _known(cast("dict[str, Any]", row), Job)
    try:
        values["kind"] = JobKind(values["kind"])
        values["state"] = JobState(values.get("state", JobState.QUEUED))
        values["progress"] = _nested(values.get("progress"), JobProgress)
        values["error"] = _error(values.get("error"))
        values["notices"] = tuple(map(str, values.get("notices", ())))
        values["damaged"] = tuple(map(str, values.get("damaged", ())))
        values["is_stopping"] = False
        if values["state"] is JobState.RUNNING:
            values["state"] = JobState.QUEUED
        job = Job(**values)
    except (KeyError, TypeError, ValueError):
        return None
    return job if _is_sound(job) else None


def _is_sound(job: Job) -> bool:
    texts: list[object] = [job.id, job.source, job.title, job.model, job.folder]
    return all(isinstance(text, str) for text in texts) and bool(job.id)


def _nested(value: object, kind: type[Any]) -> Any:
    """Progress and errors are only shown: what cannot be read of them is simply not there."""
    if not isinstance(value, dict):
        return None
    try:
        return kind(**_known(cast("dict[str, Any]", value), kind))
    except TypeError:
        return None


def _error(value: object) -> JobError | None:
    error: JobError | None = _nested(value, JobError)
    return replace(error, code=read_code(error.code)) if error is not None else None


def _known(row: Mapping[str, Any], kind: type[Any]) -> dict[str, Any]:
    names = {each.name for each in fields(kind)}
    return {name: value for name, value in row.items() if name in names}


def _set_aside(path: Path) -> None:
    number = 1
    while (aside := path.with_name(f"{path.stem}.damaged-{number}{path.suffix}")).exists():
        number += 1
    path.rename(aside)
