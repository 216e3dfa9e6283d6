"""Which folders hold models: a register in the data folder, and what each folder held when it was last seen. No torch.

A drive that is not connected takes nothing off the register: its models are known by name, size and place until it
is back. A folder is recognised by a mark inside it, not by its path alone: an empty mount point, or another drive
under the same letter, is not that folder.
"""

from __future__ import annotations

import json
import logging
import os
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import filelock

from engine.store.manifest import SourceKind, SourceRecord
from engine.store.progress_journal import write_durably

log = logging.getLogger(__name__)

REGISTER_NAME = "model-folders.json"
MARK_NAME = ".strata-models"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class RememberedModel:
    """What is known of a model whose drive is not connected. ``folder_name`` is that of its folder."""

    folder_name: str
    nbytes: int
    kind: str
    owner: str
    name: str
    revision: str
    path: str

    def record(self) -> SourceRecord | None:
        """What it was cut from, without its files; None where that was not known."""
        if not self.owner:
            return None
        return SourceRecord(SourceKind(self.kind), self.path, self.owner, self.name, self.revision, ())


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """One folder of the register. ``mark`` is what the file inside it says, "" for one that could not be marked."""

    path: Path
    mark: str
    models: tuple[RememberedModel, ...] = ()

    def is_connected(self) -> bool:
        """Whether this very folder is there now; of one that held nothing, whether there is any."""
        if not self.mark or not self.models:
            return self.path.is_dir()
        return read_mark(self.path) == self.mark


def remember(folder_name: str, nbytes: int, source: SourceRecord | None) -> RememberedModel:
    if source is None:
        return RememberedModel(folder_name, nbytes, "", "", "", "", "")
    return RememberedModel(
        folder_name, nbytes, source.kind.value, source.owner, source.name, source.revision, source.path
    )


def read_mark(folder: Path) -> str:
    """Empty where there is none."""
    try:
        return (folder / MARK_NAME).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def is_same_place(one: Path, other: Path) -> bool:
    """Whether two paths mean one folder, existing or not."""
    return os.path.normcase(os.path.realpath(one)) == os.path.normcase(os.path.realpath(other))


class FolderRegister:
    """The register of one data folder. Any number of processes may read and change it."""

    def __init__(self, data_dir: Path) -> None:
        self._file = data_dir / REGISTER_NAME

    def read(self) -> list[ModelFolder]:
        """In the order they were added. Entries that cannot be read are left out and never hide the others."""
        try:
            content: Any = json.loads(self._file.read_text(encoding="utf-8"))
            rows = cast("list[Any]", content["folders"])
            folders = [_folder(row) for row in rows]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("the register of model folders in %s cannot be read: %r", self._file, error)
            return []
        return [folder for folder in folders if folder is not None]

    def find(self, path: Path) -> ModelFolder | None:
        return next((folder for folder in self.read() if is_same_place(folder.path, path)), None)

    def add(self, path: Path) -> ModelFolder:
        """Marks a folder that exists and puts it on the register. Raises ``OSError`` where the register cannot be
        written.
        """
        known = self.find(path)
        if known is not None and known.mark and known.mark == read_mark(path):
            return known
        added = ModelFolder(path, _mark(path))

        def change(folders: list[ModelFolder]) -> list[ModelFolder]:
            return [*(each for each in folders if not is_same_place(each.path, path)), added]

        self._change(change)
        return added

    def remember(self, path: Path, models: Sequence[RememberedModel]) -> None:
        """What the folder holds now. Raises ``OSError``; writes nothing where that is known."""

        def change(folders: list[ModelFolder]) -> list[ModelFolder]:
            return [replace(each, models=tuple(models)) if is_same_place(each.path, path) else each for each in folders]

        if change(before := self.read()) != before:
            self._change(change)

    def forget(self, path: Path) -> None:
        """Takes a folder off the register; nothing in it is touched. Raises ``OSError``."""
        self._change(lambda folders: [each for each in folders if not is_same_place(each.path, path)])

    def _change(self, change: Callable[[list[ModelFolder]], Iterable[ModelFolder]]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(self._file.with_suffix(".lock"), thread_local=False):
            self._set_damaged_aside()
            rows = [{**asdict(folder), "path": str(folder.path)} for folder in change(self.read())]
            text = json.dumps({"format": _FORMAT, "folders": rows}, ensure_ascii=False, indent=1)
            write_durably(self._file, text.encode())

    def _set_damaged_aside(self) -> None:
        """What a person could still read in a damaged register must not be overwritten."""
        try:
            json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return
        except ValueError:
            self._file.replace(self._file.with_suffix(".damaged.json"))


def _mark(folder: Path) -> str:
    """The mark a folder has, or a new one; "" where none can be written."""
    if mark := read_mark(folder):
        return mark
    mark = uuid.uuid4().hex
    try:
        write_durably(folder / MARK_NAME, mark.encode())
    except OSError as error:
        log.info("%s cannot be marked as a folder of models: %r", folder, error)
        return ""
    return mark


def _folder(row: Any) -> ModelFolder | None:
    try:
        models = tuple(RememberedModel(**model) for model in row["models"])
        for model in models:
            model.record()
        return ModelFolder(Path(row["path"]), str(row["mark"]), models)
    except (KeyError, TypeError, ValueError):
        return None
