"""The ledger on disk: bytes read and written on each day, in one JSON object that is replaced in one step. No Qt.

Owns the file's format. Must not know who moves the bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, cast

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Tally:
    """Bytes that went through drives."""

    bytes_read: int = 0
    bytes_written: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.bytes_read + other.bytes_read, self.bytes_written + other.bytes_written)


def read_ledger(path: Path) -> dict[date, Tally]:
    """Empty where there is no file. One that cannot be read is set aside and the counting begins anew."""
    try:
        content = json.loads(path.read_bytes())
        days = cast("dict[str, Any]", content["days"])
        return {date.fromisoformat(day): _tally(each) for day, each in days.items()}
    except OSError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError):
        path.replace(path.with_suffix(".damaged.json"))
        return {}


def write_ledger(path: Path, days: Mapping[date, Tally]) -> None:
    """Durable when it returns; the old file or the new one is there, whatever happens. Raises ``OSError``."""
    rows = {f"{day}": {"read": each.bytes_read, "written": each.bytes_written} for day, each in sorted(days.items())}
    beside = path.with_suffix(".json.new")
    with beside.open("w", encoding="utf-8") as file:
        json.dump({"format": FORMAT, "days": rows}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _tally(row: Mapping[str, Any]) -> Tally:
    return Tally(max(int(row["read"]), 0), max(int(row["written"]), 0))
