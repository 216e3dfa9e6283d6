"""How fast this computer computes, in every dtype a model may have."""

from __future__ import annotations

import pytest
import torch

from engine import probe
from engine.backends.torch_backend import CpuBackend


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_products_are_measured_in_every_dtype(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_MATRIX_BYTES", 8 << 20)
    found = probe.measure_compute_speed(CpuBackend(), dtype)
    assert found.bytes_per_second > 0
    assert found.product_s >= 0
