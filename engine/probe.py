"""What this machine can do: memory, devices, and measured speeds of the disk and of computing."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil
import torch
from torch.nn.functional import linear, silu

from engine.backends.base import Backend
from engine.backends.torch_backend import ACCELERATORS, open_backend
from engine.errors import DeviceUnavailable
from engine.reports import DeviceReport, MachineReport, TorchReport
from engine.streaming.prediction import Speeds
from engine.weights.read_speed import measure_folder_speed, measure_read_speed

_MATRIX_BYTES = 64 << 20
_MATRICES = 3
_COLUMNS = 4096
_SMALL = 768
_MOST_READING_S = 1.0


def probe_machine(models_folder: Path) -> MachineReport:
    """Takes about a second. Writes and removes one temporary file in ``models_folder``. Raises ``OSError``."""
    memory = psutil.virtual_memory()
    compute = measure_compute_speed(open_backend("cpu"), torch.bfloat16)
    disk = psutil.disk_usage(str(models_folder))
    return MachineReport(
        system=f"{platform.system()} {platform.release()}",
        processor=_processor_name(),
        cores=psutil.cpu_count(logical=False) or os.cpu_count() or 1,
        memory_total_bytes=memory.total,
        memory_free_bytes=memory.available,
        disk_total_bytes=disk.total,
        disk_free_bytes=disk.free,
        disk_bytes_per_second=measure_folder_speed(models_folder),
        compute_bytes_per_second=compute.bytes_per_second,
        product_s=compute.product_s,
        devices=tuple(_devices()),
    )


def report_torch() -> TorchReport:
    """Measures nothing."""
    return TorchReport(torch.__version__, str(Path(torch.__file__).parent.parent), tuple(_devices()))


@dataclass(frozen=True, slots=True)
class ComputeSpeed:
    """What products of matrices and vectors take: one of ``n`` bytes ``n / bytes_per_second + product_s`` seconds."""

    bytes_per_second: float
    product_s: float


def measure_compute_speed(backend: Backend, dtype: torch.dtype) -> ComputeSpeed:
    """How fast products of a matrix and a vector are, which is what decoding one token costs.

    The matrices take turns, so that none is still in a cache of the processor.
    """
    weights = [
        torch.full((_MATRIX_BYTES // dtype.itemsize // _COLUMNS, _COLUMNS), 0.01, dtype=dtype, device=backend.device)
        for _ in range(_MATRICES if backend.is_unified else 1)
    ]
    with torch.inference_mode():
        vector = torch.full((1, 1, _COLUMNS), 0.01, dtype=dtype, device=backend.device)
        large_s = [_time(backend, partial(linear, vector, weight)) for _ in range(3) for weight in weights]
        speed = _MATRIX_BYTES / statistics.median(large_s[1:])
        count = _MATRIX_BYTES // dtype.itemsize // _SMALL**2
        small = [weight.flatten()[: count * _SMALL**2].view(count, _SMALL, _SMALL) for weight in weights]
        vector = vector[..., :_SMALL]

        def products() -> None:
            for parts in small:
                for part in parts:
                    _between_products(linear(vector, part))

        seconds = min(_time(backend, products) for _ in range(2)) / (count * len(small))
    return ComputeSpeed(speed, max(seconds - _SMALL * _SMALL * dtype.itemsize / speed, 0.0))


def _between_products(states: torch.Tensor) -> None:
    """About what a decoder layer does for each of its products: norms, rotations, gates, sums."""
    for _ in range(2):
        normed = states.float()
        normed = (normed * torch.rsqrt(normed.pow(2).mean(-1, keepdim=True) + 1e-6)).to(states.dtype)
        first, second = normed.chunk(2, -1)
        states = silu(normed) * states + torch.cat((-second, first), -1)


def _time(backend: Backend, work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    backend.synchronize()
    return time.perf_counter() - started


def measure_bus_speed(backend: Backend) -> float:
    """Bytes per second from host to device."""
    source = backend.allocate_host(_MATRIX_BYTES)
    slot = backend.allocate_device(_MATRIX_BYTES)
    times: list[float] = []
    for _ in range(3):
        started = time.perf_counter()
        backend.start_copy(source.tensor[:_MATRIX_BYTES], slot)()
        backend.begin_use(slot)
        backend.end_use(slot)
        times.append(time.perf_counter() - started)
    return _MATRIX_BYTES / min(times)


def measure_speeds(backend: Backend, dtype: torch.dtype, files: list[Path]) -> Speeds:
    """All of them, for a prediction: a fraction of a second each."""
    compute = measure_compute_speed(backend, dtype)
    return Speeds(
        disk=measure_read_speed(files, most_s=_MOST_READING_S),
        memory=compute.bytes_per_second,
        bus=None if backend.is_unified else measure_bus_speed(backend),
        product_s=compute.product_s,
    )


def _devices() -> list[DeviceReport]:
    reports: list[DeviceReport] = []
    for kind in ACCELERATORS:
        try:
            backend = open_backend(kind)
        except DeviceUnavailable:
            continue
        figures = backend.memory()
        module = getattr(torch, kind)
        name = module.get_device_name() if hasattr(module, "get_device_name") else kind
        reports.append(DeviceReport(kind, name, figures.total, figures.free))
    return reports


def _processor_name() -> str:
    if platform.system() == "Linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
