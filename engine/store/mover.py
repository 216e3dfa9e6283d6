"""Moves a finished split to another folder of models: copied, read back, compared, and only then the old one goes.

On one drive it is a rename. To another drive the files come into a hidden folder beside the models there. A file is
written under a part's name, flushed, read back past the page cache and compared with its digest before it gets its own
name, so what is there under its own name is whole, and a move that was killed goes on with it. Once all are there the
folder gets its name in one step, and then the old one is removed. A note inside says where it came from until that is
done, so that a move killed between these two steps can be ended. No torch.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

from engine.cancel import Cancelled, CancelToken
from engine.errors import DiskFull, EngineError, InvalidRequest, ModelBusy
from engine.events import Event, Finished, JobProgress, MoveResult, Outcome
from engine.quantities import format_size
from engine.store.disk_plan import DEFAULT_FLOOR_BYTES
from engine.store.file_copier import FileCopier, MovedFile, part_of
from engine.store.file_digest import digest_small_file
from engine.store.job_meter import JobMeter
from engine.store.manifest import MANIFEST_NAME, PROGRESS_FOLDER, Manifest, read_manifest
from engine.store.model_folders import is_same_place
from engine.store.model_store import STAGING_PREFIX, ModelStore, not_writable
from engine.store.original_files import drive_of, nearest_existing
from engine.store.progress_journal import write_durably
from engine.store.stored_model import ModelState, StoredModel, bytes_below
from engine.store.verifier import check_sizes
from engine.weights.direct_io import sync_folder

_NOTE_NAME = ".move.json"
_FULL = (errno.ENOSPC, errno.EDQUOT)
Switch = Callable[[], None]
RunAlone = Callable[[Path, Switch], Iterator[Event]]
"""Runs the last step while nobody uses the model in the given folder, which may take until an answer has ended."""


def _run_at_once(_folder: Path, switch: Switch) -> Iterator[Event]:
    switch()
    return iter(())


def move_model(
    name: str,
    target: Path,
    store: ModelStore,
    *,
    cancel: CancelToken | None = None,
    floor_bytes: int = DEFAULT_FLOOR_BYTES,
    run_alone: RunAlone = _run_at_once,
    free_bytes: Callable[[Path], int] = lambda path: shutil.disk_usage(nearest_existing(path)).free,
) -> Iterator[Event]:
    """Moves the model ``name`` means into the folder ``target``, or goes on with a move that was cut short.

    Yields ``JobProgress``, ends with ``Finished`` and a ``MoveResult``. Raises ``EngineError``: ``DiskFull`` where
    fewer than ``floor_bytes`` would stay free, ``DamagedFile`` where what was read back is not what the manifest
    records. Whatever happens, one whole copy is there.
    """
    started = time.monotonic()
    move = _Move(name, target.expanduser().absolute(), store, cancel or CancelToken(), floor_bytes, free_bytes)
    outcome = Outcome.DONE
    try:
        yield from move.run(run_alone)
    except Cancelled:
        outcome = Outcome.CANCELLED
    except OSError as error:
        raise move.explain(error) from error
    yield Finished(outcome, move.result(time.monotonic() - started))


def discard_move(name: str, store: ModelStore) -> int:
    """Deletes what a move that was given up has copied already; the bytes that frees. Raises ``EngineError``."""
    freed = 0
    places = [folder / f"{STAGING_PREFIX}{name}" for folder in store.connected()]
    # The model itself may be on a drive that went meanwhile.
    folder_name = name if any(place.is_dir() for place in places) else store.find_one(name).folder.name
    for folder in store.connected():
        staging = folder / f"{STAGING_PREFIX}{folder_name}"
        if staging.is_dir():
            with store.lock(folder / folder_name):
                freed += bytes_below(staging)
                shutil.rmtree(staging, ignore_errors=True)
    return freed


class _Move:
    """One run of one move."""

    def __init__(
        self,
        name: str,
        target: Path,
        store: ModelStore,
        cancel: CancelToken,
        floor_bytes: int,
        free_bytes: Callable[[Path], int],
    ) -> None:
        self._name = name
        self._target = target
        self._store = store
        self._cancel = cancel
        self._floor = floor_bytes
        self._free_bytes = free_bytes
        self._model = ""
        self._old = Path()
        self._new = target
        self._staging = target
        self._files: list[MovedFile] = []
        self._meter = JobMeter(0, 0)
        self._copier: FileCopier | None = None

    def run(self, run_alone: RunAlone) -> Iterator[Event]:
        model = self._store.find_one(self._name)
        self._store.require_own(model)
        self._model = model.folder.name
        self._new = self._target / model.folder.name
        self._staging = self._target / f"{STAGING_PREFIX}{model.folder.name}"
        self._old = self._arrived_from() or model.folder
        if is_same_place(self._old, self._new):
            raise InvalidRequest(f"{model.title} is in {self._target} already.", "Choose another folder.")
        self._require_movable(model)
        if self._arrived_from() is None:
            self._require_no_other()
            self._store.require_writable(self._old.parent)
        self._store.require_writable(self._target)
        self._store.adopt(self._target)
        with ExitStack() as locks:
            for folder in (self._old, self._new):
                if folder.parent.is_dir():
                    locks.enter_context(self._store.lock(folder))
            if self._arrived_from() is None:
                yield from self._bring()
            yield self._event("switching", 0, "")
            yield from run_alone(self._old, self._switch)
        self._store.empty_trash()

    def result(self, elapsed_s: float) -> MoveResult:
        copied, compared = (self._copier.copied, self._copier.compared) if self._copier else (0, 0)
        return MoveResult(self._model, str(self._new), len(self._files), copied, compared, elapsed_s)

    def explain(self, error: OSError) -> EngineError:
        """What an ``OSError`` of the target means (the old folder's are explained where they are met)."""
        return self._disk_full(self._missing_bytes()) if error.errno in _FULL else not_writable(self._target, error)

    # Before anything is written

    def _arrived_from(self) -> Path | None:
        """Where the whole copy at the target came from, if it is one whose old place was not cleared yet."""
        try:
            note = json.loads((self._new / _NOTE_NAME).read_text(encoding="utf-8"))
            old = Path(note["from"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return old if old.name == self._new.name else None

    def _require_movable(self, model: StoredModel) -> None:
        if model.state is ModelState.UNFINISHED:
            raise InvalidRequest(f"{model.title} is only partly cut.", "Finish it first, then move it.")
        manifest = read_manifest(model.folder)
        check_sizes(model.folder, manifest)
        if self._target.is_relative_to(model.folder):
            raise InvalidRequest(f"{self._target} is inside the model itself.", "Choose another folder.")

    def _require_no_other(self) -> None:
        if self._new.exists():
            raise InvalidRequest(
                f"There is another copy of {self._new.name} in {self._target}.", "Remove one of the two first."
            )

    def _require_room(self, nbytes: int) -> None:
        if self._free_bytes(self._target) < nbytes + self._floor:
            raise self._disk_full(nbytes)

    def _disk_full(self, nbytes: int) -> DiskFull:
        need, have = nbytes + self._floor, self._free_bytes(self._target)
        return DiskFull(
            f"Moving {self._model} needs {format_size(need)} ({format_size(nbytes)} and {format_size(self._floor)} "
            f"that stay free); {format_size(have)} are free on the drive of {nearest_existing(self._target)}.",
            "Free some space there, or choose another folder. Nothing was removed, and what is already copied is kept.",
            need=need,
            have=have,
        )

    def _missing_bytes(self) -> int:
        return sum(file.size - self._bytes_there(file) for file in self._files)

    def _bytes_there(self, file: MovedFile) -> int:
        with suppress(OSError):
            return (self._staging / file.name).stat().st_size
        with suppress(OSError):
            return min(part_of(self._staging / file.name).stat().st_size, file.size)
        return 0

    # Copying

    def _bring(self) -> Iterator[Event]:
        """Until the whole model is in the staging folder, verified."""
        yield JobProgress("planning", 0, 0, "", 0, 0, 0.0, None)
        manifest = read_manifest(self._old)
        self._files = _files_of(self._old, manifest)
        if self._can_be_renamed():
            shutil.rmtree(self._staging, ignore_errors=True)
            return
        note = {"from": str(self._old), "manifest": digest_small_file(self._old / MANIFEST_NAME)}
        self._keep_only_of(note)
        self._require_room(self._missing_bytes())
        self._staging.mkdir(parents=True, exist_ok=True)
        write_durably(self._staging / _NOTE_NAME, json.dumps(note).encode())
        done = [file for file in self._files if self._is_whole(file)]
        # Every byte is written once and read back once: both count, and what is shown is half of it.
        self._meter = JobMeter(
            len(manifest.files),
            2 * sum(file.size for file in self._files),
            bytes_done=2 * sum(file.size for file in done),
        )
        self._copier = FileCopier(self._model, self._old, self._staging, self._meter, self._cancel)
        with self._copier:
            for file in self._files:
                if file not in done:
                    self._require_room(file.size - self._bytes_there(file))
                    yield from map(_halved, self._copier.bring(file))

    def _can_be_renamed(self) -> bool:
        """Whether both folders are on one mounted drive. One drive may be mounted twice, so it is tried."""
        if drive_of(self._old) != drive_of(self._target):
            return False
        trial = self._old.with_name(f"{STAGING_PREFIX}trial")
        trial.touch()
        try:
            trial.replace(self._target / trial.name)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            return False
        finally:
            for folder in (self._old.parent, self._target):
                (folder / trial.name).unlink(missing_ok=True)
        return True

    def _keep_only_of(self, note: dict[str, str]) -> None:
        """What an earlier run has copied counts only where it copied this very model."""
        try:
            begun = json.loads((self._staging / _NOTE_NAME).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            begun = None
        if begun != note:
            shutil.rmtree(self._staging, ignore_errors=True)

    def _is_whole(self, file: MovedFile) -> bool:
        path = self._staging / file.name
        return path.is_file() and path.stat().st_size == file.size

    # The last step

    def _switch(self) -> None:
        """From here on the model is at its new place."""
        if self._arrived_from() is None:
            self._put_in_place()
        if self._is_the_same_model():
            try:
                self._store.discard(self._old)
            except OSError as error:
                raise ModelBusy(
                    f"{self._model} is in {self._target} now, but its old copy in {self._old.parent} cannot be "
                    "removed.",
                    "Close what uses it, then move the model again: only the removal is left.",
                    detail=repr(error),
                ) from error
        if self._old.parent.is_dir():
            (self._new / _NOTE_NAME).unlink(missing_ok=True)
        self._store.look_again(self._target)

    def _put_in_place(self) -> None:
        if self._staging.is_dir():
            self._bring_others()
            sync_folder(self._staging)
            self._staging.rename(self._new)
        else:
            self._old.rename(self._new)
            sync_folder(self._old.parent)
        sync_folder(self._target)

    def _bring_others(self) -> None:
        """Files that the manifest does not know may change as long as the model is used: they come last."""
        for name in _other_files(self._old, self._files):
            copy = self._staging / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self._old / name, copy)
            with copy.open("rb+") as file:
                os.fsync(file.fileno())
            sync_folder(copy.parent)

    def _is_the_same_model(self) -> bool:
        """Only what this very model was copied from is ever removed."""
        try:
            manifests = [(folder / MANIFEST_NAME).read_bytes() for folder in (self._old, self._new)]
        except OSError:
            return False
        return manifests[0] == manifests[1] and not is_same_place(self._old, self._new)

    # Telling

    def _event(self, phase: str, block: int, title: str) -> JobProgress:
        self._meter.start(phase, block, title)
        return _halved(self._meter.event())


def _halved(event: JobProgress) -> JobProgress:
    return replace(
        event,
        bytes_done=event.bytes_done // 2,
        bytes_total=event.bytes_total // 2,
        bytes_per_second=event.bytes_per_second / 2,
    )


def _files_of(folder: Path, manifest: Manifest) -> list[MovedFile]:
    """What a split consists of, with digests: of weights and side files as recorded, of the manifest as it is."""
    files = [
        MovedFile(entry.file, entry.size, entry.sha256, number, entry.name)
        for number, entry in enumerate(manifest.files, start=1)
    ]
    small = {**manifest.side_files, MANIFEST_NAME: digest_small_file(folder / MANIFEST_NAME)}
    return files + [MovedFile(name, (folder / name).stat().st_size, small[name], 0, name) for name in sorted(small)]


def _other_files(folder: Path, files: Iterable[MovedFile]) -> list[str]:
    """What else lies in a split's folder: how often experts were used, for one."""
    known = {file.name for file in files}
    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
    return [name for name in names if name not in known and name.split("/")[0] not in (PROGRESS_FOLDER, _NOTE_NAME)]
