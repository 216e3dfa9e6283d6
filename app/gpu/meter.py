"""How fast bytes come and when the last will be there. Pure: times are given."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

WINDOW_S = 8.0
STALLED_S = 3.0


@dataclass(frozen=True, slots=True)
class Amount:
    """``bytes_per_second`` is 0 where nothing moves, ``seconds_left`` None where nobody can tell."""

    done: int
    total: int
    bytes_per_second: float = 0.0
    seconds_left: float | None = None


class Meter:
    """The speed is that of the last seconds."""

    def __init__(self, total: int, done: int, now: float) -> None:
        self._total = total
        self._samples: deque[tuple[float, int]] = deque([(now, done)])

    def advance(self, done: int, now: float) -> None:
        """``done`` in all; less than before where bytes had to be thrown away."""
        if done < self._samples[-1][1]:
            self._samples.clear()
        self._samples.append((now, done))
        while len(self._samples) > 2 and now - self._samples[1][0] > WINDOW_S:
            self._samples.popleft()

    def amount(self, now: float) -> Amount:
        (first_at, first), (last_at, last) = self._samples[0], self._samples[-1]
        if now - last_at > STALLED_S or last_at <= first_at:
            return Amount(last, self._total)
        speed = (last - first) / (last_at - first_at)
        return Amount(last, self._total, speed, (self._total - last) / speed if speed > 0 else None)
