"""Seconds per token and memory of a model on a measured machine, without a plan of the engine. Pure numbers.

The arithmetic is that of ``engine/streaming/residency.py``: what fits into the budget stays, the rest streams
through at most three slots, a cache of experts gets what is left, and reading, copying and computing overlap, so that
the slowest decides. Of a model in the store the shape is known; before anything is here it comes from the catalogue,
all layers alike, so expect a few per cent of difference. ``Engine.plan`` plans with a model's real blocks.

Knows no Qt and no sentences (``app.verdicts``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from app.catalogue import CatalogueEntry
from engine.api import (
    EXPANSION_COST,
    EXPERT_PRODUCTS,
    LAYER_PRODUCTS,
    MachineReport,
    WeightShape,
    expected_hit_rate,
)

TYPICAL_ANSWER_TOKENS = 300

_SYSTEM_RESERVE_BYTES = 2 << 30
_DEVICE_RESERVE_BYTES = 512 << 20
_CONTEXT_TOKENS = 4096
_MOST_SLOTS = 3
_KEY_WIDTH = 1024
"""Elements of one layer's keys for one token: 8 heads of 128 in nearly every model of the catalogue."""

_ASSUMED_BUS = 12e9
_ASSUMED_DEVICE_MEMORY = 200e9
_ASSUMED_PRODUCT_S = 80e-6
"""Bytes per second, and seconds. The probe measures the disk and the processor; these three are those of a modest
graphics card (PCIe 3 x16, 200 GB/s) and matter only where little or nothing is read from the disk."""

_BYTES_EXPANDED = 2
"""Packed experts are expanded to bfloat16."""

_UNKNOWN_LAYERS = 32
_USUAL_EXPERTS = 128
_USUAL_EXPERTS_PER_TOKEN = 8
_ACTIVE_IN_NAME = re.compile(r"(\d+(?:\.\d+)?)B-A(\d+(?:\.\d+)?)B(?![A-Za-z0-9])", re.IGNORECASE)
"""Publishers name mixtures of experts by all parameters and by those at work on a token: ``Qwen3-30B-A3B``."""

_UNIFIED = frozenset({"mps", "cpu"})


class Pace(StrEnum):
    """How waiting for a typical answer feels."""

    INSTANT = "instant"
    COMFORTABLE = "comfortable"
    SLOW = "slow"
    OVERNIGHT = "overnight"
    DAYS = "days"


_LIMITS_S_PER_TOKEN = (
    (0.1, Pace.INSTANT),  # faster than one reads aloud: half a minute for an answer
    (1.0, Pace.COMFORTABLE),  # five minutes: one waits, or does something small
    (12.0, Pace.SLOW),  # an hour: one comes back later
    (120.0, Pace.OVERNIGHT),  # ten hours
)


def pace_of(s_per_token: float) -> Pace:
    return next((pace for limit, pace in _LIMITS_S_PER_TOKEN if s_per_token <= limit), Pace.DAYS)


@dataclass(frozen=True, slots=True)
class ExpertShape:
    """Routed experts, each a record of ``nbytes``: of ``count`` a token uses ``routed``, ``in_layer`` of one layer.

    A packed one takes ``expanded_nbytes`` while it is used.
    """

    nbytes: float
    count: int
    routed: int
    in_layer: int
    expanded_nbytes: float = 0.0

    @property
    def least_bytes(self) -> float:
        """Without room for the experts of one layer nothing runs."""
        return self.in_layer * self.nbytes

    @property
    def computed_bytes(self) -> float:
        """What computing with one token's experts takes, as bytes that are read."""
        return self.routed * (self.nbytes + EXPANSION_COST * self.expanded_nbytes)


