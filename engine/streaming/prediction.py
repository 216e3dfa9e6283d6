"""Seconds one decoding pass will take, from a plan and measured speeds. Pure; limits.md has the model.

Reading, copying and computing overlap, so the slowest decides; but experts are known only once their layer's router
has run, so what arrives for them overlaps with computing experts and with nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.streaming.hit_rate import expected_hit_rate
from engine.streaming.residency import ExpertSlots, ResidencyPlan

LAYER_PRODUCTS = 7
"""Products of a matrix and a vector in a decoder layer beside its routed experts: four for attention, three after."""

EXPERT_PRODUCTS = 2
"""In a routed expert: gate and up are one."""

EXPANSION_COST = 6
"""Expanding a packed expert takes a processor about as long as reading this many times its expanded bytes. Derived
from its processor time on a loaded machine of two cores (1.3 to 2.1 ns a number, where memory gives 14 GB/s), not timed
on a quiet one. A graphics card is quicker, so there it is on the safe side."""


@dataclass(frozen=True, slots=True)
class Speeds:
    """Bytes per second, measured on this machine. ``bus`` is from host to device; None on a unified device.

    ``product_s``: seconds a product of a matrix and a vector takes beyond its bytes, with what a layer does between
    two of them.
    """

    disk: float
    memory: float
    bus: float | None = None
    product_s: float = 0.0


def predict_pass_s(plan: ResidencyPlan, speeds: Speeds, hit_rate: Callable[[int], float | None] | None = None) -> float:
    """Seconds for one decoding pass.

    ``hit_rate`` of a cache with so many slots, where it is known for this model; else it is the published one.
    """
    blocks_s = plan.used_bytes / speeds.memory + plan.layers * LAYER_PRODUCTS * speeds.product_s
    if plan.experts is None:
        times = [plan.streamed_bytes / speeds.disk, blocks_s]
        return max(times) if speeds.bus is None else max(*times, plan.copied_bytes / speeds.bus)
    experts = plan.experts
    routed = experts.nbytes * experts.routed

    def missed_bytes(slots: int) -> float:
        known = hit_rate(slots) if hit_rate is not None else None
        return routed * (1 - (expected_hit_rate(slots / experts.total) if known is None else known))

    experts_s = computed_bytes(experts) / speeds.memory + experts.routed * EXPERT_PRODUCTS * speeds.product_s
    read = missed_bytes(experts.cached)
    arriving_s = read / speeds.disk
    times = [(plan.streamed_bytes + read) / speeds.disk]
    if speeds.bus is not None:
        copied = missed_bytes(experts.count)
        arriving_s = max(arriving_s, copied / speeds.bus)
        times.append((plan.copied_bytes + copied) / speeds.bus)
    return max(*times, blocks_s + max(experts_s, arriving_s))


def computed_bytes(experts: ExpertSlots) -> float:
    """Bytes one token's experts move in memory, or could move while they are expanded."""
    return experts.routed * (experts.nbytes + EXPANSION_COST * experts.expanded_nbytes)
