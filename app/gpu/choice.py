"""Which of the published runtimes suits this program, this driver and this card. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.gpu.driver import Driver
from app.signed_list import RuntimeEntry

LABEL_FILE = "runtime.json"


@dataclass(frozen=True, slots=True)
class RuntimeLabel:
    """What two runtimes must agree in, to be laid over each other. ``torch`` without its build ("2.13.0")."""

    abi: str
    torch: str
    platform: str

    @property
    def folder_prefix(self) -> str:
        """How folders of runtimes for this program begin."""
        return f"{self.abi}-torch{self.torch}-"

    def suits(self, entry: RuntimeEntry) -> bool:
        return (self.abi, self.torch, self.platform) == (entry.abi, entry.torch, entry.platform)


@dataclass(frozen=True, slots=True)
class NothingSuits:
    """Why not. ``least_driver`` is the version that would help, () where none would; ``is_card_too_old``."""

    least_driver: tuple[int, ...] = ()
    is_card_too_old: bool = False


def read_label(folder: Path) -> RuntimeLabel | None:
    """Of a folder of packages; None where it has none that can be read."""
    try:
        row = json.loads((folder / LABEL_FILE).read_text(encoding="utf-8"))
        return RuntimeLabel(str(row["abi"]), str(row["torch"]).partition("+")[0], str(row["platform"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def choose_runtime(label: RuntimeLabel, driver: Driver, entries: Sequence[RuntimeEntry]) -> RuntimeEntry | NothingSuits:
    """The newest CUDA that the driver serves and at least one card can use."""
    ours = [entry for entry in entries if label.suits(entry)]
    usable = [entry for entry in ours if _serves_card(entry, driver)]
    ready = [entry for entry in usable if entry.least_driver <= driver.version]
    if ready:
        return max(ready, key=lambda entry: runtime_order(entry.folder_name))
    if usable:
        return NothingSuits(least_driver=min(entry.least_driver for entry in usable))
    return NothingSuits(is_card_too_old=bool(ours))


def runtime_order(name: str) -> tuple[int, ...]:
    """To compare folders of runtimes for one program: a newer CUDA counts more than what was packed later."""
    return tuple(map(int, re.findall(r"\d+", name)))


def _serves_card(entry: RuntimeEntry, driver: Driver) -> bool:
    """Cards whose capability nobody told are given the benefit of the doubt: the trial decides."""
    return not driver.cards or any(not card.compute or card.compute >= entry.least_compute for card in driver.cards)
