"""What the engine is asked for a job. Pure: no Qt, no engine process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.job_records import Job, JobKind
from engine.api import HubAccess

Request = tuple[str, tuple[object, ...], dict[str, Any]]
"""Method, arguments and keyword arguments, as ``EngineHost.ask`` takes them."""


def request_of(job: Job, *, access: Callable[[], HubAccess], floor_bytes: int) -> Request:
    """``access`` is asked only for what needs the hub: its token is kept nowhere here."""
    target = Path(job.target) if job.target else None
    match job.kind:
        case JobKind.SPLIT:
            return "split", (job.source,), {"delete_original": job.delete_original, "target": target}
        case JobKind.DOWNLOAD:
            options = {"target": target, "keep_download": job.keeps_download, "floor_bytes": floor_bytes}
            return "download", (job.source, access()), options
        case JobKind.VERIFY:
            return "verify", (job.source,), {"repair": False}
        case JobKind.REPAIR:
            return "verify", (job.source,), {"repair": True, "access": access()}
        case JobKind.MOVE:
            return "move", (job.source, target), {"floor_bytes": floor_bytes}
