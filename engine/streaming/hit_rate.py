"""How many of the experts a token uses are found in a cache of a given size, before it has been tried. Pure."""

from __future__ import annotations

import itertools

HIT_RATES = ((0.0, 0.0), (0.02, 0.16), (0.055, 0.40), (0.11, 0.59), (0.22, 0.74), (0.44, 0.87), (1.0, 1.0))
"""Published: hit rate of an expert cache against the share of all experts that it holds (limits.md)."""


def expected_hit_rate(share: float) -> float:
    """Between the published points, a straight line."""
    for (low, low_rate), (high, high_rate) in itertools.pairwise(HIT_RATES):
        if share <= high:
            return low_rate + (high_rate - low_rate) * (share - low) / (high - low)
    return 1.0
