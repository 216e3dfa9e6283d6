"""The last measurement of this computer, kept so that pages can say seconds without measuring again. No Qt."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.api import DeviceReport, MachineReport

log = logging.getLogger(__name__)

MACHINE_FILE_NAME = "machine.json"


def write_machine(path: Path, machine: MachineReport) -> None:
    """A record that cannot be written is measured again next time."""
    fresh = path.with_name(f"{path.name}.new")
    try:
        fresh.write_text(json.dumps(asdict(machine)), encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        log.warning("the measurement of this computer could not be saved in %s: %r", path, error)


def read_machine(path: Path) -> MachineReport | None:
    """None where nothing was measured yet, or what is there is of another version."""
    try:
        row: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        devices = tuple(DeviceReport(**device) for device in row.pop("devices"))
        return MachineReport(**row, devices=devices)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
