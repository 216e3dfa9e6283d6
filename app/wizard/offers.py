"""What the wizard offers on this computer, in which order, and the one it recommends. Pure, no Qt.

An offer always has something behind it: it can be used now, downloaded (only where the engine offers that), brought
as files by the user, or it says that a later version is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.catalogue import CatalogueEntry, find_entry
from app.estimates import Estimate, Pace, Shortage, disk_need, estimate, pace_of, shape_of, shape_of_name
from app.wizard.flow import STARTER_SOURCE
from app.wizard.found_models import FoundModel
from engine.api import HubModel, MachineReport

MOST_RECOMMENDED_BYTES = 20_000_000_000
"""To be fetched: an hour with a usual line of 50 Mbit/s. Whoever wants more chooses it."""

FLOOR_BYTES = 2_000_000_000
"""Kept free on the drive, as the engine keeps it (``engine.store.disk_plan``)."""


class Action(StrEnum):
    USE = "use"
    DOWNLOAD = "download"
    BRING = "bring"
    """The user puts the files on this computer and chooses them."""
    LATER = "later"
    """This version cannot run it."""


@dataclass(frozen=True, slots=True)
class Offer:
    """``source`` is what ``Engine.plan`` takes. ``found`` is None while the machine, or the model, is unknown.

    ``nbytes`` is what its weights take where they come from, 0 while unknown; ``entry`` what the catalogue knows of
    it. ``note`` is a sentence of the hub or the engine about it; ``is_gated``: its publisher asks for permission.
    """

    title: str
    source: str
    action: Action
    nbytes: int
    entry: CatalogueEntry | None
    found: Estimate | Shortage | None
    place: str = ""
    is_gated: bool = False
    note: str = ""

    @property
    def pace(self) -> Pace | None:
        return pace_of(self.found.s_per_token) if isinstance(self.found, Estimate) else None


def catalogue_offers(
    catalogue: tuple[CatalogueEntry, ...],
    machine: MachineReport | None,
    found: Sequence[FoundModel],
    *,
    can_download: bool,
) -> list[Offer]:
    """One for each row, in the catalogue's order. What is on the computer already is used, not fetched again."""
    here = {model.title.casefold(): model for model in found}
    return [_offer_of(entry, machine, here.get(entry.repo.casefold()), can_download) for entry in catalogue]


def found_offers(
    catalogue: tuple[CatalogueEntry, ...], machine: MachineReport | None, found: Sequence[FoundModel]
) -> list[Offer]:
    """What other programs left here. The cost of a GGUF file is known only once the engine looked inside."""
    return [_offer_of_found(model, find_entry(catalogue, model.title), machine) for model in found]


def hub_offers(
    catalogue: tuple[CatalogueEntry, ...], machine: MachineReport | None, hits: Sequence[HubModel]
) -> list[Offer]:
    """Hits of a search, in the hub's order, judged by what the catalogue or else their parameters say."""
    return [_offer_of_hit(hit, find_entry(catalogue, hit.repo), machine) for hit in hits]


def recommend(offers: Sequence[Offer], machine: MachineReport | None) -> Offer | None:
    """The largest model that answers comfortably here, fits on the drive and needs no permission; else the starter."""
    starter = next((offer for offer in offers if offer.source == STARTER_SOURCE), None)
    fitting = [offer for offer in offers if machine is not None and _is_good(offer, machine)]
    best = max(fitting, key=lambda offer: offer.entry.parameters if offer.entry else 0, default=None)
    return best or starter


def matches(offer: Offer, words: str) -> bool:
    """Whether every word is somewhere in the offer's names, licence or languages."""
    entry = offer.entry
    known = [entry.repo, entry.licence, *entry.languages.values()] if entry else []
    text = " ".join([offer.title, offer.source, *known]).casefold()
    return all(word in text for word in words.casefold().split())


def _offer_of(
    entry: CatalogueEntry, machine: MachineReport | None, here: FoundModel | None, can_download: bool
) -> Offer:
    action = Action.DOWNLOAD if can_download else Action.BRING
    source, place = entry.repo, ""
    if entry.is_bundled:
        action, source = Action.USE, STARTER_SOURCE
    elif here is not None:
        action, source, place = Action.USE, here.source, str(here.place)
    found = estimate(shape_of(entry), machine) if machine is not None else None
    return Offer(entry.title, source, action, entry.weight_bytes, entry, found, place, entry.is_gated)


def _offer_of_found(model: FoundModel, entry: CatalogueEntry | None, machine: MachineReport | None) -> Offer:
    is_known = machine is not None and model.place.suffix != ".gguf"
    found = (
        estimate(shape_of_name(model.title, model.nbytes, entry), machine) if is_known and machine is not None else None
    )
    return Offer(model.title, model.source, Action.USE, model.nbytes, entry, found, str(model.place))


def _offer_of_hit(hit: HubModel, entry: CatalogueEntry | None, machine: MachineReport | None) -> Offer:
    nbytes = hit.nbytes or 2 * (hit.parameters or 0)
    is_known = machine is not None and nbytes > 0
    found = estimate(shape_of_name(hit.repo, nbytes, entry), machine) if is_known and machine is not None else None
    action = Action.LATER if hit.reason else Action.DOWNLOAD
    return Offer(hit.repo, hit.repo, action, nbytes, entry, found, is_gated=hit.is_gated, note=hit.reason)


def _is_good(offer: Offer, machine: MachineReport) -> bool:
    entry = offer.entry
    if entry is None or offer.action not in (Action.USE, Action.DOWNLOAD):
        return False
    if offer.source == STARTER_SOURCE:
        return False
    if offer.action is Action.DOWNLOAD and (entry.is_gated or entry.weight_bytes > MOST_RECOMMENDED_BYTES):
        return False
    need = disk_need(entry) if offer.action is Action.DOWNLOAD else entry.loaded_bytes
    is_quick = offer.pace in (Pace.INSTANT, Pace.COMFORTABLE)
    return is_quick and need + FLOOR_BYTES <= machine.disk_free_bytes
