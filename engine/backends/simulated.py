"""A discrete device made of ordinary memory, strict where a real one is silent.

It has a hard budget in bytes, copies on a thread of its own at a set bandwidth, and fails on going over the
budget, on computing with bytes that have not arrived, and on overwriting a slot that is in use. The same
streamer drives it, so a test that passes here has proved the order of events an accelerator needs.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

import torch

from engine.backends.base import DeviceSlot, HostBuffer, MemoryFigures
from engine.weights.direct_io import aligned_buffer, round_up

_POISON = 0xFF  # every float dtype reads it as NaN


class DeviceViolation(AssertionError):
    """The streamer did what would corrupt an answer, or crash, on a real device."""


class _Fence:
    """Reached once; ``generation`` tells a slot's present copy from the ones before it."""

    def __init__(self) -> None:
        self.reached = threading.Event()


class SimulatedBackend:
    """``budget_bytes`` for everything on the device; ``bytes_per_second`` from host to device (None: at once)."""

    name = "simulated"
    device = torch.device("cpu")
    is_unified = False

    def __init__(self, budget_bytes: int, *, bytes_per_second: float | None = None) -> None:
        self.budget_bytes = budget_bytes
        self.peak_bytes = 0
        self.copied_bytes = 0
        self._allocated = 0
        self._bytes_per_second = bytes_per_second
        self._in_use: set[int] = set()
        self._failure: DeviceViolation | None = None
        self._copies: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._copy_all, name="strata-simulated-copies", daemon=True)
        self._thread.start()

    def allocate_host(self, nbytes: int) -> HostBuffer:
        view = aligned_buffer(nbytes)
        return HostBuffer(view, torch.frombuffer(view, dtype=torch.uint8))

    def allocate_device(self, nbytes: int) -> DeviceSlot:
        nbytes = round_up(nbytes)
        self._allocated += nbytes
        self.peak_bytes = max(self.peak_bytes, self._allocated)
        if self._allocated > self.budget_bytes:
            raise DeviceViolation(f"{self._allocated} bytes on a device of {self.budget_bytes}")
        view = aligned_buffer(nbytes)
        return DeviceSlot(torch.frombuffer(view, dtype=torch.uint8).fill_(_POISON))

    def start_copy(self, source: torch.Tensor, slot: DeviceSlot) -> Callable[[], None]:
        if id(slot) in self._in_use:
            raise DeviceViolation("a copy was started into a slot that is in use")
        fence = _Fence()
        slot.copied = fence

        def copy() -> None:
            if id(slot) in self._in_use:
                self._failure = DeviceViolation("a slot was overwritten while in use")
            slot.tensor.fill_(_POISON)
            if self._bytes_per_second is not None:
                time.sleep(source.numel() / self._bytes_per_second)
            slot.tensor[: source.numel()].copy_(source)
            self.copied_bytes += source.numel()
            fence.reached.set()

        self._copies.put(copy)
        return lambda: _wait(fence)

    def begin_use(self, slot: DeviceSlot) -> None:
        if slot.copied is None:
            raise DeviceViolation("a slot was used before anything was copied into it")
        _wait(slot.copied)
        self._raise_failure()
        self._in_use.add(id(slot))

    def end_use(self, slot: DeviceSlot) -> None:
        if id(slot) not in self._in_use:
            raise DeviceViolation("a slot was released that was not in use")
        self._in_use.discard(id(slot))
        # What is computed after this reads poison, as on a device whose next copy has begun.
        slot.tensor.fill_(_POISON)
        slot.copied = None

    def before_decoding_pass(self) -> None: ...

    def after_decoding_pass(self, elapsed_s: float) -> None: ...

    def synchronize(self) -> None:
        fence = _Fence()
        self._copies.put(fence.reached.set)
        _wait(fence)
        self._raise_failure()

    def memory(self) -> MemoryFigures:
        return MemoryFigures(self.budget_bytes, self.budget_bytes - self._allocated)

    def close(self) -> None:
        self._copies.put(None)
        self._thread.join()
        self._allocated = 0
        self._raise_failure()

    def _copy_all(self) -> None:
        while (copy := self._copies.get()) is not None:
            copy()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure


def _wait(fence: _Fence) -> None:
    if not fence.reached.wait(timeout=60):
        raise DeviceViolation("a copy never ended")
