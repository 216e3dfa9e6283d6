"""The protocol between the streamer and a device. Knows bytes and slots, nothing of models.

A discrete device computes on its own memory: blocks are read into host slots and copied to device slots.
A unified one computes where it reads: host slots and device slots are the same memory, and ``start_copy``
is never called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch


@dataclass(frozen=True, slots=True)
class HostBuffer:
    """Page-aligned host memory (pinned where that helps), for readers and for torch (uint8, 1-D)."""

    view: memoryview
    tensor: torch.Tensor


@dataclass(slots=True, eq=False)
class DeviceSlot:
    """Device memory that successive blocks pass through (uint8, 1-D). The fences belong to its backend."""

    tensor: torch.Tensor
    copied: Any = None
    used: Any = None


@dataclass(frozen=True, slots=True)
class MemoryFigures:
    """Bytes on the device: all of it, and what is free now."""

    total: int
    free: int


class Backend(Protocol):
    """One device. All calls come from the compute thread, but ``start_copy`` also from reader threads."""

    @property
    def name(self) -> str: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def is_unified(self) -> bool: ...

    def allocate_host(self, nbytes: int) -> HostBuffer: ...

    def allocate_device(self, nbytes: int) -> DeviceSlot: ...

    def start_copy(self, source: torch.Tensor, slot: DeviceSlot) -> Callable[[], None]:
        """Copies ``source`` (host, uint8) to the front of ``slot`` on the copy stream, after the slot's last use.

        Returns a call that blocks until ``source`` may be overwritten.
        """
        ...

    def begin_use(self, slot: DeviceSlot) -> None:
        """Computing from here on sees the copied bytes."""
        ...

    def end_use(self, slot: DeviceSlot) -> None:
        """What was computed up to here has to end before the slot may be overwritten."""
        ...

    def before_decoding_pass(self) -> None:
        """The place to adapt to what else the machine is doing."""
        ...

    def after_decoding_pass(self, elapsed_s: float) -> None:
        """What the pass took."""
        ...

    def synchronize(self) -> None:
        """Waits for all computing and copying."""
        ...

    def memory(self) -> MemoryFigures: ...

    def close(self) -> None:
        """Gives back what was allocated."""
        ...
