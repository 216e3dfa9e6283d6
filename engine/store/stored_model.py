"""One model of the store as its folder shows it: state, size, source, and which names mean it. No torch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from engine.errors import DamagedFile
from engine.store.manifest import MANIFEST_NAME, PROGRESS_FOLDER, Manifest, SourceRecord, read_manifest
from engine.store.original_files import are_current
from engine.store.progress_journal import SOURCE_NAME, read_source
from engine.store.source import LOCAL_OWNER, STARTER

_STARTER_FOLDER = "HuggingFaceTB--SmolLM2-135M-Instruct@"


class ModelState(StrEnum):
    """UNFINISHED can be resumed; DAMAGED has a manifest that cannot be read; AWAY is on a drive that is not
    connected.
    """

    READY = "ready"
    UNFINISHED = "unfinished"
    DAMAGED = "damaged"
    AWAY = "away"


@dataclass(frozen=True, slots=True)
class StoredModel:
    """One folder of the store. ``nbytes`` is what it takes on disk now, or took when it was last seen.

    ``name`` is unique: the folder's name, for a further copy of the same model its path. ``manifest`` is None unless
    the model is ready; ``source`` is None where it is damaged, and has no files where it is away.
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
        return f"{self.source.owner}/{self.source.name}" if self.source else self.folder.name


def describe_model(folder: Path) -> StoredModel | None:
    """None for a folder that is no model at all. Raises ``OSError`` where its drive goes meanwhile."""
    if folder.name.startswith("."):
        return None
    has_manifest = (folder / MANIFEST_NAME).is_file()
    unfinished = read_source(folder)
    if not has_manifest and unfinished is None and not (folder / PROGRESS_FOLDER / SOURCE_NAME).exists():
        return None
    nbytes = bytes_below(folder)
    if not has_manifest:
        state = ModelState.DAMAGED if unfinished is None else ModelState.UNFINISHED
        return StoredModel(folder.name, folder, state, nbytes, unfinished.record if unfinished else None, None)
    try:
        manifest = read_manifest(folder)
    except DamagedFile:
        return StoredModel(folder.name, folder, ModelState.DAMAGED, nbytes, None, None)
    return StoredModel(folder.name, folder, ModelState.READY, nbytes, manifest.source, manifest)


def bytes_below(folder: Path) -> int:
    """What a folder takes on disk. Files may go while it is read: another process may be cutting or removing it."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += Path(place, name).stat().st_size
    return total


def is_meant(model: StoredModel, name: str) -> bool:
    """Whether ``name`` is one of the model's many names."""
    if name == model.name:
        return True
    wanted, _, revision = name.partition("@")
    if wanted == STARTER:
        return model.folder.name.startswith(_STARTER_FOLDER)
    folder_name, _, folder_revision = model.folder.name.partition("@")
    owner, _, short = folder_name.partition("--")
    names = {folder_name, f"{owner}/{short}", short}
    full = folder_revision
    if model.source is not None:
        names |= {model.title, model.source.name}
        full = model.source.revision if len(revision) > len(folder_revision) else folder_revision
    return wanted.casefold() in {entry.casefold() for entry in names} and full.startswith(revision)


def choose_one(models: Sequence[StoredModel]) -> StoredModel | None:
    """Of models that one name means the one that is certainly meant; None where a person must say.

    Copies of one model are the same: the first. Of splits of the same local path at different times it is that of
    what is there now, else the newest.
    """
    if len({model.folder.name for model in models}) == 1:
        return models[0]
    sources = [model.source for model in models if model.source is not None]
    if len({(source.owner, source.path) for source in sources}) != 1 or sources[0].owner != LOCAL_OWNER:
        return None
    current = [model for model in models if model.source is not None and are_current(model.source)]
    return max(current or models, key=when_cut)


def when_cut(model: StoredModel) -> int:
    try:
        return (model.folder / MANIFEST_NAME).stat().st_mtime_ns
    except OSError:
        return 0
