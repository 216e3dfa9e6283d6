"""How many bytes a model may take: what the user allows, or what is free less the system's share. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from engine.streaming.residency import Budgets

SYSTEM_RESERVE_BYTES = 2 << 30
"""Left to the system and other programs on the host."""

DEVICE_RESERVE_BYTES = 512 << 20
"""Left on a graphics card for activations, kernels' workspaces and the display."""


@dataclass(frozen=True, slots=True)
class FreeMemory:
    """Bytes free now. ``device`` is None on a machine that computes in host memory."""

    host: int
    device: int | None


NOTHING_RETURNED = FreeMemory(0, None)


def plan_budgets(free: FreeMemory, *, vram: int | None, ram: int | None, cache_bytes: int) -> Budgets:
    """Budgets for weights and slots. Explicit limits are taken whole; the KV cache's share comes off either.

    On a unified machine one number counts: ``ram``, or ``vram`` if that is all that was given.
    """
    default_host = max(free.host - SYSTEM_RESERVE_BYTES, free.host // 4)
    if free.device is None:
        limit = ram if ram is not None else vram if vram is not None else default_host
        return Budgets(limit - cache_bytes, 0, cache_bytes)
    limit = vram if vram is not None else max(free.device - DEVICE_RESERVE_BYTES, free.device // 4)
    return Budgets(limit - cache_bytes, ram if ram is not None else default_host, cache_bytes)
