"""Streaming changes nothing: same bits at every residency, slots kept apart, errors and cancels survived."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from engine.backends.torch_backend import CpuBackend
from engine.cancel import Cancelled, CancelToken
from engine.errors import BudgetTooSmall, DamagedFile, OutOfMemory
from engine.events import LayerProgress, PassKind
from engine.generation.kv_cache import KvCache
from engine.generation.torch_runner import TorchRunner
from engine.load_options import LoadOptions
from engine.loading import load_model
from engine.store.manifest import read_manifest
from engine.streaming.block_roles import block_sizes
from engine.streaming.loaded_model import LoadedModel
from engine.streaming.pipeline import StagedPipeline
from engine.streaming.residency import Budgets, Role, Tier
from engine.weights.absent_weight import AbsentWeight
from engine.weights.direct_io import ReadHandle, aligned_buffer
from tests.helpers.families import PlainOutputs, plain_outputs
from tests.helpers.splits import PROMPT, RESIDENCIES, greedy_tokens, load, make_split, residency, streamed_outputs

FAMILIES = ["llama", "qwen3+tied", "gpt2", "mixtral"]


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PlainOutputs]:
    checkpoint, split = make_split(request.param, tmp_path_factory.mktemp("family"))
    return split, plain_outputs(checkpoint, PROMPT, 16)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_split("llama", tmp_path_factory.mktemp("llama"))[1]


@pytest.fixture
def one_slot(llama: Path) -> Iterator[LoadedModel]:
    loaded = load(llama, *residency(llama, "one slot"))
    yield loaded
    loaded.close()


@pytest.mark.parametrize("name", RESIDENCIES)
def test_logits_and_tokens_equal_plain_transformers_bit_for_bit(family: tuple[Path, PlainOutputs], name: str) -> None:
    split, plain = family
    loaded = load(split, *residency(split, name))
    try:
        logits, tokens = streamed_outputs(loaded, PROMPT, 16)
        assert torch.equal(logits, torch.as_tensor(plain.logits))
        assert tuple(tokens) == tuple(plain.token_ids)
        assert loaded.streamer.mispredictions == 0
    finally:
        loaded.close()


def test_every_block_is_streamed_when_only_one_fits(one_slot: LoadedModel) -> None:
    tiers = dict(one_slot.plan.tiers)
    assert {tier for name, tier in tiers.items() if name.startswith("layer")} == {Tier.DISK}


def test_parameters_are_empty_outside_a_pass(one_slot: LoadedModel) -> None:
    greedy_tokens(one_slot, PROMPT, 2)
    layers = one_slot.manifest.layers_path
    streamed = [p for name, p in one_slot.model.named_parameters() if name.startswith(layers)]
    assert streamed
    assert all(isinstance(parameter, AbsentWeight) for parameter in streamed)


def test_the_disk_is_read_once_per_pass_and_only_what_streams(one_slot: LoadedModel) -> None:
    greedy_tokens(one_slot, PROMPT, 1)
    before = one_slot.streamer.bytes_moved()
    greedy_tokens(one_slot, PROMPT, 3)
    moved = one_slot.streamer.bytes_moved().disk - before.disk
    entries = {block.name: block for block in one_slot.manifest.blocks}
    once = sum(
        entries[block.name].data_nbytes
        for block in block_sizes(one_slot.manifest)
        if block.role is Role.ONCE and one_slot.plan.tier(block.name) is Tier.DISK
    )
    rows = (len(set(PROMPT)) + 2) * entries["embed"].weight_nbytes // one_slot.vocabulary_rows
    assert moved == 3 * once + rows


def test_a_cancel_takes_effect_within_one_block(one_slot: LoadedModel) -> None:
    cancel = CancelToken()
    seen: list[str] = []

    def cancel_at_second_block(module: torch.nn.Module, args: object) -> None:
        seen.append("block")
        if len(seen) == 2:
            cancel.cancel()

    layers = one_slot.model.get_submodule(one_slot.manifest.layers_path)
    hooks = [layer.register_forward_pre_hook(cancel_at_second_block) for layer in layers.children()]
    try:
        with pytest.raises(Cancelled):
            TorchRunner(one_slot).prompt_logits(PROMPT, emit=lambda event: None, cancel=cancel)
    finally:
        for hook in hooks:
            hook.remove()
    assert len(seen) == 2


def test_after_a_cancel_the_same_engine_answers_exactly(one_slot: LoadedModel) -> None:
    want = greedy_tokens(one_slot, PROMPT, 8)
    cancel = CancelToken()
    cache = KvCache(one_slot.model)
    cache.reset()
    passes = TorchRunner(one_slot).decode(
        PROMPT, cache, {"do_sample": False}, seed=0, emit=lambda event: None, cancel=cancel
    )
    got = [next(passes) for _ in range(3)]
    cancel.cancel()
    with pytest.raises(Cancelled):
        next(passes)
    assert got == want[:3]
    assert cache.token_ids == PROMPT + want[:2]
    assert greedy_tokens(one_slot, PROMPT, 8) == want
    assert greedy_tokens(one_slot, PROMPT + want[:3], 5, cache) == want[3:]


def test_an_exception_in_the_middle_of_a_pass_leaves_a_usable_engine(one_slot: LoadedModel) -> None:
    want = greedy_tokens(one_slot, PROMPT, 4)

    def fail(module: torch.nn.Module, args: object) -> None:
        raise RuntimeError("a kernel failed")

    layer = one_slot.model.get_submodule(one_slot.manifest.layers_path + ".1")
    hook = layer.register_forward_pre_hook(fail)
    with pytest.raises(RuntimeError, match="a kernel failed"):
        greedy_tokens(one_slot, PROMPT, 1)
    hook.remove()
    assert greedy_tokens(one_slot, PROMPT, 4) == want


def test_a_file_that_shrinks_while_the_model_is_loaded_is_named(tmp_path: Path) -> None:
    _, split = make_split("llama", tmp_path)
    loaded = load(split, *residency(split, "one slot"))
    block = loaded.manifest.block("layer-001")
    path = split / block.file
    whole = path.read_bytes()
    try:
        with path.open("r+b") as file:
            file.truncate(block.data_offset + 100)
        with pytest.raises(DamagedFile) as caught:
            greedy_tokens(loaded, PROMPT, 3)
        assert caught.value.files == (block.file,)
        with path.open("r+b") as file:
            file.write(whole)
        assert greedy_tokens(loaded, PROMPT, 3)
    finally:
        loaded.close()


def test_a_budget_below_one_block_is_refused_before_anything_is_read(llama: Path) -> None:
    with pytest.raises(BudgetTooSmall):
        load(llama, CpuBackend(), Budgets(4096, 0))


def test_layer_progress_counts_blocks_and_bytes_and_names_the_pass(
    one_slot: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.streaming.streamer.PROGRESS_INTERVAL_S", 0.0)
    events: list[LayerProgress] = []
    TorchRunner(one_slot).prompt_logits(PROMPT, emit=events.append, cancel=CancelToken())
    blocks = one_slot.streamer.block_count
    assert [event.block for event in events] == list(range(1, blocks + 1))
    assert {event.kind for event in events} == {PassKind.PREFILL}
    assert [event.bytes_read for event in events] == sorted(event.bytes_read for event in events)
    assert events[-1].bytes_read > 0


def test_no_garbage_is_collected_and_no_slot_allocated_inside_a_pass(
    one_slot: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    greedy_tokens(one_slot, PROMPT, 2)
    collections: list[str] = []
    allocations: list[int] = []
    monkeypatch.setattr(CpuBackend, "allocate_host", lambda self, nbytes: allocations.append(nbytes))
    is_inside = [False]

    def note(phase: str, info: object) -> None:
        if is_inside[0]:
            collections.append(phase)

    gc.callbacks.append(note)
    try:
        layer = one_slot.model.get_submodule(one_slot.manifest.layers_path + ".0")
        enter = layer.register_forward_pre_hook(lambda *_: is_inside.__setitem__(0, True))
        leave = layer.register_forward_hook(lambda *_: is_inside.__setitem__(0, False))
        greedy_tokens(one_slot, PROMPT, 8)
        enter.remove()
        leave.remove()
    finally:
        gc.callbacks.remove(note)
    assert collections == []
    assert allocations == []


def test_closing_gives_the_model_back_without_hooks(llama: Path) -> None:
    loaded = load(llama, *residency(llama, "two slots"))
    loaded.close()
    modules = list(loaded.model.modules())
    assert all(not module._forward_hooks and not module._forward_pre_hooks for module in modules)


def test_a_split_describes_the_order_of_a_pass(llama: Path) -> None:
    names = [block.name for block in read_manifest(llama).blocks]
    layers = [name for name in names if name.startswith("layer")]
    assert layers == sorted(layers)
    assert names[0] == "embed"
    assert names[-1] == "head"


def test_a_disk_error_in_a_row_lookup_names_the_file(one_slot: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object, ids: torch.Tensor) -> torch.Tensor:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("engine.weights.row_table.DiskRowTable.gather", fail)
    with pytest.raises(DamagedFile) as caught:
        greedy_tokens(one_slot, PROMPT, 1)
    assert caught.value.files == ("blocks/embed.safetensors",)


def test_a_failed_open_leaves_no_thread_and_no_file_behind(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[ReadHandle] = []
    real = ReadHandle.__init__

    def fail_at_the_third(self: ReadHandle, path: Path) -> None:
        if len(opened) == 3:
            raise PermissionError(13, "Permission denied", str(path))
        real(self, path)
        opened.append(self)

    monkeypatch.setattr(ReadHandle, "__init__", fail_at_the_third)
    before = {thread for thread in threading.enumerate() if thread.name.startswith("strata-reader")}
    with pytest.raises(PermissionError):
        load(llama, *residency(llama, "one slot"))
    assert {thread for thread in threading.enumerate() if thread.name.startswith("strata-reader")} == before
    for handle in opened:
        with pytest.raises(OSError, match=r"descriptor|handle"):
            handle.read_into(0, aligned_buffer(1))


def test_a_copy_that_a_reader_cannot_start_is_told_where_it_is_waited_for(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load(llama, *residency(llama, "device, one slot"))
    advance = StagedPipeline._advance
    tokens = greedy_tokens(loaded, PROMPT, 2)

    def fail_in_a_reader(self: StagedPipeline) -> None:
        if threading.current_thread().name.startswith("strata-reader"):
            raise torch.OutOfMemoryError("device is full")
        advance(self)

    try:
        with monkeypatch.context() as patch:
            patch.setattr(StagedPipeline, "_advance", fail_in_a_reader)
            with pytest.raises(OutOfMemory):
                greedy_tokens(loaded, PROMPT, 8)
        assert greedy_tokens(loaded, PROMPT, 2) == tokens
    finally:
        loaded.close()


def test_no_memory_at_load_or_in_a_pass_is_the_user_s_situation(
    llama: Path, one_slot: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object, *args: object) -> object:
        raise OSError(12, "Cannot allocate memory")

    with monkeypatch.context() as patch:
        patch.setattr(CpuBackend, "allocate_host", refuse)
        with pytest.raises(OutOfMemory):
            load_model(llama, LoadOptions(device="cpu"), lambda event: None, CancelToken())

    def run_out(module: torch.nn.Module, args: object) -> None:
        raise torch.OutOfMemoryError("device is full")

    layer = one_slot.model.get_submodule(one_slot.manifest.layers_path + ".1")
    hook = layer.register_forward_pre_hook(run_out)
    with pytest.raises(OutOfMemory):
        greedy_tokens(one_slot, PROMPT, 1)
    hook.remove()
    assert greedy_tokens(one_slot, PROMPT, 2)
