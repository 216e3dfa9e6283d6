"""How many threads compute on the processor: measured, not assumed, and measured again while an answer runs.

Every matrix product ends in a barrier. A thread that loses its core to a reader, a window or another program
makes all others wait for a whole scheduler slice: on 2 cores beside one busy process, 2 threads take 8 ms for
what 1 thread does in 1.4 ms. Which is better changes from one minute to the next.
"""

from __future__ import annotations

import os
import time

import psutil
import torch

RETUNE_S = 20.0
_ROUNDS = 3
_PRODUCTS = 6
_SIDE = 2048


class ThreadChooser:
    """Picks the thread count that multiplies fastest now. ``choose`` takes about 50 ms."""

    def __init__(self) -> None:
        cores = psutil.cpu_count(logical=False) or os.cpu_count() or 1
        self._candidates = sorted({cores, max(cores - 1, 1), max(cores // 2, 1), 1})
        self._weight: torch.Tensor | None = None
        self._chosen_at: float | None = None

    def choose_if_due(self) -> None:
        """At first, and then every ``RETUNE_S`` seconds. Between passes only."""
        now = time.monotonic()
        if self._chosen_at is None or now - self._chosen_at >= RETUNE_S:
            torch.set_num_threads(self.choose())
            self._chosen_at = time.monotonic()

    def choose(self) -> int:
        """Leaves torch's thread count at the last one tried."""
        if len(self._candidates) == 1:
            return self._candidates[0]
        seconds = dict.fromkeys(self._candidates, 0.0)
        for _ in range(_ROUNDS):
            for count in self._candidates:
                seconds[count] += self._time_products(count)
        return min(seconds, key=lambda count: seconds[count])

    def _time_products(self, threads: int) -> float:
        """Mean rather than best: what a barrier costs shows in the slow ones."""
        if self._weight is None:
            self._weight = torch.full((_SIDE, _SIDE), 0.01, dtype=torch.bfloat16)
        torch.set_num_threads(threads)
        with torch.inference_mode():
            vector = self._weight[:1]
            torch.nn.functional.linear(vector, self._weight)
            started = time.perf_counter()
            for _ in range(_PRODUCTS):
                torch.nn.functional.linear(vector, self._weight)
            return time.perf_counter() - started
