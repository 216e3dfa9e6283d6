"""Runtimes on the disk: which is in use, what is being fetched, what may go. Small and quick; no network, no Qt.

``DATA/runtimes/`` holds a folder for each runtime, ``.download/`` with what has come of the next, ``.staging/`` while
one is unpacked, ``.away-…`` for what is being deleted, and ``state.json``, which is replaced as a whole: a change of
the runtime in use happens in one step or not at all.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from app.gpu.part_download import ETAG_SUFFIX, bytes_there
from app.signed_list import Part, RuntimeEntry

log = logging.getLogger(__name__)

RENAME_TRIES = 20
RENAME_WAIT_S = 0.5


@dataclass(frozen=True, slots=True)
class Kept:
    """``in_use`` and ``set_aside`` are names of folders; the latter is not used because of ``reason``, a sentence.

    ``is_installing``: the program ended while it fetched or tried one, and goes on at its next start.
    """

    in_use: str = ""
    set_aside: str = ""
    reason: str = ""
    is_installing: bool = False


class RuntimeFolders:
    """Raises ``OSError`` where it writes."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, name: str) -> Path:
        return self.root / name

    @property
    def staging(self) -> Path:
        return self.root / ".staging"

    @property
    def trial(self) -> Path:
        """The data folder of the engine that tries a runtime."""
        return self.root / ".trial"

    def archive(self, part: Part) -> Path:
        """Named by its digest: parts of another version are never mixed with it."""
        return self.root / ".download" / f"{part.sha256[:24]}.zip"

    def read(self) -> Kept:
        return self._read() or Kept()

    def _read(self) -> Kept | None:
        """None where nobody can tell."""
        try:
            row = json.loads((self.root / "state.json").read_text(encoding="utf-8"))
            return Kept(str(row["in_use"]), str(row["set_aside"]), str(row["reason"]), bool(row["is_installing"]))
        except FileNotFoundError:
            return Kept()
        except (OSError, ValueError, TypeError, KeyError) as error:
            log.warning("%s cannot be read (%r), so no runtime is in use", self.root / "state.json", error)
            return None

    def write(self, kept: Kept) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        fresh = self.root / "state.json.new"
        with fresh.open("w", encoding="utf-8") as file:
            json.dump(asdict(kept), file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.root / "state.json")

    def missing_bytes(self, entry: RuntimeEntry) -> int:
        """Still to download."""
        return sum(max(part.nbytes - bytes_there(self.archive(part)), 0) for part in entry.parts)

    def downloaded_bytes(self) -> int:
        """Of whatever was begun."""
        return sum(path.stat().st_size for path in (self.root / ".download").glob("*") if path.suffix != ETAG_SUFFIX)

    def discard_download(self) -> None:
        shutil.rmtree(self.root / ".download", ignore_errors=True)

    def remove(self, name: str) -> None:
        """Out of the way in one step, then deleted: what is killed meanwhile is swept at the next start."""
        away = self.root / f".away-{uuid.uuid4().hex}"
        try:
            rename_folder(self.folder(name), away)
        except FileNotFoundError:
            return
        shutil.rmtree(away, ignore_errors=True)

    def sweep(self) -> None:
        """What an earlier run left half done, and runtimes that nothing points to; nothing where nobody can tell."""
        kept = self._read()
        if kept is None or not self.root.is_dir():
            return
        named = {kept.in_use, kept.set_aside, ".download", "state.json"}
        for path in list(self.root.iterdir()):
            is_begun = kept.is_installing and not path.name.startswith(".")
            if path.name in named or is_begun:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def rename_folder(folder: Path, target: Path) -> None:
    """On Windows a virus scanner may hold what was just written, for some seconds."""
    for _ in range(RENAME_TRIES):
        try:
            folder.rename(target)
        except PermissionError:
            if os.name != "nt":
                raise
            time.sleep(RENAME_WAIT_S)
        else:
            return
    folder.rename(target)


def nbytes_of(folder: Path) -> int:
    """Of all files in it, 0 where it is not there."""
    return sum(each.lstat().st_size for each in folder.rglob("*") if each.is_file())
