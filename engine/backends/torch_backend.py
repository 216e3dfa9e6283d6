"""cpu, and the accelerators torch drives: cuda (NVIDIA, ROCm), xpu, mps.

One class serves every accelerator through ``torch.Stream`` and ``torch.Event``: copies run on a stream of
their own, ordered against computing by events, so nothing ever waits on the host inside a pass.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any, cast

import psutil
import torch

from engine.backends.base import Backend, DeviceSlot, HostBuffer, MemoryFigures
from engine.backends.cpu_threads import ThreadChooser, set_threads, thread_counts
from engine.errors import DeviceUnavailable
from engine.weights.direct_io import aligned_buffer, round_up

ACCELERATORS = ("cuda", "xpu", "mps")

_PINNED_AS_ASKED = "pinned_max_round_threshold_mb:1,pinned_max_cached_size_mb:1"
"""torch otherwise rounds pinned memory up to a power of two, 33 GB to 64, and keeps what was freed (2.13)."""


def open_backend(device: str = "auto") -> Backend:
    """``auto`` takes the first accelerator there is, else the processor. Raises ``DeviceUnavailable``."""
    if device == "auto":
        device = next((name for name in ACCELERATORS if _is_available(name)), "cpu")
    if device == "cpu":
        return CpuBackend(chooser=ThreadChooser(thread_counts()))
    if device == "mlx":
        raise DeviceUnavailable(
            "The MLX backend is not part of this version.", "Use --device auto, which takes mps or the processor."
        )
    if device not in ACCELERATORS:
        raise DeviceUnavailable(f"“{device}” is no device.", f"Choose auto, cpu, {', '.join(ACCELERATORS)}.")
    if not _is_available(device):
        raise DeviceUnavailable(
            f"No {device} device is available here.", "Use --device auto or cpu, or check the driver."
        )
    return AcceleratorBackend(device)


def _is_available(device: str) -> bool:
    module = getattr(torch, device, None)
    if module is not None and hasattr(module, "is_available"):
        return bool(module.is_available())
    return device == "mps" and torch.backends.mps.is_available()


class CpuBackend:
    """Unified: blocks are computed where the readers put them.

    ``chooser`` adapts the number of compute threads; None leaves torch's as it is.
    """

    name = "cpu"
    device = torch.device("cpu")
    is_unified = True

    def __init__(self, *, chooser: ThreadChooser | None = None) -> None:
        self._chooser = chooser

    def allocate_host(self, nbytes: int) -> HostBuffer:
        view = aligned_buffer(nbytes)
        return HostBuffer(view, torch.frombuffer(view, dtype=torch.uint8))

    def allocate_device(self, nbytes: int) -> DeviceSlot:
        return DeviceSlot(self.allocate_host(nbytes).tensor)

    def start_copy(self, source: torch.Tensor, slot: DeviceSlot) -> Callable[[], None]:
        raise AssertionError("a unified backend never copies")

    def begin_use(self, slot: DeviceSlot) -> None: ...

    def end_use(self, slot: DeviceSlot) -> None: ...

    def before_decoding_pass(self) -> None:
        if self._chooser is not None:
            set_threads(self._chooser.count_for_pass())

    def after_decoding_pass(self, elapsed_s: float) -> None:
        if self._chooser is not None:
            self._chooser.learn(elapsed_s)
            set_threads(self._chooser.best)

    def synchronize(self) -> None: ...

    def memory(self) -> MemoryFigures:
        memory = psutil.virtual_memory()
        return MemoryFigures(memory.total, memory.available)

    def close(self) -> None: ...


class AcceleratorBackend:
    """A discrete device behind torch's generic stream and event interface."""

    is_unified = False

    def __init__(self, device: str) -> None:
        self.name = device
        self.device = torch.device(device)
        self._copy_stream = torch.Stream(device=self.device)
        self._copying = threading.Lock()
        self._can_pin = device in ("cuda", "xpu")
        if self._can_pin and torch.__version__ >= "2.13":
            cast(Any, torch)._C._accelerator_setAllocatorSettings(_PINNED_AS_ASKED)

    def allocate_host(self, nbytes: int) -> HostBuffer:
        if not self._can_pin:
            view = aligned_buffer(nbytes)
            return HostBuffer(view, torch.frombuffer(view, dtype=torch.uint8))
        tensor = torch.empty(round_up(nbytes), dtype=torch.uint8, pin_memory=True)
        if tensor.data_ptr() % 4096:
            raise RuntimeError(f"pinned memory at {tensor.data_ptr():#x} is not page-aligned")
        return HostBuffer(memoryview(cast(Any, tensor.numpy())), tensor)

    def allocate_device(self, nbytes: int) -> DeviceSlot:
        tensor = torch.empty(round_up(nbytes), dtype=torch.uint8, device=self.device)
        return DeviceSlot(tensor, torch.Event(device=self.device), torch.Event(device=self.device))

    def start_copy(self, source: torch.Tensor, slot: DeviceSlot) -> Callable[[], None]:
        # A stream keeps for itself where whoever entered it came from, and cannot be entered twice (torch 2.9).
        with self._copying:
            self._copy_stream.wait_event(slot.used)
            with torch.inference_mode(), self._copy_stream:
                slot.tensor[: source.numel()].copy_(source, non_blocking=True)
            slot.copied.record(self._copy_stream)
        return slot.copied.synchronize

    def begin_use(self, slot: DeviceSlot) -> None:
        torch.accelerator.current_stream(self.device).wait_event(slot.copied)

    def end_use(self, slot: DeviceSlot) -> None:
        slot.used.record(torch.accelerator.current_stream(self.device))

    def before_decoding_pass(self) -> None: ...

    def after_decoding_pass(self, elapsed_s: float) -> None: ...

    def synchronize(self) -> None:
        torch.accelerator.synchronize(self.device)

    def memory(self) -> MemoryFigures:
        if self.name == "mps":
            total = torch.mps.recommended_max_memory()
            return MemoryFigures(total, total - torch.mps.current_allocated_memory())
        free, total = torch.cuda.mem_get_info() if self.name == "cuda" else torch.xpu.mem_get_info()
        return MemoryFigures(total, free)

    def close(self) -> None:
        """Gives cached memory back as well: the next plan counts what is free."""
        self.synchronize()
        gc.collect()
        torch.accelerator.empty_cache() if hasattr(torch.accelerator, "empty_cache") else torch.cuda.empty_cache()
        if self._can_pin and hasattr(torch.accelerator, "empty_host_cache"):
            torch.accelerator.empty_host_cache()