NO_EXPERTS = ExpertShape(0.0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Bytes in memory. ``lookup_bytes`` is an embedding of which only rows are read; ``head_bytes`` is used whole.

    A layer is one block; routed experts are in none, they stream one by one. The least memory that runs the model
    beside its conversation, on a graphics card and without one, is 0 where the engine's plan of it is not known.
    """

    layers: int
    layer_bytes: float
    head_bytes: float
    lookup_bytes: float
    cache_bytes: float
    experts: ExpertShape = NO_EXPERTS
    least_device_bytes: float = 0.0
    least_memory_bytes: float = 0.0

    @property
    def used_bytes(self) -> float:
        return self.layers * self.layer_bytes + self.head_bytes


@dataclass(frozen=True, slots=True)
class Estimate:
    """``streamed_bytes`` are read from the disk for every token, experts as often as they are expected to be missing;
    ``memory_bytes`` is all that is taken of memory.
    """

    s_per_token: float
    streamed_bytes: int
    memory_bytes: int

    @property
    def answer_s(self) -> float:
        return self.s_per_token * TYPICAL_ANSWER_TOKENS


@dataclass(frozen=True, slots=True)
class Shortage:
    """Not even one block at a time fits: bytes of memory it needs, and those free for it."""

    need: int
    have: int


@dataclass(frozen=True, slots=True)
class _Memory:
    """Budgets in bytes, speeds in bytes per second; ``bus`` is None where there is one memory.

    ``product_s``: seconds a product of a matrix and a vector takes beyond its bytes.
    """

    device: float
    host: float
    speed: float
    product_s: float
    bus: float | None


def shape_of(entry: CatalogueEntry) -> ModelShape:
    embedding = entry.vocabulary * entry.hidden_size * entry.bytes_per_parameter
    outside = embedding if entry.is_tied else 2 * embedding
    key_width = min(_KEY_WIDTH, entry.hidden_size)
    experts = _experts_of(
        (entry.parameters - entry.table_parameters) * entry.bytes_per_parameter,
        entry.active_parameters * entry.bytes_per_parameter,
        entry.layers,
        entry.experts,
        entry.experts_per_token,
    )
    if entry.bytes_per_parameter < _BYTES_EXPANDED:
        expanded = experts.nbytes / entry.bytes_per_parameter * _BYTES_EXPANDED
        experts = replace(experts, expanded_nbytes=expanded)
    table = entry.table_parameters * entry.bytes_per_parameter
    inside = entry.loaded_bytes - outside - table - experts.count * experts.nbytes
    return ModelShape(
        layers=entry.layers,
        layer_bytes=max(inside, 0) / entry.layers,
        head_bytes=embedding,
        lookup_bytes=0 if entry.is_tied else embedding,
        cache_bytes=entry.cache_bytes or 2 * 2 * key_width * entry.layers * min(_CONTEXT_TOKENS, entry.context),
        experts=experts,
        least_device_bytes=entry.least_device_bytes,
        least_memory_bytes=entry.least_memory_bytes,
    )


def shape_of_weights(weights: WeightShape, entry: CatalogueEntry | None = None) -> ModelShape:
    """A model of the store, as its manifest describes it; the catalogue knows better what a conversation takes."""
    usual_cache_bytes = 2 * 2 * _KEY_WIDTH * weights.layers * _CONTEXT_TOKENS
    return ModelShape(
        layers=weights.layers,
        layer_bytes=weights.layer_bytes,
        head_bytes=max(weights.used_bytes - weights.layers * weights.layer_bytes, 0),
        lookup_bytes=weights.lookup_bytes,
        cache_bytes=shape_of(entry).cache_bytes if entry else usual_cache_bytes,
        experts=ExpertShape(
            weights.expert_bytes, weights.experts, weights.routed, weights.routed_in_layer, weights.expanded_bytes
        ),
    )


def shape_of_name(name: str, nbytes: int, entry: CatalogueEntry | None = None) -> ModelShape:
    """A model of which its name and its bytes are known, or which the catalogue describes."""
    if entry is not None:
        return shape_of(entry)
    experts = NO_EXPERTS
    if sizes := _ACTIVE_IN_NAME.search(name):
        active = nbytes * min(float(sizes[2]) / float(sizes[1]), 1.0)
        experts = _experts_of(nbytes, active, _UNKNOWN_LAYERS, _USUAL_EXPERTS, _USUAL_EXPERTS_PER_TOKEN)
    layer = max(nbytes - experts.count * experts.nbytes, 0) / _UNKNOWN_LAYERS
    cache_bytes = 2 * 2 * _KEY_WIDTH * _UNKNOWN_LAYERS * _CONTEXT_TOKENS
    return ModelShape(_UNKNOWN_LAYERS, layer, 0, 0, cache_bytes, experts)


def _experts_of(total: float, active: float, layers: int, experts: int, per_token: int) -> ExpertShape:
    """From all bytes and those at work on a token: total = rest + all experts, active = rest + those of a token."""
    if experts <= per_token or active >= total:
        return NO_EXPERTS
    every = min((total - active) * experts / (experts - per_token), total)
    return ExpertShape(every / (experts * layers), experts * layers, per_token * layers, per_token)


def estimate(shape: ModelShape, machine: MachineReport) -> Estimate | Shortage:
    """Seconds per token of ``shape`` on ``machine``, or what is missing to run even one block."""
    memory = _memory_of(machine)
    experts = shape.experts
    room = memory.device - shape.cache_bytes - experts.least_bytes
    least = _least_bytes(shape, has_card=memory.bus is not None)
    if memory.device < least + shape.cache_bytes:
        return Shortage(round(least + shape.cache_bytes), round(max(memory.device, 0)))
    others = (experts.count - experts.in_layer) * experts.nbytes
    blocks_s = shape.used_bytes / memory.speed + shape.layers * LAYER_PRODUCTS * memory.product_s
    experts_s = experts.computed_bytes / memory.speed + experts.routed * EXPERT_PRODUCTS * memory.product_s
    if shape.used_bytes + shape.lookup_bytes + others <= room:
        taken = shape.used_bytes + shape.lookup_bytes + experts.count * experts.nbytes + shape.cache_bytes
        return Estimate(blocks_s + experts_s, 0, round(taken))
    if experts.count and shape.used_bytes <= room:
        on_device, slots = shape.used_bytes, 0.0
    else:
        on_device, slots = _fill(shape, room, shape.used_bytes)
    cached = _cached_experts(experts, room - on_device - slots)
    away = shape.used_bytes - on_device
    on_host = host_slots = 0.0
    host_cached = 0
    if memory.bus is not None:
        host_room = max(memory.host - experts.least_bytes, 0.0)
        on_host, host_slots = (away, 0.0) if away <= host_room else _fill(shape, host_room, away)
        host_cached = _cached_experts(experts, host_room - on_host - host_slots)
    missed = _missed_bytes(experts, max(cached, host_cached))
    streamed = max(away - on_host, 0.0) + missed
    arriving_s = missed / machine.disk_bytes_per_second
    times = [streamed / machine.disk_bytes_per_second]
    if memory.bus is not None:
        copied = _missed_bytes(experts, cached)
        arriving_s = max(arriving_s, copied / memory.bus)
        times.append((away + copied) / memory.bus)
    times.append(blocks_s + max(experts_s, arriving_s))
    taken = on_device + slots + on_host + host_slots + (cached + host_cached) * experts.nbytes + shape.cache_bytes
    return Estimate(max(times), round(streamed), round(taken))


def _least_bytes(shape: ModelShape, *, has_card: bool) -> float:
    """What has to be in memory at once beside the conversation; one whole block where nothing better is known."""
    planned = shape.least_device_bytes if has_card else shape.least_memory_bytes
    return planned or max(shape.layer_bytes, shape.head_bytes) + shape.experts.least_bytes


def _cached_experts(experts: ExpertShape, spare: float) -> int:
    """How many find room beside the blocks; those of one layer always do."""
    if not experts.count:
        return 0
    return min(experts.in_layer + int(max(spare, 0) // experts.nbytes), experts.count)


def _missed_bytes(experts: ExpertShape, cached: int) -> float:
    """What one token is expected to read of experts that are not in memory."""
    if not experts.count:
        return 0.0
    return experts.nbytes * experts.routed * (1 - expected_hit_rate(cached / experts.count))


def disk_need(entry: CatalogueEntry) -> int:
    """Bytes a downloaded original and its split take together, while both are there."""
    return entry.weight_bytes + entry.loaded_bytes


def _memory_of(machine: MachineReport) -> _Memory:
    host = max(machine.memory_free_bytes - _SYSTEM_RESERVE_BYTES, machine.memory_free_bytes // 4)
    cards = [device for device in machine.devices if device.kind not in _UNIFIED]
    if not cards:
        return _Memory(host, 0, machine.compute_bytes_per_second, machine.product_s, None)
    free = cards[0].free_bytes
    device = max(free - _DEVICE_RESERVE_BYTES, free // 4)
    return _Memory(device, host, _ASSUMED_DEVICE_MEMORY, _ASSUMED_PRODUCT_S, _ASSUMED_BUS)


def _fill(shape: ModelShape, room: float, wanted: float) -> tuple[float, float]:
    """Bytes that stay of ``wanted``, and those of the slots: as many slots as fit, then the head, then whole layers."""
    slot = shape.layer_bytes
    count = next((count for count in range(_MOST_SLOTS, 0, -1) if count * slot <= room), 0)
    left = room - count * slot
    kept = 0.0
    if shape.head_bytes <= left and wanted >= shape.used_bytes:
        kept = shape.head_bytes
        left -= kept
    layers = min(int(left // slot), shape.layers) if slot else 0
    return min(kept + layers * slot, wanted), count * slot
