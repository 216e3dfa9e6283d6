"""The hub's cache on this machine, ``models--owner--name/snapshots/<commit>``, linked into ``blobs``. No torch."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from engine.errors import SourceError

_REPO_FOLDER = re.compile(r"models--(.+)")
_COMMIT = re.compile(r"[0-9a-f]{40}")
REPO_ID = re.compile(r"([A-Za-z0-9][\w.-]{0,95})/([A-Za-z0-9][\w.-]{0,95})(?:@([\w./-]+))?")
"""``owner/name`` or ``owner/name@revision``."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One revision of a repository in the cache."""

    folder: Path
    owner: str
    name: str
    commit: str


def snapshot_of(folder: Path) -> Snapshot | None:
    """The snapshot that ``folder`` is, judged by its place, or None."""
    match = _REPO_FOLDER.fullmatch(folder.parent.parent.name)
    if match is None or folder.parent.name != "snapshots" or not _COMMIT.fullmatch(folder.name):
        return None
    owner, separator, name = match[1].partition("--")
    return Snapshot(folder, owner if separator else "hub", name if separator else owner, folder.name)


def is_repo_folder(folder: Path) -> bool:
    return _REPO_FOLDER.fullmatch(folder.name) is not None and (folder / "snapshots").is_dir()


def find_snapshot(repo: Path, revision: str = "main") -> Path:
    """The snapshot folder of a revision (a branch, tag or commit prefix). Raises ``SourceError``."""
    snapshots = repo / "snapshots"
    commits = sorted(entry.name for entry in snapshots.iterdir()) if snapshots.is_dir() else []
    reference = repo / "refs" / revision
    if reference.is_file() and (commit := reference.read_text().strip()) in commits:
        return snapshots / commit
    matching = [commit for commit in commits if commit.startswith(revision)]
    if revision == "main" and not reference.is_file():
        matching = commits
    if len(matching) == 1:
        return snapshots / matching[0]
    if not matching:
        raise SourceError(
            f"The hub cache holds no complete download of {_title(repo)} at “{revision}”.",
            "Download the model again, or give the folder that holds its files.",
        )
    raise SourceError(
        f"The hub cache holds {len(matching)} revisions of {_title(repo)}: {', '.join(c[:8] for c in matching)}.",
        f"Choose one, as in {_title(repo)}@{matching[0][:8]}",
    )


def find_repo(owner: str, name: str) -> Path | None:
    """The cache's folder of a repository, or None where it was never downloaded."""
    repo = cache_folder() / f"models--{owner}--{name}"
    return repo if repo.is_dir() else None


def cache_folder() -> Path:
    """Where the hub's tools keep their downloads (``HF_HUB_CACHE``, ``HF_HOME``, ``XDG_CACHE_HOME``)."""
    if cache := os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE"):
        return Path(cache).expanduser()
    home = os.environ.get("HF_HOME")
    if home:
        return Path(home).expanduser() / "hub"
    cache_home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache_home).expanduser() / "huggingface" / "hub"


def _title(repo: Path) -> str:
    return repo.name.removeprefix("models--").replace("--", "/", 1)
