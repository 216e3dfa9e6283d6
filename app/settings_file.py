"""The settings on disk: one JSON object, replaced in one step, never half written.

Owns the file's format. Must not know which settings exist: names it does not know are kept as they are, so that a
newer version's choices survive an older one. No Qt.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FORMAT = 1


@dataclass(frozen=True, slots=True)
class SettingsContent:
    """``set_aside`` is where a file that could not be read was kept."""

    values: Mapping[str, object]
    set_aside: Path | None = None


def read_settings(path: Path) -> SettingsContent:
    """Empty where there is no file. A damaged file is set aside under another name. Raises ``OSError``."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return SettingsContent({})
    try:
        content = json.loads(raw)
        values = content["values"]
        if not isinstance(values, dict):
            raise TypeError("values is no object")
    except (ValueError, KeyError, TypeError):
        kept = path.with_suffix(".damaged.json")
        path.replace(kept)
        return SettingsContent({}, kept)
    return SettingsContent(values)


def write_settings(path: Path, values: Mapping[str, object]) -> None:
    """Writes beside the file, flushes to disk, then replaces it. Raises ``OSError``."""
    text = json.dumps({"format": FORMAT, "values": dict(values)}, ensure_ascii=False, indent=2, sort_keys=True)
    beside = path.with_suffix(".json.new")
    with beside.open("w", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
