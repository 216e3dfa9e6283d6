"""Where a published Strata looks for newer ones and for runtimes: a file beside the program, if the build was told."""

from __future__ import annotations

import json
import os
from pathlib import Path

ADDRESS_VARIABLE = "STRATA_LIST_ADDRESS"
CHANNEL = "channel.json"
"""What app.bundle looks for."""


def write_channel(folder: Path) -> None:
    """A build that was told no address asks nobody for anything."""
    if address := os.environ.get(ADDRESS_VARIABLE):
        (folder / CHANNEL).write_text(json.dumps({"address": address}) + "\n", encoding="utf-8")
