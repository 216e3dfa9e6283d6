"""From what a user typed to a checkpoint: a folder, a hub cache folder, a GGUF file, ``starter`` or a repo id. No torch.

Everything that can be refused is refused here, before torch is imported or a weight is read.
"""

from __future__ import annotations

import os
from pathlib import Path

from engine.errors import SourceError
from engine.store.checkpoint_folder import open_folder
from engine.store.file_format import FileFormat, read_head, recognise
from engine.store.gguf_file import open_gguf, open_starter
from engine.store.hub_cache import REPO_ID, find_repo, find_snapshot, is_repo_folder
from engine.store.source import STARTER, Source


def open_source(text: str | os.PathLike[str]) -> Source:
    """Raises ``SourceError`` or ``UnsupportedModel``, each with one sentence and a next step."""
    given = os.fspath(text).strip()
    if not given:
        raise SourceError("No model was given.", "Give a folder, a .gguf file, a hub name (owner/name) or “starter”.")
    path = Path(given).expanduser()
    if given == STARTER and not path.exists():
        return open_starter()
    if path.is_dir():
        folder = path.absolute()
        return open_folder(find_snapshot(folder) if is_repo_folder(folder) else folder)
    if path.exists():
        return _open_file(path.absolute())
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
            "Download its files with your browser or the hub's own tools and give their folder; "
            "this version of Strata does not download.",
        )
    return open_folder(find_snapshot(repo, match[3] or "main"))


def _open_file(path: Path) -> Source:
    found = recognise(read_head(path))
    if found is FileFormat.GGUF:
        return open_gguf(path)
    if found in (FileFormat.SAFETENSORS, FileFormat.PICKLE) or path.name == "config.json":
        raise SourceError(f"{path.name} is one file of a model.", f"Give the folder that holds it: {path.parent}")
    what = {
        FileFormat.HTML: "is a web page (HTML), not weights",
        FileFormat.LFS_POINTER: "is a git-lfs pointer: the real file was never downloaded",
        FileFormat.EMPTY: "is empty",
    }.get(found, "is not a model")
    raise SourceError(f"{path.name} {what}.", "Give a .gguf file, or a folder with config.json and weight files.")
