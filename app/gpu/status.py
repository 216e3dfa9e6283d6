"""Whether and how an NVIDIA card is computed with, as a value: all there is to show. Knows no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.gpu.meter import Amount
from app.signed_list import RuntimeEntry
from engine.errors import EngineError


class GpuState(StrEnum):
    """``HIDDEN``: nothing to offer here. ``OFFERED``: the user has seen what it takes and is asked once more."""

    HIDDEN = "hidden"
    AVAILABLE = "available"
    ASKING = "asking"
    OFFERED = "offered"
    FETCHING = "fetching"
    UNPACKING = "unpacking"
    TRYING = "trying"
    IN_USE = "in use"
    SET_ASIDE = "set aside"
    REMOVING = "removing"


@dataclass(frozen=True, slots=True)
class Offer:
    """``need`` bytes on the drive while it is installed, ``download`` of them still to come; ``free`` there now."""

    entry: RuntimeEntry
    download: int
    need: int
    free: int


@dataclass(frozen=True, slots=True)
class GpuStatus:
    """All there is to show. ``problem`` is why the last wish was not fulfilled, ``said`` what goes on just now.

    ``reason`` is why an installed runtime is set aside; ``card`` is "" where it is not known by name. ``can_ask``:
    there are a driver and a list to choose from; ``has_newer``: the list that was seen last has a newer one.
    """

    state: GpuState = GpuState.HIDDEN
    card: str = ""
    driver: str = ""
    offer: Offer | None = None
    amount: Amount | None = None
    said: str = ""
    problem: EngineError | None = None
    reason: str = ""
    downloaded: int = 0
    installed: int = 0
    is_card_missing: bool = False
    can_ask: bool = False
    has_newer: bool = False

    @property
    def is_busy(self) -> bool:
        """Whether something would be cut short by quitting."""
        return self.state in (GpuState.FETCHING, GpuState.UNPACKING, GpuState.TRYING)
