"""Which expert lies in which slot, and which one makes room: decayed frequency and recency. Pure bookkeeping.

An expert's value is the sum of its uses, each halved for every ``half_life`` passes that have gone by since
(least recently and frequently used, Lee et al. 2001). All values shrink alike, so their order only changes
when one is used: a heap of logarithms finds the least valuable without looking at the others. Uses are
remembered after an expert has gone, so that one that comes back often does not start again as a stranger.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping

ExpertKey = tuple[int, int]
"""Number of the experts module, number of the expert in it."""

HALF_LIFE_PASSES = 32.0


class ExpertCache:
    """``slot_count`` slots, numbered from 0. Knows keys and numbers, not bytes."""

    def __init__(self, slot_count: int, *, half_life: float = HALF_LIFE_PASSES) -> None:
        self.slot_count = slot_count
        self._half_life = half_life
        self._now = 0
        self._values: dict[ExpertKey, float] = {}
        self._slots: dict[ExpertKey, int] = {}
        self._free = list(range(slot_count - 1, -1, -1))
        self._heap: list[tuple[float, ExpertKey]] = []

    def __len__(self) -> int:
        return len(self._slots)

    def begin_pass(self) -> None:
        """Uses from here on are one pass younger."""
        self._now += 1

    def slot_of(self, key: ExpertKey) -> int | None:
        return self._slots.get(key)

    def use(self, key: ExpertKey) -> None:
        """Counts one use, whether the expert is here or not."""
        use = self._now / self._half_life
        before = self._values.get(key)
        # log2(2^before + 2^use), without leaving the range of floats.
        value = use if before is None else max(before, use) + math.log2(1 + 2 ** -abs(before - use))
        self._values[key] = value
        if key in self._slots:
            self._push(key)

    def uses(self) -> dict[ExpertKey, float]:
        """The value of every expert that was ever used: how often, in uses of now."""
        return {key: 2.0 ** (value - self._now / self._half_life) for key, value in self._values.items()}

    def most_used_share(self, count: int) -> float | None:
        """Of the uses to come, those of the ``count`` experts that were used most so far; None before the first.

        As many uses as there are experts seen but once are taken to be of others (Good and Turing's estimate): after a
        short answer everything seen would fit, and the next one uses other experts.
        """
        uses = sorted(self.uses().values(), reverse=True)
        if not uses:
            return None
        seen_once = sum(1 for value in uses if value <= 1)
        return sum(uses[:count]) / sum(uses) * max(1 - seen_once / sum(uses), 0.0)

    def restore(self, uses: Mapping[ExpertKey, float]) -> None:
        """Starts with the values an earlier cache ended with. Call before any other use."""
        self._values = {key: self._now / self._half_life + math.log2(value) for key, value in uses.items()}

    def claim(self, key: ExpertKey, *, pinned: Collection[ExpertKey]) -> int | None:
        """A slot for an expert that has none: a free one, or that of the least valuable expert not ``pinned``.

        None where every expert is pinned. What was in the slot is forgotten.
        """
        slot = self._free.pop() if self._free else self._evict(pinned)
        if slot is not None:
            self._slots[key] = slot
            self._push(key)
        return slot

    def drop(self, key: ExpertKey) -> None:
        """The expert is not in its slot after all; the slot is free."""
        slot = self._slots.pop(key, None)
        if slot is not None:
            self._free.append(slot)

    def _evict(self, pinned: Collection[ExpertKey]) -> int | None:
        passed_over: list[tuple[float, ExpertKey]] = []
        found: int | None = None
        while self._heap and found is None:
            entry = heapq.heappop(self._heap)
            value, key = entry
            if key not in self._slots or self._values.get(key) != value:
                continue
            if key in pinned:
                passed_over.append(entry)
            else:
                found = self._slots.pop(key)
        for entry in passed_over:
            heapq.heappush(self._heap, entry)
        return found

    def _push(self, key: ExpertKey) -> None:
        heapq.heappush(self._heap, (self._values.setdefault(key, self._now / self._half_life), key))
        if len(self._heap) > 64 + 4 * self.slot_count:
            self._heap = [(self._values[key], key) for key in self._slots]
            heapq.heapify(self._heap)
