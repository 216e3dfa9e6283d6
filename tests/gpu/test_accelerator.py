"""On a real accelerator: the same answers as plain transformers there, within the budget, copies beside computing.

Run with ``python3 dev.py test -m gpu`` on a machine that has one; the simulated device proves the same code
path everywhere else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from engine.backends.base import Backend
from engine.backends.torch_backend import ACCELERATORS, open_backend
from engine.errors import DeviceUnavailable
from engine.probe import measure_bus_speed, measure_compute_speed
from engine.store.manifest import read_manifest
from engine.streaming.block_roles import block_sizes
from engine.streaming.residency import Budgets, Role, Tier
from engine.weights.packed import Expander, expanded
from tests.helpers.families import load_plain
from tests.helpers.splits import PROMPT, load, make_split, streamed_outputs


def find_accelerator() -> str | None:
    for name in ACCELERATORS:
        try:
            open_backend(name).close()
        except DeviceUnavailable:
            continue
        return name
    return None


DEVICE = find_accelerator()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(DEVICE is None, reason="no accelerator here")]


@pytest.fixture
def backend() -> Backend:
    assert DEVICE is not None
    return open_backend(DEVICE)


@pytest.fixture(scope="module", params=["llama", "qwen3+tied", "mixtral", "mamba2"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_split(request.param, tmp_path_factory.mktemp("gpu"), dtype=torch.float32)


def tiers_of(split: Path) -> dict[str, Budgets]:
    sizes = block_sizes(read_manifest(split))
    total = sum(size.nbytes for size in sizes)
    always = sum(size.nbytes for size in sizes if size.role is Role.ALWAYS)
    block = max(size.nbytes for size in sizes if size.role is Role.ONCE)
    return {
        "resident": Budgets(total, 0),
        "from disk": Budgets(always + block, 2 * block),
        "from host": Budgets(always + 2 * block, total),
        "three tiers": Budgets(max(total // 2, always + block), max(total // 4, 2 * block)),
    }


@pytest.mark.parametrize("residency", ["resident", "from disk", "from host", "three tiers"])
def test_streamed_answers_equal_plain_transformers_on_the_device(
    model: tuple[Path, Path], backend: Backend, residency: str
) -> None:
    checkpoint, split = model
    plain: Any = load_plain(checkpoint)
    plain.to(backend.device)
    ids = torch.tensor([PROMPT], device=backend.device)
    with torch.inference_mode():
        want_logits = plain(ids).logits[0].float().cpu()
        want = plain.generate(ids, do_sample=False, max_new_tokens=16, min_new_tokens=16, eos_token_id=None)
    loaded = load(split, backend, tiers_of(split)[residency])
    try:
        logits, tokens = streamed_outputs(loaded, PROMPT, 16)
    finally:
        loaded.close()
    torch.testing.assert_close(logits, want_logits, rtol=1e-4, atol=1e-4)
    assert tokens == want[0, len(PROMPT) :].tolist()


def test_device_memory_stays_within_three_percent_of_the_budget(tmp_path: Path, backend: Backend) -> None:
    if backend.name != "cuda":
        pytest.skip("only cuda reports its peak")
    _, split = make_split("llama", tmp_path)
    budgets = tiers_of(split)["from disk"]
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    loaded = load(split, backend, budgets)
    weights = torch.cuda.memory_allocated() - before
    loaded.close()
    assert weights <= budgets.device_bytes * 1.03 + (2 << 20)
    assert loaded.plan.tier("layer-000") is Tier.DISK


def test_the_bus_and_the_device_have_measurable_speeds(backend: Backend) -> None:
    assert measure_bus_speed(backend) > 1e8
    assert measure_compute_speed(backend, torch.float32).bytes_per_second > 1e9


@pytest.mark.parametrize(
    ("encoding", "values", "grid"),
    [
        ("scaled", torch.randint(0, 126, (256, 512)).to(torch.uint8).view(torch.float8_e4m3fn), (2, 4)),
        ("mxfp4", torch.randint(0, 256, (256, 256)).to(torch.uint8), (256, 16)),
        ("int", torch.randint(-(2**31), 2**31 - 1, (256, 64)).to(torch.int32), (256, 16)),
    ],
)
def test_packed_matrices_are_expanded_as_on_the_processor(
    backend: Backend, encoding: str, values: torch.Tensor, grid: tuple[int, int]
) -> None:
    scales = torch.randint(100, 140, grid).to(torch.uint8) if encoding == "mxfp4" else torch.rand(grid)
    found = torch.empty(256, 512, dtype=torch.bfloat16, device=backend.device)
    expander = Expander(torch.empty(1 << 18, dtype=torch.uint8, device=backend.device))
    expander.expand(encoding, {"values": values.to(backend.device), "scales": scales.to(backend.device)}, found)
    assert torch.equal(found.cpu(), expanded(encoding, values, scales, (256, 512), torch.bfloat16))
