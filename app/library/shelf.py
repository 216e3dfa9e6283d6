"""The models of the library as they are shown: searched, sorted, judged. Pure, no Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from app.catalogue import CatalogueEntry, find_entry
from app.estimates import Estimate, Pace, Shortage, estimate, pace_of, shape_of_split
from engine.api import MachineReport, ModelInfo


class Order(StrEnum):
    NAME = "name"
    SIZE = "size"
    SPEED = "speed"


@dataclass(frozen=True, slots=True)
class ShelfModel:
    """``found`` is None while the machine is not measured, and for a model that is not ready."""

    info: ModelInfo
    owner: str
    short: str
    found: Estimate | Shortage | None

    @property
    def pace(self) -> Pace | None:
        return pace_of(self.found.s_per_token) if isinstance(self.found, Estimate) else None


def shelve(
    models: Sequence[ModelInfo], catalogue: tuple[CatalogueEntry, ...], machine: MachineReport | None
) -> list[ShelfModel]:
    return [_shelf_model(info, find_entry(catalogue, info.title), machine) for info in models]


def arrange(models: Sequence[ShelfModel], words: str, order: Order) -> list[ShelfModel]:
    """Those that match every word: by name, largest first, or fastest first. What is not ready comes last."""
    wanted = words.casefold().split()
    matching = [model for model in models if all(word in _text(model) for word in wanted)]
    return sorted(matching, key=lambda model: (model.info.state != "ready", *_key(model, order)))


def total_bytes(models: Sequence[ShelfModel]) -> int:
    return sum(model.info.nbytes for model in models)


def is_download(model: ShelfModel, downloads: Path) -> bool:
    """Whether its original was fetched by Strata itself, into its folder of downloads."""
    return bool(model.info.source) and Path(model.info.source or "").is_relative_to(downloads)


def _shelf_model(info: ModelInfo, entry: CatalogueEntry | None, machine: MachineReport | None) -> ShelfModel:
    owner, _, short = info.title.rpartition("/")
    is_known = machine is not None and info.state == "ready"
    found = estimate(shape_of_split(info.nbytes, entry), machine) if is_known and machine is not None else None
    return ShelfModel(info, owner, short, found)


def _text(model: ShelfModel) -> str:
    info = model.info
    return " ".join((info.title, info.name, info.dtype or "", info.architecture or "", info.state)).casefold()


def _key(model: ShelfModel, order: Order) -> tuple[float, str]:
    name = model.short.casefold()
    if order is Order.SIZE:
        return -model.info.nbytes, name
    if order is Order.SPEED:
        return (model.found.s_per_token if isinstance(model.found, Estimate) else float("inf")), name
    return 0.0, name
