"""What an unfinished split knows of itself: its source, and the blocks that are safely on disk. No torch.

Lives in ``.progress`` inside the split and goes with it when the split is finished. Lines are appended and
flushed after a block's file is in place, so a line that is there is true; a torn last line is ignored.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.store.manifest import PROGRESS_FOLDER, BlockEntry, block_from_dict
from engine.store.source import Source, source_from_json
from engine.weights.direct_io import sync_folder

SOURCE_NAME = "source.json"
HOW_NAME = "how.json"
DONE_NAME = "done.jsonl"
DELETED_NAME = "deleted.txt"
PARTS_NAME = "parts.jsonl"


@dataclass(frozen=True, slots=True)
class BegunPart:
    """The first ``nbytes`` of a block's file, and their sha256."""

    nbytes: int
    sha256: str


def read_source(split: Path) -> Source | None:
    """The source an unfinished split was begun from, or None where there is none or it is unreadable."""
    try:
        return source_from_json((split / PROGRESS_FOLDER / SOURCE_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return None


class ProgressJournal:
    """The journal of one split. One process at a time: the caller holds the model's lock."""

    def __init__(self, split: Path) -> None:
        self.folder = split / PROGRESS_FOLDER
        self._split = split

    def begin(self, source: Source, engine: str, untied: frozenset[str]) -> None:
        """Records what is being cut and by which version of the conversion. Replaces any earlier journal."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in (SOURCE_NAME, DONE_NAME, DELETED_NAME, PARTS_NAME):
            (self.folder / name).unlink(missing_ok=True)
        how = {"engine": engine, "untied": sorted(untied)}
        write_durably(self.folder / HOW_NAME, json.dumps(how).encode())
        write_durably(self.folder / SOURCE_NAME, source.to_json().encode())

    def source(self) -> Source | None:
        return read_source(self._split)

    def engine(self) -> str | None:
        """What cut the blocks that are done, or None."""
        return self._how().get("engine")

    def untied(self) -> frozenset[str]:
        """The names that were found untied; the tensors that told so may be deleted by now."""
        return frozenset(self._how().get("untied", ()))

    def _how(self) -> dict[str, Any]:
        try:
            return json.loads((self.folder / HOW_NAME).read_bytes())
        except (OSError, ValueError):
            return {}

    def part_path(self, block_name: str) -> Path:
        return self.folder / f"{block_name}.safetensors.part"

    def remove_parts(self) -> None:
        """Files that an earlier run has begun, but those that can be gone on with."""
        kept = {self.part_path(name) for name in self.begun()}
        for part in self.folder.glob("*.part"):
            if part not in kept:
                part.unlink()

    def record_part(self, block_name: str, part: BegunPart) -> None:
        """Call only when so much of a block's part is flushed; with no bytes before it is begun anew."""
        self._append(PARTS_NAME, json.dumps([block_name, part.nbytes, part.sha256]))

    def begun(self) -> dict[str, BegunPart]:
        """What is known to be on the disk of blocks that are not done, by name."""
        found: dict[str, BegunPart] = {}
        for line in self._lines(PARTS_NAME):
            try:
                name, nbytes, sha256 = line
                is_there = 0 < nbytes <= self.part_path(name).stat().st_size
            except (OSError, TypeError, ValueError):
                continue
            found.pop(name, None)
            if is_there:
                found[name] = BegunPart(nbytes, sha256)
        return found

    def append(self, entry: BlockEntry) -> None:
        """Call only when the block's file is in place and flushed."""
        self._append(DONE_NAME, json.dumps(asdict(entry), sort_keys=True))

    def record_deletion(self, file: str) -> None:
        """Call just before a weight file of the source is deleted: its absence is then known to be ours."""
        if self.folder.is_dir():
            self._append(DELETED_NAME, json.dumps(file))

    def deleted(self) -> frozenset[str]:
        """Weight files of the source that were deleted, or were about to be."""
        return frozenset(name for name in self._lines(DELETED_NAME) if isinstance(name, str))

    def done(self) -> dict[str, BlockEntry]:
        """Blocks recorded as done whose file is in place with its full size, by name."""
        blocks: dict[str, BlockEntry] = {}
        for line in self._lines(DONE_NAME):
            try:
                entry = block_from_dict(line)
                if (self._split / entry.file).stat().st_size == entry.size:
                    blocks[entry.name] = entry
            except (OSError, KeyError, TypeError):
                continue
        return blocks

    def end(self) -> None:
        """Takes the journal away: the split is finished."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _append(self, name: str, line: str) -> None:
        is_new = not (self.folder / name).exists()
        with (self.folder / name).open("ab") as file:
            # The leading newline keeps this line whole behind one that was torn.
            file.write(f"\n{line}\n".encode())
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            sync_folder(self.folder)

    def _lines(self, name: str) -> list[Any]:
        try:
            lines = (self.folder / name).read_bytes().split(b"\n")
        except OSError:
            return []
        found: list[Any] = []
        for line in lines:
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return found


def write_durably(path: Path, data: bytes) -> None:
    """Replaces a small file in one step; after a power cut it is the old one or the new one."""
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)
