"""The models of the library as they are shown: searched, sorted, judged. Pure, no Qt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from app.catalogue import CatalogueEntry, find_entry
from app.estimates import Estimate, Pace, Shortage, estimate, pace_of, shape_of_name, shape_of_weights
from engine.api import MachineReport, ModelInfo


class Order(StrEnum):
    NAME = "name"
    SIZE = "size"
    SPEED = "speed"
    USED = "used"


@dataclass(frozen=True, slots=True)
class ShelfModel:
    """``found`` is None while the machine is not measured, and for a model that is not ready.

    ``used_at`` is when it was last asked for an answer, in seconds since 1970, None where it never was.
    """

    info: ModelInfo
    owner: str
    short: str
    found: Estimate | Shortage | None
    used_at: float | None = None

    @property
    def pace(self) -> Pace | None:
        return pace_of(self.found.s_per_token) if isinstance(self.found, Estimate) else None


def shelve(
    models: Sequence[ModelInfo],
    catalogue: tuple[CatalogueEntry, ...],
    machine: MachineReport | None,
    last_used: Mapping[str, float] | None = None,
    speed_of: Callable[[Path], float | None] = lambda _folder: None,
) -> list[ShelfModel]:
    """``last_used`` by a model's name or folder, as chats have it. ``speed_of`` a folder of models is that of its drive
    in bytes per second, None where the machine's own counts.
    """
    used: dict[str, float] = {}
    for model, at in (last_used or {}).items():
        name = Path(model).name
        used[name] = max(at, used.get(name, 0.0))
    return [
        _shelf_model(
            info, find_entry(catalogue, info.title), _machine_for(info, machine, speed_of), used.get(info.name)
        )
        for info in models
    ]


def arrange(models: Sequence[ShelfModel], words: str, order: Order) -> list[ShelfModel]:
    """Those that match every word: by name, largest, fastest or latest used first. What is not ready comes last."""
    wanted = words.casefold().split()
    matching = [model for model in models if all(word in _text(model) for word in wanted)]
    return sorted(matching, key=lambda model: (model.info.state != "ready", *_key(model, order)))


def total_bytes(models: Sequence[ShelfModel]) -> int:
    return sum(model.info.nbytes for model in models)


def is_download(model: ShelfModel, downloads: Path) -> bool:
    """Whether its original was fetched by Strata itself, into a folder of downloads."""
    source = Path(model.info.source or "")
    return source.is_relative_to(downloads) or source.parent.name == ".downloads"


def _machine_for(
    info: ModelInfo, machine: MachineReport | None, speed_of: Callable[[Path], float | None]
) -> MachineReport | None:
    """The machine, reading from the drive the model is on."""
    speed = speed_of(Path(info.path).parent)
    return machine if machine is None or speed is None else replace(machine, disk_bytes_per_second=speed)


def _shelf_model(
    info: ModelInfo, entry: CatalogueEntry | None, machine: MachineReport | None, used_at: float | None
) -> ShelfModel:
    owner, _, short = info.title.rpartition("/")
    is_known = machine is not None and info.state == "ready"
    shape = shape_of_weights(info.weights, entry) if info.weights else shape_of_name(info.title, info.nbytes, entry)
    found = estimate(shape, machine) if is_known and machine is not None else None
    return ShelfModel(info, owner, short, found, used_at)


def _text(model: ShelfModel) -> str:
    info = model.info
    return " ".join((info.title, info.name, info.dtype or "", info.architecture or "", info.state)).casefold()


def _key(model: ShelfModel, order: Order) -> tuple[float, str]:
    name = model.short.casefold()
    if order is Order.SIZE:
        return -model.info.nbytes, name
    if order is Order.SPEED:
        return (model.found.s_per_token if isinstance(model.found, Estimate) else float("inf")), name
    if order is Order.USED:
        return -(model.used_at or 0.0), name
    return 0.0, name
