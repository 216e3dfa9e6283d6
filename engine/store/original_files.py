"""The weight files a split was cut from: which are still there, on which drive, and how one is deleted. No torch.

Nothing here decides that a file may go: the caller has read back and verified every block that replaces it.
"""

from __future__ import annotations

from pathlib import Path

from engine.store.manifest import SourceRecord
from engine.store.source import Source, root_of


def remaining_files(source: Source) -> dict[str, int]:
    """Sizes of the source's weight files that are still there, by name."""
    return {file.name: file.size for file in source.record.files if (source.root / file.name).is_file()}


def are_unchanged(source: Source) -> bool:
    """Whether the weight files that are still there have their recorded size and time."""
    for file in source.record.files:
        path = source.root / file.name
        if path.is_file():
            status = path.stat()
            if (status.st_size, status.st_mtime_ns) != (file.size, file.mtime_ns):
                return False
    return True


def are_current(record: SourceRecord) -> bool:
    """Whether every weight file is at its place with its recorded size and time."""
    root = root_of(record)
    try:
        found = [(root / file.name).stat() for file in record.files]
    except OSError:
        return False
    return [(entry.st_size, entry.st_mtime_ns) for entry in found] == [
        (file.size, file.mtime_ns) for file in record.files
    ]


def delete_weight_file(source: Source, name: str) -> int:
    """Deletes one weight file of a source, and in a hub cache the blob it links to. Returns the bytes freed.

    A blob that another revision links to stays, and so does what a link of the user's own points to. Raises
    ``OSError``, and ``ValueError`` for any other file.
    """
    if not source.is_deletable or name not in {file.name for file in source.record.files}:
        raise ValueError(f"{name} is not a weight file that may be deleted")
    path = source.root / name
    if not path.is_symlink():
        size = path.stat().st_size
        path.unlink()
        return size
    blob = path.resolve()
    # The link goes first: a link without its blob looks like a broken download, a blob without a link is garbage.
    path.unlink()
    repo = path.parent.parent.parent
    is_of_this_repo = blob.parent == (repo / "blobs").resolve()
    if not is_of_this_repo or any(other.resolve() == blob for other in (repo / "snapshots").glob("*/*")):
        return 0
    size = blob.stat().st_size
    blob.unlink()
    return size


def drive_of(path: Path) -> int:
    """A number that is equal for two places on the same file system, existing or not."""
    return nearest_existing(path).stat().st_dev


def nearest_existing(path: Path) -> Path:
    return next(parent for parent in [path, *path.parents] if parent.exists())
