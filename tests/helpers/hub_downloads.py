"""Downloads from the hub server in ``hub_server``, without waiting: what a test changes is given, the rest is usual."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.cancel import CancelToken
from engine.events import Event, Finished, JobProgress, Notice, SplitResult
from engine.hub_access import HubAccess
from engine.store.download import DownloadOptions, download_model
from engine.store.model_store import ModelStore
from tests.helpers.hub_server import HubServer


class Waits:
    """Sleeps for nobody; keeps the seconds it was asked for."""

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self.seconds: list[float] = []
        self._then = then

    def __call__(self, seconds: float) -> bool:
        self.seconds.append(seconds)
        self._then()
        return False


def download(
    server: HubServer,
    store: ModelStore,
    repo: str = "acme/tiny",
    *,
    token: str | None = None,
    cancel: CancelToken | None = None,
    on_event: Callable[[Event], None] = lambda event: None,
    **options: Any,
) -> list[Event]:
    """All events of one run."""
    events: list[Event] = []
    chosen = DownloadOptions(**{"floor_bytes": 0, "wait": Waits(), **options})
    access = HubAccess(token=token, endpoint=server.endpoint)
    for event in download_model(repo, store, access, cancel=cancel or CancelToken(), options=chosen):
        events.append(event)
        on_event(event)
    return events


def result_of(events: list[Event]) -> SplitResult:
    last = events[-1]
    assert isinstance(last, Finished)
    assert isinstance(last.result, SplitResult)
    return last.result


def notices(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


def phases(events: list[Event]) -> list[str]:
    return list(dict.fromkeys(event.phase for event in events if isinstance(event, JobProgress)))


def block_files(split: Path) -> dict[str, bytes]:
    """The blocks of a split: the same for the same weights, wherever they came from."""
    return {path.name: path.read_bytes() for path in sorted((split / "blocks").iterdir())}
