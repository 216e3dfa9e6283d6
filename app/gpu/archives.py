"""Unpacking what came from elsewhere: every name is looked at before the first byte is written.

Owns what an archive may hold: plain files and folders inside the target, each once on every file system. Runs in the
thread of whoever calls.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath

_CHUNK_BYTES = 1 << 20
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_NOT_IN_NAMES = re.compile(r'[\x00-\x1f\\:*?"<>|]')


class BadArchive(Exception):
    """One sentence for the log: what is wrong, and where."""


def unpack(
    archives: Sequence[Path], target: Path, *, nbytes: int, advanced: Callable[[int], None], check: Callable[[], None]
) -> None:
    """All of them into ``target``, which is made. ``nbytes`` is the size of everything in them, and never exceeded.

    ``advanced`` gets the bytes written so far; ``check`` may raise to stop. Returns once all of it is on the disk.
    Raises ``BadArchive`` and ``OSError``.
    """
    with ExitStack() as opened:
        try:
            members = [
                (archive, member)
                for archive in (opened.enter_context(zipfile.ZipFile(path)) for path in archives)
                for member in archive.infolist()
            ]
            _look_at(member for _, member in members)
            if (total := sum(member.file_size for _, member in members)) != nbytes:
                raise BadArchive(f"the archives say {total} bytes, the list {nbytes}")
            target.mkdir(parents=True)
            written = 0
            for archive, member in members:
                check()
                written = _write(archive, member, target, written, advanced, check)
            if hasattr(os, "sync"):  # one flush for thousands of files, before the folder gets its name
                os.sync()
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
            raise BadArchive(repr(error)) from error


def _look_at(members: Iterable[zipfile.ZipInfo]) -> None:
    """Before anything is written. Raises ``BadArchive``."""
    files: set[str] = set()
    folders: set[str] = set()
    for member in members:
        _require_plain(member)
        place = PurePosixPath(member.filename)
        key = _as_compared(place)
        if key in files or (not member.is_dir() and key in folders):
            raise BadArchive(f"{member.filename!r} is there twice, as some file systems see it")
        (folders if member.is_dir() else files).add(key)
        folders.update(_as_compared(parent) for parent in place.parents)
    if both := files & folders:
        raise BadArchive(f"{min(both)!r} is a file and a folder")


def _require_plain(member: zipfile.ZipInfo) -> None:
    name = member.orig_filename
    parts = name.removesuffix("/").split("/")
    if name.startswith("/") or _NOT_IN_NAMES.search(name) or name != member.filename:
        raise BadArchive(f"{name!r} is no relative name")
    if any(part in ("", ".", "..") or part != part.rstrip(". ") or _RESERVED.fullmatch(part) for part in parts):
        raise BadArchive(f"{name!r} leads elsewhere, or is no name on every system")
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or ((kind == stat.S_IFDIR) != member.is_dir() and kind):
        raise BadArchive(f"{name!r} is neither a file nor a folder")


def _as_compared(place: PurePosixPath) -> str:
    return unicodedata.normalize("NFC", str(place)).casefold()


def _write(
    archive: zipfile.ZipFile,
    member: zipfile.ZipInfo,
    target: Path,
    written: int,
    advanced: Callable[[int], None],
    check: Callable[[], None],
) -> int:
    """Bytes written in all by then. The archive's own checksum is compared as it is read."""
    path = target.joinpath(*PurePosixPath(member.filename).parts)
    if member.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        return written
    path.parent.mkdir(parents=True, exist_ok=True)
    left = member.file_size
    with archive.open(member) as source, path.open("xb") as file:
        while piece := source.read(_CHUNK_BYTES):
            left -= len(piece)
            if left < 0:
                raise BadArchive(f"{member.filename!r} is larger than it says")
            file.write(piece)
            written += len(piece)
            advanced(written)
            check()
        if not hasattr(os, "sync"):
            file.flush()
            os.fsync(file.fileno())
    if left:
        raise BadArchive(f"{member.filename!r} is smaller than it says")
    if (member.external_attr >> 16) & stat.S_IXUSR:
        path.chmod(0o755)
    return written
