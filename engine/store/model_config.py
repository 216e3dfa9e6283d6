"""The config of a finished split, as plain data. No torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.errors import DamagedFile


def read_config(folder: Path) -> dict[str, Any]:
    """config.json of a split as it is. Raises ``DamagedFile``."""
    try:
        config: Any = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if not isinstance(config, dict):
            raise ValueError("not an object")
        return config
    except (OSError, ValueError, RecursionError) as error:
        raise DamagedFile(
            f"config.json in {folder} cannot be read.",
            "Repair it with verify --repair.",
            files=("config.json",),
            detail=repr(error),
        ) from error
