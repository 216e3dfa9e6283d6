"""The folder that holds split models: which are there, what a name means, and who may touch one. No torch.

One damaged model never hides the rest. A model is only ever removed from here, under its lock, and under
another name first, so that what is left of a killed removal never looks like a model.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import filelock

from engine.errors import DamagedFile, ModelBusy, ModelNotFound, TargetNotWritable
from engine.store.download_folder import DownloadFolder
from engine.store.manifest import MANIFEST_NAME, PROGRESS_FOLDER, Manifest, SourceRecord, read_manifest
from engine.store.original_files import are_current, nearest_existing
from engine.store.progress_journal import SOURCE_NAME, read_source
from engine.store.source import LOCAL_OWNER, STARTER, Source, is_same_source, split_folder_name

DATA_DIR_VARIABLE = "STRATA_DATA_DIR"
_STARTER_FOLDER = "HuggingFaceTB--SmolLM2-135M-Instruct@"
_TRASH_PREFIX = ".trash-"
_LOCK_FOLDER = ".locks"


class ModelState(StrEnum):
    """UNFINISHED can be resumed; DAMAGED has a manifest that cannot be read."""

    READY = "ready"
    UNFINISHED = "unfinished"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class StoredModel:
    """One folder of the store. ``nbytes`` is what it takes on disk now; ``name`` is the folder's name.

    ``manifest`` is None unless the model is ready; ``source`` is None where it is damaged.
    """

    name: str
    folder: Path
    state: ModelState
    nbytes: int
    source: SourceRecord | None
    manifest: Manifest | None

    @property
    def title(self) -> str:
        """``owner/name``, for people."""
        return f"{self.source.owner}/{self.source.name}" if self.source else self.name


def default_data_dir() -> Path:
    """``STRATA_DATA_DIR``, else the system's place for a user's application data."""
    if given := os.environ.get(DATA_DIR_VARIABLE):
        return Path(given).expanduser().absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "Strata"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Strata"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "Strata"


class ModelStore:
    """The models in one folder. Holds no state but paths: any number of processes may have one each."""

    def __init__(self, data_dir: Path | None = None, *, models_folder: Path | None = None) -> None:
        self.data_dir = (data_dir or default_data_dir()).absolute()
        self.models_folder = (models_folder or self.data_dir / "models").absolute()

    def folder_for(self, record: SourceRecord) -> Path:
        """Where the split of this source belongs."""
        return self.models_folder / split_folder_name(record)

    def list(self) -> list[StoredModel]:
        """Every model here, finished, unfinished or damaged, by name."""
        if not self.models_folder.is_dir():
            return []
        folders = sorted(entry for entry in self.models_folder.iterdir() if entry.is_dir())
        return [model for folder in folders if (model := _describe(folder)) is not None]

    def resolve(self, name: str) -> Path:
        """The folder of the finished split that ``name`` means.

        A folder's path or name, ``owner/name``, a name alone, each with ``@`` and the start of a revision, or
        ``starter``. Raises ``ModelNotFound``, also where several models or only an unfinished one match.
        """
        path = Path(name).expanduser()
        if name and (path / MANIFEST_NAME).is_file():
            return path.absolute()
        matching = [model for model in self.list() if _is_meant(model, name)]
        ready = [model for model in matching if model.state is ModelState.READY]
        if len(ready) == 1:
            return ready[0].folder
        if len(ready) > 1 and (newest := _newest_of_one_original(ready)) is not None:
            return newest.folder
        if len(ready) > 1:
            raise self._not_one(name, ready)
        if matching and matching[0].state is ModelState.UNFINISHED:
            path = Path(matching[0].source.path) if matching[0].source else Path()
            mark = DownloadFolder(path).mark()
            raise ModelNotFound(
                f"{matching[0].title} is only partly cut.",
                f"Finish it first: {mark.command}" if mark and not mark.is_whole else f"Finish it first: split {path}",
            )
        if matching:
            raise ModelNotFound(
                f"The description of {matching[0].name} is damaged.", "Remove it and cut it again from its original."
            )
        raise self._not_one(name, [])

    def _not_one(self, name: str, matching: Sequence[StoredModel]) -> ModelNotFound:
        if not matching:
            return ModelNotFound(
                f"There is no model “{name}” in {self.models_folder}.", "See what is there with “list”."
            )
        return ModelNotFound(
            f"“{name}” could be any of {', '.join(model.name for model in matching)}.",
            f"Name one of them in full, such as {matching[0].name}",
        )

    def find_older(self, record: SourceRecord) -> list[StoredModel]:
        """Finished splits of what was at this path before, or of copies of these files with other times."""

        def contents(of: SourceRecord) -> list[tuple[str, int, str]]:
            return [(file.name, file.size, file.digest) for file in of.files]

        return [
            model
            for model in self.list()
            if model.state is ModelState.READY
            and model.source is not None
            and model.folder != self.folder_for(record)
            and model.source.owner == record.owner == LOCAL_OWNER
            and (model.source.path == record.path or contents(model.source) == contents(record))
        ]

    def find_cut_from(self, path: Path) -> list[StoredModel]:
        """Finished splits of what is, or was, at this path; the newest first."""
        made = [m for m in self.list() if m.state is ModelState.READY and m.source and Path(m.source.path) == path]
        return sorted(made, key=_when_cut, reverse=True)

    def find_unfinished(self, source_path: Path) -> list[StoredModel]:
        """Splits of this very path that were begun and not finished."""
        return [
            model
            for model in self.list()
            if model.state is ModelState.UNFINISHED and model.source and Path(model.source.path) == source_path
        ]

    def find_begun(self, source_path: Path) -> list[Source]:
        """What splits of this path were begun from and have not forgotten yet, finished ones included."""
        if not self.models_folder.is_dir():
            return []
        begun = [read_source(folder) for folder in sorted(self.models_folder.iterdir())]
        return [source for source in begun if source and Path(source.record.path) == source_path]

    def find_finished(self, record: SourceRecord) -> Manifest | None:
        """The manifest of this source's split, if it is here, finished, and of these very files."""
        folder = self.folder_for(record)
        if not (folder / MANIFEST_NAME).is_file():
            return None
        try:
            manifest = read_manifest(folder)
        except DamagedFile:
            return None
        return manifest if is_same_source(manifest.source, record) else None

    def require_writable(self) -> None:
        """Raises ``TargetNotWritable`` where no model can be put here. Writes nothing."""
        place = nearest_existing(self.models_folder)
        if not place.is_dir():
            raise not_writable(self.models_folder, NotADirectoryError(errno.ENOTDIR, "", str(place)))
        if not os.access(place, os.W_OK | os.X_OK):
            raise not_writable(self.models_folder, PermissionError(errno.EACCES, "", str(place)))

    def find_one(self, name: str) -> StoredModel:
        """The one model of this store, in whatever state, that ``name`` means. Raises ``ModelNotFound``."""
        matching = [model for model in self.list() if _is_meant(model, name) or model.folder == Path(name).absolute()]
        if len(matching) != 1:
            raise self._not_one(name, matching)
        return matching[0]

    def remove(self, name: str) -> Path:
        """Deletes one model of this store and gives the folder it was in. The lock is held throughout.

        Raises ``ModelNotFound`` for anything that is not in this store, ``ModelBusy`` while it is being cut.
        """
        folder = self.find_one(name).folder
        with self.lock(folder):
            self.discard(folder)
        self.empty_trash()
        return folder

    def discard(self, folder: Path) -> None:
        """Takes a folder out of the store in one step, then deletes it. The caller holds its lock."""
        trash = self.models_folder / f"{_TRASH_PREFIX}{uuid.uuid4().hex}"
        folder.rename(trash)
        shutil.rmtree(trash, ignore_errors=True)

    def empty_trash(self) -> None:
        """Deletes what killed removals left behind."""
        for leftover in self.models_folder.glob(f"{_TRASH_PREFIX}*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def require_free(self, folder: Path) -> None:
        """Raises ``ModelBusy`` where another process works on this model. Writes nothing."""
        if (self.models_folder / _LOCK_FOLDER / f"{folder.name}.lock").exists():
            with self.lock(folder):
                pass

    @contextmanager
    def lock(self, folder: Path) -> Generator[None]:
        """Held while one model is cut, repaired or removed. Raises ``ModelBusy`` at once, never waits."""
        locks = self.models_folder / _LOCK_FOLDER
        try:
            locks.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(locks / f"{folder.name}.lock", blocking=False, thread_local=False)
            lock.acquire()
        except filelock.Timeout as error:
            raise ModelBusy(
                f"{folder.name} is being worked on by another process.", "Wait until it has finished, or cancel it."
            ) from error
        except OSError as error:
            raise not_writable(self.models_folder, error) from error
        try:
            yield
        finally:
            lock.release()


def not_writable(folder: Path, error: OSError) -> TargetNotWritable:
    """The error for a place where nothing can be written."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    return TargetNotWritable(
        f"Models cannot be written to {folder}: {reason}.",
        "Choose another folder with --to or --data-dir, or change its permissions.",
        detail=repr(error),
    )


def _describe(folder: Path) -> StoredModel | None:
    """None for a folder that is no model at all."""
    if folder.name.startswith("."):
        return None
    has_manifest = (folder / MANIFEST_NAME).is_file()
    unfinished = read_source(folder)
    if not has_manifest and unfinished is None and not (folder / PROGRESS_FOLDER / SOURCE_NAME).exists():
        return None
    nbytes = _bytes_below(folder)
    if not has_manifest:
        state = ModelState.DAMAGED if unfinished is None else ModelState.UNFINISHED
        return StoredModel(folder.name, folder, state, nbytes, unfinished.record if unfinished else None, None)
    try:
        manifest = read_manifest(folder)
    except DamagedFile:
        return StoredModel(folder.name, folder, ModelState.DAMAGED, nbytes, None, None)
    return StoredModel(folder.name, folder, ModelState.READY, nbytes, manifest.source, manifest)


def _bytes_below(folder: Path) -> int:
    """What a folder takes on disk. Files may go while it is read: another process may be cutting or removing it."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += Path(place, name).stat().st_size
    return total


def _newest_of_one_original(models: Sequence[StoredModel]) -> StoredModel | None:
    """Of splits of the same local path at different times: that of what is there now, else the newest."""
    sources = [model.source for model in models if model.source is not None]
    if len({(source.owner, source.path) for source in sources}) != 1 or sources[0].owner != LOCAL_OWNER:
        return None
    current = [model for model in models if model.source is not None and are_current(model.source)]
    return max(current or models, key=_when_cut)


def _when_cut(model: StoredModel) -> int:
    try:
        return (model.folder / MANIFEST_NAME).stat().st_mtime_ns
    except OSError:
        return 0


def _is_meant(model: StoredModel, name: str) -> bool:
    wanted, _, revision = name.partition("@")
    if wanted == STARTER:
        return model.name.startswith(_STARTER_FOLDER)
    folder_name, _, folder_revision = model.name.partition("@")
    owner, _, short = folder_name.partition("--")
    names = {folder_name, f"{owner}/{short}", short}
    full = folder_revision
    if model.source is not None:
        names |= {model.title, model.source.name}
        full = model.source.revision if len(revision) > len(folder_revision) else folder_revision
    return wanted.casefold() in {entry.casefold() for entry in names} and full.startswith(revision)
