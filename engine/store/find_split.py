"""Which finished split a text means: a name of the store, a split's folder, or what one was cut from. No torch."""

from __future__ import annotations

from pathlib import Path

from engine.errors import EngineError, ModelNotFound
from engine.store.hub_cache import REPO_ID
from engine.store.manifest import MANIFEST_NAME
from engine.store.model_store import ModelStore
from engine.store.open_source import absolute, open_source
from engine.store.source import STARTER


def find_split(text: str, store: ModelStore) -> Path | None:
    """The split's folder; None for a source that is not cut yet.

    An original that is deleted, wholly or in part, is known by where it was. Raises ``EngineError`` for what is
    neither a model of the store nor a source.
    """
    path = Path(text).expanduser()
    if (path / MANIFEST_NAME).is_file():
        return path.absolute()
    if text == STARTER and not path.exists():
        return _starter(store)
    if path.exists():
        return _cut_from(text, absolute(path), store)
    try:
        return store.resolve(text)
    except ModelNotFound:
        if text and (cut := store.find_cut_from(absolute(path))):
            return cut[0].folder
        if REPO_ID.fullmatch(text):
            return None
        raise


def _starter(store: ModelStore) -> Path | None:
    """Installers carry it already cut, without the package it came in."""
    try:
        record = open_source(STARTER).record
    except EngineError as error:
        try:
            return store.resolve(STARTER)
        except ModelNotFound:
            raise error from None
    return store.folder_for(record) if store.find_finished(record) else None


def _cut_from(text: str, path: Path, store: ModelStore) -> Path | None:
    try:
        record = open_source(text, store).record
    except EngineError:
        if cut := store.find_cut_from(path):
            return cut[0].folder
        raise
    return store.folder_for(record) if store.find_finished(record) else None
