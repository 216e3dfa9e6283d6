"""The weight files a split was cut from: which are still there, on which drive, and how one is deleted. No torch."""

from __future__ import annotations

from pathlib import Path

from engine.store.source import Source


def remaining_files(source: Source) -> dict[str, int]:
    """Sizes of the source's weight files that are still there, by name."""
    return {file.name: file.size for file in source.record.files if (source.root / file.name).is_file()}


def delete_weight_file(source: Source, name: str) -> int:
    """Deletes one weight file of a source, and in a hub cache the blob it links to. Returns the bytes freed.

    The caller has verified its replacement. Raises ``OSError``, ``ValueError`` for any other file.
    """
    if not source.is_deletable or name not in {file.name for file in source.record.files}:
        raise ValueError(f"{name} is not a weight file that may be deleted")
    path = source.root / name
    size = path.stat().st_size
    blob = path.resolve() if path.is_symlink() else None
    # The link goes first: a link without its blob looks like a broken download, a blob without a link is garbage.
    path.unlink()
    if blob is not None and blob.parent.name == "blobs" and blob.parent.parent in path.parents:
        blob.unlink()
    return size


def drive_of(path: Path) -> int:
    """A number that is equal for two places on the same file system."""
    return next(parent for parent in [path, *path.parents] if parent.exists()).stat().st_dev
