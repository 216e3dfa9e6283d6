"""What the program and the engine's process say to each other: frozen, picklable, free of torch and Qt.

One request, one ending: a ``Result``, a ``Failed``, or an ``Occurred`` that carries a ``Finished``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.events import Event


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Where the engine's process keeps things. Its stderr goes to ``stderr_file``, begun anew at each start.

    ``runtimes`` are folders of packages it imports from, the first before the others and all before the program's own;
    ``shipped_models`` is a folder of models that came with the program and is never written to.
    """

    data_dir: Path
    models_folder: Path | None = None
    stderr_file: Path | None = None
    runtimes: tuple[Path, ...] = ()
    shipped_models: Path | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A method of ``engine.api.Engine``. ``CancelToken`` is left out: the worker makes one for each request."""

    request_id: int
    method: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Cancel:
    """Of a request that waits, or runs. One that has ended is forgotten already: nothing happens."""

    request_id: int


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Cancel everything, free everything, end."""


ToWorker = Request | Cancel | Shutdown


@dataclass(frozen=True, slots=True)
class Ready:
    """The process is up and reads requests."""

    process_id: int


@dataclass(frozen=True, slots=True)
class Occurred:
    """An event of a long call, in order."""

    request_id: int
    event: Event


@dataclass(frozen=True, slots=True)
class Result:
    """What a short call returned."""

    request_id: int
    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The call raised. An exception that is no ``EngineError`` comes as an ``EngineFault``."""

    request_id: int
    error: EngineError


@dataclass(frozen=True, slots=True)
class Logged:
    """A line for the program's log, a warning or worse."""

    level: int
    logger: str
    text: str


FromWorker = Ready | Occurred | Result | Failed | Logged
