"""How often each expert of a split was used, kept between runs in a small file beside its blocks.

Experts are not read ahead for it: a prompt passes through most of a layer's experts anyway, and what would be read
meanwhile has to wait. The counts decide which of them stay.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.store.manifest import ExpertsEntry
from engine.store.progress_journal import write_durably
from engine.streaming.expert_cache import ExpertKey

log = logging.getLogger(__name__)

USES_NAME = "expert-uses.json"
LEAST_USES = 0.01
"""Below that an expert counts as never used."""


class ExpertUses:
    """The file of one split. What is no longer true of it only costs reading some experts again, so nothing fails."""

    def __init__(self, folder: Path, entries: Sequence[ExpertsEntry]) -> None:
        self._path = folder / USES_NAME
        self._counts = [entry.count for entry in entries]
        self._shape = [[entry.module, entry.count] for entry in entries]

    def read(self) -> dict[ExpertKey, float]:
        """Uses by module and expert as they were at the end of the last run; none where they are of another model."""
        try:
            data: Any = json.loads(self._path.read_bytes())
            if data["experts"] != self._shape:
                return {}
            found = {(int(m), int(e)): float(uses) for m, row in enumerate(data["uses"]) for e, uses in row}
        except (OSError, ValueError, KeyError, TypeError) as error:
            if not isinstance(error, FileNotFoundError):
                log.warning("%s is not used: %r", self._path, error)
            return {}
        return {
            (m, e): uses
            for (m, e), uses in found.items()
            if m < len(self._counts) and 0 <= e < self._counts[m] and LEAST_USES <= uses < math.inf
        }

    def write(self, uses: Mapping[ExpertKey, float]) -> None:
        """Replaces the file in one step. A folder that cannot be written keeps no counts."""
        rows: list[list[tuple[int, float]]] = [[] for _ in self._shape]
        for (module, expert), value in sorted(uses.items()):
            if value >= LEAST_USES:
                rows[module].append((expert, round(value, 3)))
        try:
            write_durably(self._path, json.dumps({"experts": self._shape, "uses": rows}).encode())
        except OSError as error:
            log.info("%s is not kept: %r", self._path, error)
