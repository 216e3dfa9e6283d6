"""The folders that hold split models: which are there, what a name means, and who may touch one. No torch.

New models go to one folder; every folder that was ever used is looked into. One damaged model never hides the rest,
and one drive that is not connected loses nothing. A model is only ever removed from here, under its lock, and under
another name first, so that what is left of a killed removal never looks like a model.
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
import sys
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import filelock

from engine.errors import DamagedFile, InvalidRequest, ModelBusy, ModelNotFound, TargetNotWritable
from engine.quantities import format_size
from engine.store.download_folder import DownloadFolder
from engine.store.manifest import MANIFEST_NAME, PROGRESS_FOLDER, Manifest, SourceRecord, read_manifest
from engine.store.model_folders import FolderRegister, ModelFolder, is_same_place, remember
from engine.store.original_files import nearest_existing
from engine.store.progress_journal import read_source
from engine.store.source import LOCAL_OWNER, Source, is_same_source, split_folder_name
from engine.store.stored_model import ModelState, StoredModel, choose_one, describe_model, is_meant, when_cut

log = logging.getLogger(__name__)

DATA_DIR_VARIABLE = "STRATA_DATA_DIR"
STAGING_PREFIX = ".moving-"
"""A model on its way into a folder of models: none yet."""
_TRASH_PREFIX = ".trash-"
_LOCK_FOLDER = ".locks"


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
    """The models of one data folder, wherever they lie. Holds no state but paths: any number of processes may have
    one each.

    ``models_folder`` is where new ones go. A model keeps its place until it is moved: what was begun in another folder
    is gone on with there. ``shipped_folder`` has models that came with the program: to be used, never written to.
    """

    def __init__(
        self, data_dir: Path | None = None, *, models_folder: Path | None = None, shipped_folder: Path | None = None
    ) -> None:
        self.shipped_folder = shipped_folder
        self.data_dir = (data_dir or default_data_dir()).absolute()
        self.models_folder = (models_folder or self.data_dir / "models").absolute()
        self._register = FolderRegister(self.data_dir)

    def at(self, folder: Path | None) -> ModelStore:
        """The same store, with new models going to ``folder``; None: as it is."""
        if folder is None:
            return self
        return ModelStore(self.data_dir, models_folder=folder, shipped_folder=self.shipped_folder)

    # Folders

    def folders(self) -> list[ModelFolder]:
        """Every folder of models: that for new ones, the data folder's own, then the others as they were added."""
        known = self._register.read()
        paths: list[Path] = []
        for path in (self.models_folder, self.data_dir / "models", *(folder.path for folder in known)):
            if not any(is_same_place(path, other) for other in paths):
                paths.append(path)
        registered = [next((each for each in known if is_same_place(each.path, path)), None) for path in paths]
        return [folder or ModelFolder(path, "") for path, folder in zip(paths, registered, strict=True)]

    def adopt(self, folder: Path) -> None:
        """Makes a folder and keeps it in mind, so that its models are found whichever folder is in use."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise not_writable(folder, error) from error
        if not is_same_place(folder, self.data_dir / "models"):
            with _logged("a folder of models could not be registered"):
                self._register.add(folder)

    def add_folder(self, folder: Path) -> None:
        """Puts a folder that exists on the register. Raises ``InvalidRequest``, ``TargetNotWritable``."""
        folder = folder.absolute()
        if not folder.is_dir():
            raise InvalidRequest(f"There is no folder {folder}.", "Choose a folder that is there.")
        try:
            self._register.add(folder)
        except OSError as error:
            raise not_writable(self.data_dir, error) from error

    def forget_folder(self, folder: Path) -> None:
        """Takes a folder off the register; nothing in it is touched. Raises ``InvalidRequest`` for one in use."""
        if any(is_same_place(folder, used) for used in (self.models_folder, self.data_dir / "models")):
            raise InvalidRequest(f"New models go to {folder}.", "Choose another folder for them first.")
        try:
            self._register.forget(folder)
        except OSError as error:
            raise not_writable(self.data_dir, error) from error

    def connected(self) -> list[Path]:
        """The folders that are there now, that for new models first."""
        return [folder.path for folder in self.folders() if folder.is_connected()]

    def _remember(self, folder: Path, models: Sequence[StoredModel]) -> None:
        held = [remember(model.folder.name, model.nbytes, model.source) for model in models]
        with _logged("the register of model folders could not be written"):
            if held and is_same_place(folder, self.models_folder) and self._register.find(folder) is None:
                self.adopt(folder)
            self._register.remember(folder, held)

    # Models

    def folder_for(self, record: SourceRecord) -> Path:
        """Where the split of this source is, finished or begun; where it belongs if there is none."""
        name = split_folder_name(record)
        places = [folder / name for folder in self.connected()]
        begun = [place for place in places if (place / PROGRESS_FOLDER).is_dir()]
        finished = [place for place in places if (place / MANIFEST_NAME).is_file()]
        return next(iter([*finished, *begun]), self.models_folder / name)

    def list(self) -> list[StoredModel]:
        """Every model, finished, unfinished, damaged or away, by name. Of several copies of one the first is named
        by its folder's name, the others by their paths. One that was cut here hides the one that came with the program.
        """
        models = [model for folder in self.folders() for model in self._list_folder(folder)]
        own = {model.folder.name for model in models}
        models += [model for model in self._list_shipped() if model.folder.name not in own]
        models.sort(key=lambda model: (model.folder.name, model.state is not ModelState.READY))
        names: set[str] = set()
        for index, model in enumerate(models):
            if model.name in names:
                models[index] = replace(model, name=str(model.folder))
            names.add(model.name)
        return models

    def _list_folder(self, folder: ModelFolder) -> list[StoredModel]:
        if folder.is_connected():
            with suppress(OSError):  # the drive went while it was read
                entries = sorted(entry for entry in folder.path.iterdir() if entry.is_dir())
                models = [model for entry in entries if (model := describe_model(entry)) is not None]
                self._remember(folder.path, models)
                return models
        return [
            StoredModel(
                each.folder_name, folder.path / each.folder_name, ModelState.AWAY, each.nbytes, each.record(), None
            )
            for each in folder.models
        ]

    def _list_shipped(self) -> list[StoredModel]:
        if self.shipped_folder is None or not self.shipped_folder.is_dir():
            return []
        return [model for entry in self.shipped_folder.iterdir() if (model := describe_model(entry)) is not None]

    def is_shipped(self, folder: Path) -> bool:
        """Whether this model came with the program."""
        return self.shipped_folder is not None and folder.parent == self.shipped_folder

    def find_shipped(self, name: str) -> Path | None:
        """The folder of a model that came with the program, or of its like cut here; None where there is none."""
        if not any(is_meant(model, name) for model in self._list_shipped()):
            return None
        return self.resolve(name)

    def require_own(self, model: StoredModel) -> None:
        """Raises ``InvalidRequest`` for a model that came with the program: it stays where it is."""
        if self.is_shipped(model.folder):
            raise InvalidRequest(f"{model.title} is a part of Strata.", "It goes when Strata is uninstalled.")

    def resolve(self, name: str) -> Path:
        """The folder of the finished split that ``name`` means.

        A folder's path or name, ``owner/name``, a name alone, each with ``@`` and the start of a revision, or
        ``starter``. Raises ``ModelNotFound``, also where several models, or only one that is unfinished or away, match.
        """
        path = Path(name).expanduser()
        if name and (path / MANIFEST_NAME).is_file():
            return path.absolute()
        matching = [model for model in self.list() if is_meant(model, name)]
        ready = [model for model in matching if model.state is ModelState.READY]
        if ready:
            if (chosen := choose_one(ready)) is None:
                raise self._not_one(name, ready)
            return chosen.folder
        if away := [model for model in matching if model.state is ModelState.AWAY]:
            raise _not_connected(away[0])
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
        return sorted(made, key=when_cut, reverse=True)

    def find_unfinished(self, source_path: Path) -> list[StoredModel]:
        """Splits of this very path that were begun and not finished."""
        return [
            model
            for model in self.list()
            if model.state is ModelState.UNFINISHED and model.source and Path(model.source.path) == source_path
        ]

    def find_begun(self, source_path: Path) -> list[Source]:
        """What splits of this path were begun from and have not forgotten yet, finished ones included."""
        begun: list[Source | None] = []
        for folder in self.connected():
            with suppress(OSError):
                begun += [read_source(entry) for entry in sorted(folder.iterdir())]
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

    def require_writable(self, folder: Path | None = None) -> None:
        """Raises ``TargetNotWritable`` where no model can be put into ``folder``, else where new ones go. Writes
        nothing.
        """
        folder = folder or self.models_folder
        self.require_connected(folder)
        place = nearest_existing(folder)
        if not place.is_dir():
            raise not_writable(folder, NotADirectoryError(errno.ENOTDIR, "", str(place)))
        if not os.access(place, os.W_OK | os.X_OK):
            raise not_writable(folder, PermissionError(errno.EACCES, "", str(place)))

    def require_connected(self, folder: Path) -> None:
        """Raises ``TargetNotWritable`` for a folder whose drive is away: what is there now is not that folder."""
        known = self._register.find(folder)
        if known is not None and known.models and not known.is_connected():
            raise TargetNotWritable(
                f"The folder of models {folder} is on a drive that is not connected.",
                "Connect the drive, or choose another folder for new models.",
            )

    def find_one(self, name: str) -> StoredModel:
        """The one model of this store, in whatever state but away, that ``name`` means. Raises ``ModelNotFound``."""
        matching = [model for model in self.list() if is_meant(model, name) or model.folder == Path(name).absolute()]
        exact = [model for model in matching if name in (model.name, str(model.folder))]
        here = [model for model in exact or matching if model.state is not ModelState.AWAY]
        if matching and not here:
            raise _not_connected(matching[0])
        if len({model.folder.name for model in here}) != 1:
            raise self._not_one(name, here)
        return here[0]

    def remove(self, name: str) -> Path:
        """Deletes one model of this store and gives the folder it was in. The lock is held throughout.

        Raises ``ModelNotFound`` for anything that is not in this store, ``ModelBusy`` while it is being cut,
        ``InvalidRequest`` for one that came with the program.
        """
        model = self.find_one(name)
        self.require_own(model)
        folder = model.folder
        with self.lock(folder):
            self.discard(folder)
        self.empty_trash()
        for place in self.connected():
            # What a move of it had copied is of no use any more.
            shutil.rmtree(place / f"{STAGING_PREFIX}{folder.name}", ignore_errors=True)
        return folder

    def discard(self, folder: Path) -> None:
        """Takes a folder out of the store in one step, then deletes it. The caller holds its lock."""
        trash = folder.parent / f"{_TRASH_PREFIX}{uuid.uuid4().hex}"
        folder.rename(trash)
        shutil.rmtree(trash, ignore_errors=True)
        self.look_again(folder.parent)

    def look_again(self, folder: Path) -> None:
        """Keeps in mind what a folder of models holds now."""
        with suppress(OSError):
            self._list_folder(self._folder(folder))

    def _folder(self, path: Path) -> ModelFolder:
        return next((each for each in self.folders() if is_same_place(each.path, path)), ModelFolder(path, ""))

    def empty_trash(self) -> None:
        """Deletes what killed removals left behind."""
        for folder in self.connected():
            for leftover in folder.glob(f"{_TRASH_PREFIX}*"):
                shutil.rmtree(leftover, ignore_errors=True)

    def require_free(self, folder: Path) -> None:
        """Raises ``ModelBusy`` where another process works on this model. Writes nothing."""
        if (folder.parent / _LOCK_FOLDER / f"{folder.name}.lock").exists():
            with self.lock(folder):
                pass

    @contextmanager
    def lock(self, folder: Path) -> Generator[None]:
        """Held while one model is cut, repaired or removed. Raises ``ModelBusy`` at once, never waits."""
        locks = folder.parent / _LOCK_FOLDER
        try:
            locks.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(locks / f"{folder.name}.lock", blocking=False, thread_local=False)
            lock.acquire()
        except filelock.Timeout as error:
            raise ModelBusy(
                f"{folder.name} is being worked on by another process.", "Wait until it has finished, or cancel it."
            ) from error
        except OSError as error:
            raise not_writable(folder.parent, error) from error
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


def _not_connected(model: StoredModel) -> ModelNotFound:
    return ModelNotFound(
        f"{model.title} ({format_size(model.nbytes)}) is in {model.folder.parent}, on a drive that is not connected.",
        "Connect the drive and try again.",
    )


@contextmanager
def _logged(what: str) -> Generator[None]:
    """The register is a convenience: work on a model goes on without it."""
    try:
        yield
    except OSError as error:
        log.warning("%s: %r", what, error)
