"""From what a user typed to a checkpoint: a folder, a GGUF file, ``starter`` or a hub name. No torch.

Everything that can be refused is refused here, before torch is imported or a weight is read.
"""

from __future__ import annotations

import os
from pathlib import Path

from engine.errors import SourceError
from engine.store.checkpoint_folder import open_folder
from engine.store.download_folder import DownloadFolder
from engine.store.file_format import FileFormat, read_head, recognise
from engine.store.gguf_file import open_gguf, open_starter
from engine.store.hub_cache import REPO_ID, find_repo, find_snapshot, is_repo_folder
from engine.store.model_store import ModelState, ModelStore, StoredModel
from engine.store.original_files import are_unchanged, remaining_files
from engine.store.progress_journal import ProgressJournal
from engine.store.source import STARTER, Source


def open_source(text: str | os.PathLike[str], store: ModelStore | None = None, *, allows_code: bool = False) -> Source:
    """Raises ``SourceError`` or ``UnsupportedModel``, each with one sentence and a next step.

    With a ``store``, a source that is half deleted because it is being cut there is still recognised, and one that
    needs Python code of its own is opened where the user has allowed that code; ``allows_code`` is to allow it now.
    """
    given = os.fspath(text).strip()
    if not given:
        raise SourceError("No model was given.", "Give a folder, a .gguf file, a hub name (owner/name) or “starter”.")
    path = Path(given).expanduser()
    if given == STARTER and not path.exists():
        return open_starter()
    if path.is_file():
        return _open_file(absolute(path))
    folder = absolute(path) if path.is_dir() else _in_hub_cache(given)
    if is_repo_folder(folder):
        folder = find_snapshot(folder)
    if store is not None and (source := _half_deleted(folder, store)) is not None:
        return source
    try:
        return open_folder(folder, store, allows_code=allows_code)
    except SourceError as error:
        mark = DownloadFolder(folder).mark()
        if mark is not None and not mark.is_whole:
            raise SourceError(
                f"{mark.title} is only partly downloaded.", f"Go on with: {mark.command}", detail=error.message
            ) from error
        cut = [model for model in store.list() if _was_cut_from(model, folder)] if store is not None else []
        if not cut:
            raise
        raise SourceError(
            f"The weights in {folder} are no longer there; they were cut into {cut[0].name}.",
            f"Use that model: {cut[0].name}",
            detail=error.message,
        ) from error


def absolute(path: Path) -> Path:
    """Without ``..``, and with its links as they are: a hub cache is recognised by the place of its folders."""
    return Path(os.path.normpath(path.absolute()))


def _in_hub_cache(given: str) -> Path:
    """The cached snapshot of ``owner/name[@revision]``. Raises ``SourceError``."""
    match = REPO_ID.fullmatch(given)
    if match is None:
        raise SourceError(
            f"There is no folder or file {given}.",
            "Give a folder as a hub ships it, a .gguf file, a hub name (owner/name) or “starter”.",
        )
    repo = find_repo(match[1], match[2])
    if repo is None:
        raise SourceError(
            f"There is no folder {given}, and the hub cache on this machine does not hold that model.",
            f"Download it first with: download {given}",
        )
    return find_snapshot(repo, match[3] or "main")


def _half_deleted(folder: Path, store: ModelStore) -> Source | None:
    """The source as it was when its split was begun, if what is missing of it now is what the split deleted."""
    for source in store.find_begun(folder):
        missing = {file.name for file in source.record.files} - set(remaining_files(source))
        deleted = ProgressJournal(store.folder_for(source.record)).deleted()
        if missing and missing <= deleted and are_unchanged(source):
            return source
    return None


def _was_cut_from(model: StoredModel, folder: Path) -> bool:
    return model.state is ModelState.READY and model.source is not None and Path(model.source.path) == folder


def _open_file(path: Path) -> Source:
    found = recognise(read_head(path))
    if found is FileFormat.GGUF or path.suffix.lower() == ".gguf":
        return open_gguf(path)
    if found in (FileFormat.SAFETENSORS, FileFormat.PICKLE) or path.name == "config.json":
        raise SourceError(f"{path.name} is one file of a model.", f"Give the folder that holds it: {path.parent}")
    what = {
        FileFormat.HTML: "is a web page (HTML), not weights",
        FileFormat.LFS_POINTER: "is a git-lfs pointer: the real file was never downloaded",
        FileFormat.EMPTY: "is empty",
    }.get(found, "is not a model")
    raise SourceError(f"{path.name} {what}.", "Give a .gguf file, or a folder with config.json and weight files.")
