"""A folder weights are downloaded into: where it is, what it is of, what is still on its way. No torch, no network.

``<owner>--<name>@<8 digits>/`` looks as the hub ships it; ``.download/`` inside holds the mark (which repository and
commit it is) and the parts of files that are not whole yet. A file appears under its own name only when its digest
matched.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.store.hub_cache import Snapshot
from engine.store.progress_journal import write_durably
from engine.store.source import safe_name

if TYPE_CHECKING:
    from engine.store.model_store import ModelStore

_STATE_FOLDER = ".download"
_MARK_NAME = "repo.json"


@dataclass(frozen=True, slots=True)
class DownloadMark:
    """``asked`` is the revision as it was asked for ("" for the usual one): going on means the commit it was then."""

    owner: str
    name: str
    commit: str
    asked: str
    is_whole: bool = False

    @property
    def title(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def command(self) -> str:
        """What finishes it."""
        return f"download {self.title}" + (f"@{self.asked}" if self.asked else "")


class DownloadFolder:
    """One of them. Makes no folder until ``begin``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, mark: DownloadMark) -> None:
        """Raises ``OSError``."""
        (self.path / _STATE_FOLDER).mkdir(parents=True, exist_ok=True)
        write_durably(self.path / _STATE_FOLDER / _MARK_NAME, json.dumps(asdict(mark)).encode())

    def mark(self) -> DownloadMark | None:
        try:
            return DownloadMark(**json.loads((self.path / _STATE_FOLDER / _MARK_NAME).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def part_of(self, name: str) -> Path:
        """Where the bytes of a file are gathered."""
        return self.path / _STATE_FOLDER / f"{name.replace('/', '--')}.part"

    def has(self, name: str) -> bool:
        return (self.path / name).is_file()

    def bytes_there(self, name: str) -> int:
        """How much of a file is here, whole or not."""
        for path in (self.path / name, self.part_of(name)):
            if path.is_file():
                return path.stat().st_size
        return 0

    def put(self, name: str, modified_ns: int) -> None:
        """A part whose digest matched becomes the file. Raises ``OSError``."""
        part, path = self.part_of(name), self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # The hub's own time, so that a file that was fetched again is the same file to whoever compares times.
        os.utime(part, ns=(modified_ns, modified_ns))
        part.replace(path)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def downloads_folder(store: ModelStore) -> Path:
    """On the same drive as the models, so that a block takes the room of the shard it was cut from."""
    if store.models_folder == store.data_dir / "models":
        return store.data_dir / "downloads"
    return store.models_folder / ".downloads"


def download_path(store: ModelStore, owner: str, name: str, commit: str) -> Path:
    return downloads_folder(store) / f"{safe_name(owner)}--{safe_name(name)}@{commit[:8]}"


def find_begun(store: ModelStore, repo: str, asked: str) -> DownloadMark | None:
    """The download of this repository and revision that was begun and not finished, if there is one."""
    folder = downloads_folder(store)
    marks = [DownloadFolder(path).mark() for path in sorted(folder.iterdir())] if folder.is_dir() else []
    for mark in marks:
        if mark and mark.title.casefold() == repo.casefold() and mark.asked == asked and not mark.is_whole:
            return mark
    return None


def find_home(store: ModelStore, repo: str, asked: str) -> ModelStore:
    """The store with new models going where an unfinished download of this repository and revision lies, if any does:
    it is gone on with in its place.
    """
    homes = (store.at(folder) for folder in store.connected())
    return next((home for home in homes if find_begun(home, repo, asked)), store)


def read_download_mark(folder: Path) -> Snapshot | None:
    """What a downloaded folder is of, as for a snapshot of the hub's cache."""
    mark = DownloadFolder(folder).mark()
    return Snapshot(folder, mark.owner, mark.name, mark.commit) if mark else None
