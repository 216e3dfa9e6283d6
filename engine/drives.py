"""The drives models can be kept on, and the folders that hold them now. No torch, no privileges.

A drive is listed where somebody could choose it: it holds models or the user's files, or anything may be put on it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil

from engine.errors import DiskFull
from engine.quantities import format_size
from engine.reports import DriveReport, FolderReport
from engine.store.disk_plan import DEFAULT_FLOOR_BYTES
from engine.store.model_folders import is_same_place
from engine.store.model_store import ModelStore, not_writable
from engine.store.original_files import drive_of, nearest_existing
from engine.store.stored_model import ModelState
from engine.weights.read_speed import measure_folder_speed

FOLDER_NAME = "Strata models"
"""What a folder of models is called on a drive that has none yet."""

_SAMPLE_BYTES = 64 << 20
_MOST_S = 2.0
_SHOWN_ANYWAY = ("/mnt/", "/media/", "/run/media/", "/Volumes/")
"""A drive mounted there is the user's, even where its topmost folder is not."""
_OF_THE_SYSTEM = ("/boot", "/snap", "/var", "/etc", "/usr", "/nix", "/System", "/private", "/dev", "/proc", "/sys")


def list_drives(store: ModelStore) -> list[DriveReport]:
    """One for each drive, that for new models first. Reads no file, measures nothing."""
    drives: dict[int, DriveReport] = {}
    for folder, is_writable in _places(store):
        try:
            number = drive_of(folder)
            usage = shutil.disk_usage(nearest_existing(folder))
        except OSError:  # it went while we looked
            continue
        if number not in drives:
            is_main = is_same_place(folder, store.models_folder)
            root = _mount_point(nearest_existing(folder))
            drives[number] = DriveReport(str(folder), str(root), usage.total, usage.free, is_main, is_writable)
    return list(drives.values())


def measure_drive(folder: Path) -> float:
    """Bytes per second of reading past the page cache, from a file of at most 64 MiB that is removed again.

    Raises ``TargetNotWritable``, and ``DiskFull`` where the drive is as good as full.
    """
    place = nearest_existing(folder)
    try:
        free = shutil.disk_usage(place).free
        need = DEFAULT_FLOOR_BYTES + _SAMPLE_BYTES
        if free < need:
            raise DiskFull(
                f"The drive of {place} is too full to be measured: {format_size(free)} are free.",
                f"Free some space; {format_size(need)} are enough.",
                need=need,
                have=free,
            )
        return measure_folder_speed(place, _SAMPLE_BYTES, most_s=_MOST_S)
    except OSError as error:
        raise not_writable(folder, error) from error


def report_folders(store: ModelStore) -> list[FolderReport]:
    """Every folder models are looked for in, with what it holds or held."""
    models = store.list()
    reports: list[FolderReport] = []
    for folder in store.folders():
        held = [model for model in models if model.folder.parent == folder.path]
        is_main = is_same_place(folder.path, store.models_folder)
        is_connected = folder.is_connected() or (is_main and not folder.mark)
        usage = shutil.disk_usage(nearest_existing(folder.path)) if is_connected else None
        is_own = is_same_place(folder.path, store.data_dir / "models")
        if not held and not is_main and (is_own or not folder.path.is_dir()):
            continue  # the data folder's own that was never used, or one that is gone and held nothing
        reports.append(
            FolderReport(
                path=str(folder.path),
                is_main=is_main,
                is_connected=is_connected and not any(model.state is ModelState.AWAY for model in held),
                models=len(held),
                nbytes=sum(model.nbytes for model in held),
                total_bytes=usage.total if usage else 0,
                free_bytes=usage.free if usage else 0,
                can_be_forgotten=not is_main and not is_own,
            )
        )
    return reports


def _places(store: ModelStore) -> Iterator[tuple[Path, bool]]:
    """Folders models could go to, and whether they may."""
    for folder in (store.models_folder, *store.connected()):
        yield folder, _is_writable(nearest_existing(folder))
    yield Path.home() / FOLDER_NAME, _is_writable(Path.home())
    for partition in psutil.disk_partitions(all=False):
        root = Path(partition.mountpoint)
        if not root.is_dir() or _is_of_the_system(root) or "ro" in partition.opts.split(","):
            continue
        is_writable = _is_writable(root)
        if is_writable or f"{root}/".startswith(_SHOWN_ANYWAY):
            yield root / FOLDER_NAME, is_writable


def _is_of_the_system(root: Path) -> bool:
    return any(root == Path(place) or Path(place) in root.parents for place in _OF_THE_SYSTEM)


def _is_writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)


def _mount_point(folder: Path) -> Path:
    return next((place for place in (folder, *folder.parents) if os.path.ismount(place)), folder)
