"""What this machine can do: memory, devices, and measured speeds of the disk and of computing."""

from __future__ import annotations

import os
import platform
import statistics
import time
from pathlib import Path

import psutil
import torch

from engine.backends.base import Backend
from engine.backends.torch_backend import ACCELERATORS, open_backend
from engine.errors import DeviceUnavailable
from engine.reports import DeviceReport, MachineReport
from engine.streaming.residency import Speeds
from engine.weights.read_speed import SAMPLE_BYTES, measure_folder_speed, measure_read_speed

_MATRIX_BYTES = 64 << 20


def probe_machine(models_folder: Path) -> MachineReport:
    """Takes about a second. Writes and removes one temporary file in ``models_folder``. Raises ``OSError``."""
    memory = psutil.virtual_memory()
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
        compute_bytes_per_second=measure_compute_speed(open_backend("cpu"), torch.bfloat16),
        devices=tuple(_devices()),
    )


def measure_compute_speed(backend: Backend, dtype: torch.dtype) -> float:
    """Weight bytes per second of matrix-vector products, which is what decoding one token costs."""
    columns = 4096
    rows = _MATRIX_BYTES // dtype.itemsize // columns
    weight = torch.full((rows, columns), 0.01, dtype=dtype, device=backend.device)
    vector = torch.full((1, columns), 0.01, dtype=dtype, device=backend.device)
    times: list[float] = []
    with torch.inference_mode():
        for _ in range(6):
            started = time.perf_counter()
            torch.nn.functional.linear(vector, weight)
            backend.synchronize()
            times.append(time.perf_counter() - started)
    return weight.numel() * dtype.itemsize / statistics.median(times[1:])


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
    """All three, for a prediction: a fraction of a second each."""
    return Speeds(
        disk=measure_read_speed(files, most_bytes=SAMPLE_BYTES // 2),
        memory=measure_compute_speed(backend, dtype),
        bus=None if backend.is_unified else measure_bus_speed(backend),
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
