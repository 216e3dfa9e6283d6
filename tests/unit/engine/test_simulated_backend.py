"""The simulated device fails where a real one would corrupt an answer, so that the streamer's order is proved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from engine.backends.simulated import DeviceViolation, SimulatedBackend
from engine.streaming.block_roles import block_sizes
from engine.streaming.pipeline import StagedPipeline
from engine.streaming.residency import Budgets, Role
from tests.helpers.splits import PROMPT, greedy_tokens, load, make_split


@pytest.fixture
def device() -> Iterator[SimulatedBackend]:
    made = SimulatedBackend(1 << 20)
    yield made
    made.close()


def ones(nbytes: int) -> torch.Tensor:
    return torch.ones(nbytes, dtype=torch.uint8)


def test_more_than_the_budget_is_refused(device: SimulatedBackend) -> None:
    device.allocate_device(1 << 20)
    with pytest.raises(DeviceViolation, match="on a device of"):
        device.allocate_device(1)


def test_using_a_slot_nothing_was_copied_into_is_refused(device: SimulatedBackend) -> None:
    with pytest.raises(DeviceViolation, match="before anything was copied"):
        device.begin_use(device.allocate_device(4096))


def test_bytes_are_poison_until_they_have_arrived_and_after_they_were_let_go(device: SimulatedBackend) -> None:
    slot = device.allocate_device(4096)
    assert slot.tensor.view(torch.bfloat16).isnan().all()
    device.start_copy(ones(4096), slot)
    device.begin_use(slot)
    assert bool((slot.tensor == 1).all())
    device.end_use(slot)
    assert slot.tensor.view(torch.bfloat16).isnan().all()


def test_copying_into_a_slot_in_use_is_refused(device: SimulatedBackend) -> None:
    slot = device.allocate_device(4096)
    device.start_copy(ones(4096), slot)
    device.begin_use(slot)
    with pytest.raises(DeviceViolation, match="in use"):
        device.start_copy(ones(4096), slot)


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_split("llama", tmp_path_factory.mktemp("simulated"))[1]


def one_block_budget(split: Path) -> tuple[int, int]:
    from engine.store.manifest import read_manifest

    sizes = block_sizes(read_manifest(split))
    always = sum(size.nbytes for size in sizes if size.role is Role.ALWAYS)
    return always, max(size.nbytes for size in sizes if size.role is Role.ONCE)


def test_the_streamer_never_passes_the_budget_it_was_given(split: Path) -> None:
    always, block = one_block_budget(split)
    device = SimulatedBackend(always + block, bytes_per_second=1e9)
    loaded = load(split, device, Budgets(always + block, 2 * block))
    greedy_tokens(loaded, PROMPT, 4)
    loaded.close()
    assert device.peak_bytes <= always + block


def test_what_is_copied_is_what_does_not_stay(split: Path) -> None:
    always, block = one_block_budget(split)
    device = SimulatedBackend(always + 2 * block)
    loaded = load(split, device, Budgets(always + 2 * block, 100 * block))
    greedy_tokens(loaded, PROMPT, 1)
    before = device.copied_bytes
    greedy_tokens(loaded, PROMPT, 4)
    copied = device.copied_bytes - before
    loaded.close()
    streamed = sum(entry.data_nbytes for entry in loaded.manifest.blocks if entry.kind in ("layer", "head"))
    # The next pass' first blocks may already be under way, which is what the slots are for.
    assert 0 <= copied - 4 * streamed <= 2 * block


def test_a_streamer_that_lets_a_slot_go_too_early_is_caught(split: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof that the proof works: the same run with the order broken fails."""
    acquire = StagedPipeline.acquire

    def acquire_and_let_go(self: StagedPipeline, block: object, on_wait: object) -> object:
        slot = acquire(self, block, on_wait)  # pyright: ignore[reportArgumentType]
        self._backend.end_use(slot)
        return slot

    monkeypatch.setattr(StagedPipeline, "acquire", acquire_and_let_go)
    always, block = one_block_budget(split)
    loaded = load(split, SimulatedBackend(always + 2 * block), Budgets(always + 2 * block, 100 * block))
    try:
        with pytest.raises(DeviceViolation):
            greedy_tokens(loaded, PROMPT, 2)
    finally:
        loaded.streamer._pipeline = None
        loaded.close()
