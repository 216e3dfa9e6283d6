"""The licences of everything an installed program carries: an index and the texts it names, in one folder.

Owns the index's format. ``packaging/licences.py`` writes it, the dialog under About shows it. Knows no Qt.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

INDEX = "licences.json"


@dataclass(frozen=True, slots=True)
class Licence:
    """``files`` are names in the folder; ``licence`` is its name, ``page`` where the source is, "" where not known."""

    name: str
    version: str
    licence: str
    page: str
    files: tuple[str, ...]


def write_index(folder: Path, licences: Sequence[Licence]) -> None:
    index = json.dumps([asdict(each) for each in licences], indent=1, ensure_ascii=False)
    (folder / INDEX).write_text(index + "\n", encoding="utf-8")


def read_licences(folder: Path) -> list[Licence]:
    """Raises ``OSError``, ``ValueError`` or ``KeyError`` where the folder is not what an installer put there."""
    rows: list[dict[str, Any]] = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    return [
        Licence(row["name"], row["version"], row["licence"], row["page"], tuple(map(str, row["files"]))) for row in rows
    ]


def licence_text(folder: Path, licence: Licence) -> str:
    texts = [(folder / name).read_text(encoding="utf-8", errors="replace").strip() for name in licence.files]
    head = "\n".join(part for part in (f"{licence.name} {licence.version}", licence.licence, licence.page) if part)
    return "\n\n\n".join([head, *texts]) + "\n"
