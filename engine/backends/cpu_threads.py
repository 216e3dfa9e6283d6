"""How many threads compute on the processor: found out while it computes, pass by pass.

Every matrix product ends in a barrier. A thread that loses its core to a reader, a window or another program
makes all others wait for a whole scheduler slice: beside one busy process on 2 cores, the starter model takes
0.83 s a token with 2 threads and 0.14 s with one; on a quiet machine 2 are 1.7 times as fast as one. What is
best depends on the model and on the minute, so other counts are tried on single passes of the answer itself.
"""

from __future__ import annotations

import os
import statistics
import time
from collections import deque
from collections.abc import Callable, Sequence

import psutil
import torch

TRIAL_PASSES = 2
SWITCH_RATIO = 0.92
"""A trial has to be this much faster to be kept: less is noise."""
WORSENED_RATIO = 1.6
"""Passes this much slower than before are a reason to try again at once: something else has begun to run."""
FIRST_INTERVAL_S = 5.0
LONGEST_INTERVAL_S = 120.0


class ThreadChooser:
    """Decides before each decoding pass, learns after it. Prompt passes run with the present count.

    ``counts`` are tried in turn; the first is where it starts. ``now`` gives seconds.
    """

    def __init__(self, counts: Sequence[int], now: Callable[[], float] = time.monotonic) -> None:
        self._counts = list(dict.fromkeys(counts))
        self._now = now
        self.best = self._counts[0]
        self._recent: deque[float] = deque(maxlen=4)
        self._trial: int | None = None
        self._trial_times: list[float] = []
        self._next_candidate = 1
        self._interval_s = FIRST_INTERVAL_S
        self._next_trial_at = now()

    def count_for_pass(self) -> int:
        """Threads for the coming decoding pass."""
        is_due = self._now() >= self._next_trial_at and len(self._recent) >= TRIAL_PASSES
        if self._trial is None and is_due and len(self._counts) > 1:
            others = [count for count in self._counts if count != self.best]
            self._trial = others[self._next_candidate % len(others)]
            self._next_candidate += 1
            self._trial_times = []
        return self.best if self._trial is None else self._trial

    def learn(self, elapsed_s: float) -> None:
        """What the pass took that ran with ``count_for_pass``."""
        if self._trial is None:
            if len(self._recent) == self._recent.maxlen and elapsed_s > WORSENED_RATIO * statistics.median(
                self._recent
            ):
                # What was measured before no longer holds: compare the next trial with what follows.
                self._recent.clear()
                self._interval_s = FIRST_INTERVAL_S
                self._next_trial_at = self._now()
            self._recent.append(elapsed_s)
            return
        self._trial_times.append(elapsed_s)
        if len(self._trial_times) == TRIAL_PASSES:
            self._conclude(self._trial, self._trial_times)

    def _conclude(self, count: int, times: Sequence[float]) -> None:
        if statistics.fmean(times) < SWITCH_RATIO * statistics.median(self._recent):
            self.best = count
            self._recent.clear()
            self._recent.extend(times)
            self._interval_s = FIRST_INTERVAL_S
        else:
            self._interval_s = min(2 * self._interval_s, LONGEST_INTERVAL_S)
        self._trial = None
        self._next_trial_at = self._now() + self._interval_s


def thread_counts() -> list[int]:
    """What is worth trying on this processor, all of its cores first."""
    cores = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    return [cores, max(cores - 1, 1), max(cores // 2, 1), 1]


def set_threads(count: int) -> None:
    if torch.get_num_threads() != count:
        torch.set_num_threads(count)
