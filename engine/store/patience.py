"""How often something on the network is tried again, and how long to wait before. Pure, but for the waiting itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from engine.errors import EngineError, HubBusy, HubUnreachable

PASSING = (HubUnreachable, HubBusy)
"""What may be gone when it is tried again."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """``attempts`` count from the last success. Waits double up to ``limit_s``; what the hub asks for goes before."""

    attempts: int = 10
    first_s: float = 1.0
    limit_s: float = 60.0
    longest_s: float = 3600.0

    def delay_s(self, failures: int, error: EngineError) -> float | None:
        """Seconds before the next try, after so many in a row have failed; None where it is time to give up."""
        if failures >= self.attempts or not isinstance(error, PASSING):
            return None
        asked = error.retry_after_s if isinstance(error, HubBusy) else None
        if asked is not None:
            return asked + 0.5 if asked <= self.longest_s else None
        return min(self.limit_s, self.first_s * 2 ** (failures - 1))


PATIENT = Patience()
"""For a job that may run all night."""
BRIEF = Patience(attempts=3)
"""For someone who waits in front of the screen."""


def try_patiently(action: Callable[[], T], patience: Patience, wait: Callable[[EngineError, float], None]) -> T:
    """What ``action`` returns. ``wait`` gets the error and the seconds, and may raise to stop."""
    failures = 0
    while True:
        try:
            return action()
        except PASSING as error:
            failures += 1
            delay = patience.delay_s(failures, error)
            if delay is None:
                raise
            wait(error, delay)
