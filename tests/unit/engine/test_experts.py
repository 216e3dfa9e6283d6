"""Routed experts: records on disk, read when a token wants them, bit for bit what plain transformers computes."""

from __future__ import annotations

import inspect
import json
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.backends.base import Backend
from engine.backends.simulated import SimulatedBackend
from engine.backends.torch_backend import CpuBackend
from engine.cancel import Cancelled, CancelToken
from engine.errors import BudgetTooSmall, DamagedFile
from engine.events import LayerProgress
from engine.generation.kv_cache import KvCache
from engine.generation.torch_runner import TorchRunner
from engine.models import structure
from engine.models.served_experts import _eager_forward, _sums_in_its_own_dtype
from engine.store.manifest import FILE_ALIGNMENT, MANIFEST_NAME, ExpertsEntry, read_manifest
from engine.store.verifier import check_sizes, verify
from engine.streaming import experts as experts_module
from engine.streaming.block_roles import block_sizes, expert_sizes
from engine.streaming.expert_slots import Arrival
from engine.streaming.expert_uses import USES_NAME, ExpertUses
from engine.streaming.loaded_model import LoadedModel
from engine.streaming.residency import Budgets, Role
from engine.weights.absent_weight import AbsentWeight
from engine.weights.direct_io import ReadHandle
from tests.helpers.checkpoints import assert_holds, files_of
from tests.helpers.families import PlainOutputs, build_model, load_plain, make_checkpoint, plain_outputs
from tests.helpers.splits import PROMPT, cut, greedy_tokens, load, streamed_outputs

FAMILIES = ["qwen3_moe", "gpt_oss", "deepseek_v3", "mixtral", "nemotron_h", "inkling2_text", "llama4_text"]
"""Usual; transposed, interleaved and biased; shared experts; other names; no gate; summed up in float32; batched."""
NEW_TOKENS = 16


class Cut:
    """One family: its checkpoint, its split, and what plain transformers says."""

    def __init__(self, family: str, folder: Path) -> None:
        self.checkpoint = make_checkpoint(family, folder / "checkpoint")
        self.split = cut(self.checkpoint, folder)
        self.plain: PlainOutputs = plain_outputs(self.checkpoint, PROMPT, NEW_TOKENS)
        self.manifest = read_manifest(self.split)
        sizes = expert_sizes(self.manifest.experts)
        assert sizes is not None
        self.sizes = sizes
        self.blocks = sum(block.nbytes for block in block_sizes(self.manifest) if block.role is not Role.LOOKUP)

    def budget(self, slots: int) -> int:
        return self.blocks + slots * self.sizes.slot_nbytes

    def load(self, slots: int) -> LoadedModel:
        """On the processor, all blocks resident, with ``slots`` for experts."""
        loaded = load(self.split, CpuBackend(), Budgets(self.budget(slots), 0))
        assert loaded.plan.experts is not None
        assert loaded.plan.experts.count == slots
        return loaded

    def assert_equal(self, loaded: LoadedModel) -> None:
        logits, tokens = streamed_outputs(loaded, PROMPT, NEW_TOKENS)
        assert torch.equal(logits, torch.as_tensor(self.plain.logits))
        assert tuple(tokens) == tuple(self.plain.token_ids)


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Cut:
    return Cut("qwen3_moe", tmp_path_factory.mktemp("qwen3_moe"))


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Cut:
    return Cut(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture
def floor_cache(qwen: Cut) -> Iterator[LoadedModel]:
    loaded = qwen.load(qwen.sizes.floor_slots)
    yield loaded
    loaded.close()


def decode_one(loaded: LoadedModel, prompt: list[int]) -> None:
    greedy_tokens(loaded, prompt, 1)


def watch_routing(loaded: LoadedModel) -> list[tuple[str, frozenset[int]]]:
    """What the routers chose, told by them or by the experts modules: (module, experts) for each forward."""
    seen: list[tuple[str, frozenset[int]]] = []
    for entry in loaded.manifest.experts:
        assert entry.module is not None

        def watch(module: Any, args: tuple[Any, ...], name: str = entry.module) -> None:
            seen.append((name, frozenset(args[1].flatten().tolist())))

        def watch_scores(module: Any, args: object, output: tuple[Any, ...], name: str = entry.module) -> None:
            seen.append((name, frozenset(output[0].any(0).nonzero().flatten().tolist())))

        if loaded.manifest.architecture == "Llama4ForCausalLM":
            router = loaded.model.get_submodule(entry.module.removesuffix("experts") + "router")
            router.register_forward_hook(watch_scores)
        else:
            loaded.model.get_submodule(entry.module).register_forward_pre_hook(watch)
    return seen


# On disk


def test_experts_are_in_records_of_their_own_and_nothing_is_lost(family: Cut) -> None:
    assert_holds(family.split, load_plain(family.checkpoint))
    packed = {f"{entry.module}.{tensor.name}" for entry in family.manifest.experts for tensor in entry.tensors}
    in_blocks = {tensor.name for block in family.manifest.blocks for tensor in block.tensors}
    assert packed
    assert not packed & in_blocks
    for entry in family.manifest.experts:
        assert entry.record_offset(0) % FILE_ALIGNMENT == entry.stride % FILE_ALIGNMENT == 0
        assert entry.record_nbytes <= entry.stride
        assert entry.record_offset(entry.count - 1) + entry.record_nbytes == entry.size


def test_a_record_holds_one_expert_whole(qwen: Cut) -> None:
    entry = qwen.manifest.experts[1]
    data = (qwen.split / entry.file).read_bytes()
    state = load_plain(qwen.checkpoint).state_dict()
    for expert in range(entry.count):
        for tensor in entry.tensors:
            start = entry.record_offset(expert) + tensor.offset
            plain = state[f"{entry.module}.{tensor.name}"][expert].contiguous().view(torch.uint8)
            assert data[start : start + tensor.nbytes] == plain.numpy().tobytes()


def test_a_split_made_before_experts_had_records_still_runs(
    qwen: Cut, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(structure, "_take_out_experts", lambda *_: None)
    old = cut(qwen.checkpoint, tmp_path)
    manifest = json.loads((old / MANIFEST_NAME).read_text())
    assert manifest.pop("experts") == []
    (old / MANIFEST_NAME).write_text(json.dumps(manifest))
    loaded = load(old, CpuBackend(), Budgets(10**8, 0))
    assert loaded.plan.experts is None
    qwen.assert_equal(loaded)
    loaded.close()


def test_a_flipped_byte_is_found_and_that_file_alone_is_cut_again(qwen: Cut, tmp_path: Path) -> None:
    split = tmp_path / "models" / qwen.split.name
    shutil.copytree(qwen.split, split)
    before = files_of(split)
    entry = qwen.manifest.experts[1]
    damaged = bytearray(before[entry.file])
    damaged[entry.record_offset(2) + 5] ^= 1
    (split / entry.file).write_bytes(damaged)
    times = {path: path.stat().st_mtime_ns for path in split.rglob("*.safetensors")}
    with pytest.raises(DamagedFile) as caught:
        list(verify(split))
    assert caught.value.files == (entry.file,)
    list(verify(split, repair=True))
    assert files_of(split) == before
    changed = {path for path, time in times.items() if path.stat().st_mtime_ns != time}
    assert changed == {split / entry.file}


def test_a_missing_file_of_experts_is_named_when_loading(qwen: Cut, tmp_path: Path) -> None:
    split = tmp_path / qwen.split.name
    shutil.copytree(qwen.split, split)
    name = qwen.manifest.experts[0].file
    (split / name).unlink()
    with pytest.raises(DamagedFile) as caught:
        check_sizes(split, qwen.manifest)
    assert caught.value.files == (name,)


# Computing


def test_logits_and_tokens_are_those_of_plain_eager_whatever_is_cached(family: Cut) -> None:
    floor, every = family.sizes.floor_slots, family.sizes.count
    for slots in sorted({floor, floor + 1, max(every // 4, floor), every // 2, every}):
        loaded = family.load(slots)
        try:
            family.assert_equal(loaded)
            family.assert_equal(loaded)
        finally:
            loaded.close()


def test_a_simulated_device_gives_the_same_within_its_budget(family: Cut) -> None:
    for slots in (family.sizes.floor_slots, family.sizes.count // 2):
        budget = family.budget(slots)
        device = SimulatedBackend(budget, bytes_per_second=2e9)
        host = 2 * family.sizes.slot_nbytes + sum(b.nbytes for b in block_sizes(family.manifest))
        loaded = load(family.split, device, Budgets(budget, host))
        try:
            family.assert_equal(loaded)
        finally:
            loaded.close()
        assert 0.8 * budget <= device.peak_bytes <= budget


@pytest.mark.parametrize("host_slots", [1, 3, 100])
def test_main_memory_keeps_experts_that_the_device_has_no_room_for(family: Cut, host_slots: int) -> None:
    budget = family.budget(family.sizes.floor_slots)
    lookups = sum(b.nbytes for b in block_sizes(family.manifest) if b.role is Role.LOOKUP)
    host = host_slots * family.sizes.slot_nbytes + (lookups if host_slots > family.sizes.count else 0)
    loaded = load(family.split, SimulatedBackend(budget, bytes_per_second=2e9), Budgets(budget, host))
    try:
        assert loaded.plan.experts is not None
        assert 1 <= loaded.plan.experts.host <= min(host_slots, family.sizes.count)
        family.assert_equal(loaded)
        counts = loaded.streamer.expert_counts
        first = replace(counts)
        family.assert_equal(loaded)
        assert counts.host_nbytes == counts.host_hits * (counts.read_nbytes // counts.misses)
        if host_slots >= family.sizes.count:
            assert loaded.plan.experts.host == family.sizes.count
            assert counts.misses == first.misses
            assert counts.host_hits > 2 * first.host_hits > 0
            assert loaded.streamer.bytes_moved().host >= counts.host_nbytes
    finally:
        loaded.close()


def test_an_expert_that_did_not_arrive_is_read_again(qwen: Cut, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a discrete device, where what was read would stay in main memory."""
    budget = qwen.budget(qwen.sizes.floor_slots)
    host = sum(b.nbytes for b in block_sizes(qwen.manifest)) + qwen.sizes.count * qwen.sizes.slot_nbytes
    loaded = load(qwen.split, SimulatedBackend(budget), Budgets(budget, host))
    read_into = ReadHandle.read_into
    reads: list[int] = []

    def fail_sometimes(self: ReadHandle, offset: int, destination: memoryview) -> int:
        if self.path.parent.name == "experts":
            reads.append(offset)
            if len(reads) % 3 == 0:
                raise OSError(5, "no")
        return read_into(self, offset, destination)

    monkeypatch.setattr(ReadHandle, "read_into", fail_sometimes)
    try:
        for _ in range(3):
            with pytest.raises((OSError, DamagedFile)):
                greedy_tokens(loaded, PROMPT, 1)
        monkeypatch.setattr(ReadHandle, "read_into", read_into)
        qwen.assert_equal(loaded)
    finally:
        loaded.close()


def test_a_copy_that_cannot_be_started_leaves_a_model_that_goes_on(qwen: Cut, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = qwen.budget(qwen.sizes.floor_slots)
    host = sum(b.nbytes for b in block_sizes(qwen.manifest)) + qwen.sizes.count * qwen.sizes.slot_nbytes
    device = SimulatedBackend(budget)
    loaded = load(qwen.split, device, Budgets(budget, host))
    copies: list[int] = []

    def refuse(*_: object) -> None:
        copies.append(1)
        raise RuntimeError("no stream")

    try:
        qwen.assert_equal(loaded)
        hits = loaded.streamer.expert_counts.host_hits
        with monkeypatch.context() as refusing:
            refusing.setattr(device, "start_copy", refuse)
            with pytest.raises(RuntimeError, match="no stream"):
                greedy_tokens(loaded, PROMPT, 1)
        assert copies
        assert loaded.streamer.expert_counts.host_hits > hits
        qwen.assert_equal(loaded)
    finally:
        loaded.close()


def test_blocks_stream_beside_the_experts_where_little_is_allowed(qwen: Cut) -> None:
    sizes = block_sizes(qwen.manifest)
    always = sum(block.nbytes for block in sizes if block.role is Role.ALWAYS)
    block = max(block.nbytes for block in sizes if block.role is Role.ONCE)
    budget = always + block + qwen.sizes.floor_slots * qwen.sizes.slot_nbytes
    backends: list[tuple[Backend, int]] = [
        (CpuBackend(), 0),
        (SimulatedBackend(budget), 2 * block + qwen.sizes.slot_nbytes),
    ]
    for backend, host in backends:
        loaded = load(qwen.split, backend, Budgets(budget, host))
        try:
            assert loaded.plan.device_slots
            qwen.assert_equal(loaded)
        finally:
            loaded.close()


@pytest.mark.parametrize(
    ("family", "is_own"), [("qwen3_moe", True), ("gpt_oss", True), ("deepseek_v4", True), ("nemotron_h", False)]
)
def test_what_we_take_from_the_experts_interface_is_still_there(family: str, is_own: bool) -> None:
    """Fails loudly where a new transformers moves it: the wrapped eager code, its arguments, how it adds up."""
    model = build_model(family)
    module = next(module for module in model.modules() if structure.has_separate_experts(module))
    eager = _eager_forward(module)
    assert eager is not type(module).forward
    assert len(inspect.signature(eager).parameters) == 4
    assert _sums_in_its_own_dtype(eager) is is_own


# Counting


@pytest.mark.parametrize("family", ["qwen3_moe", "llama4_text"], indirect=True)
def test_bytes_read_are_those_of_the_routed_experts_that_were_not_there(family: Cut) -> None:
    loaded = family.load(family.sizes.count)
    entries = {entry.module: entry for entry in family.manifest.experts}
    seen = watch_routing(loaded)
    try:
        before = loaded.streamer.bytes_moved().disk
        greedy_tokens(loaded, PROMPT, 4)
        wanted = {(name, expert) for name, experts in seen for expert in experts}
        expected = sum(entries[name].record_nbytes for name, _ in wanted)
        counts = loaded.streamer.expert_counts
        assert counts.read_nbytes == expected
        assert counts.misses == len(wanted)
        assert counts.hits == sum(len(experts) for _, experts in seen) - len(wanted)
        rows = loaded.streamer.bytes_moved().disk - before - expected
        assert rows < expected
    finally:
        loaded.close()


def test_once_everything_is_there_nothing_is_read(qwen: Cut) -> None:
    loaded = qwen.load(qwen.sizes.count)
    try:
        greedy_tokens(loaded, PROMPT, NEW_TOKENS)
        before = replace(loaded.streamer.expert_counts)
        greedy_tokens(loaded, PROMPT, NEW_TOKENS)
        after = loaded.streamer.expert_counts
        assert (after.misses, after.read_nbytes) == (before.misses, before.read_nbytes)
        assert after.hits > before.hits
    finally:
        loaded.close()


def test_a_prompt_reads_each_expert_it_needs_once_a_layer_however_few_slots(
    qwen: Cut, floor_cache: LoadedModel
) -> None:
    seen = watch_routing(floor_cache)
    runner = TorchRunner(floor_cache)
    runner.prompt_logits(PROMPT, emit=lambda event: None, cancel=CancelToken())
    counts = floor_cache.streamer.expert_counts
    assert max(len(experts) for _, experts in seen) > qwen.sizes.floor_slots
    assert counts.misses == sum(len(experts) for _, experts in seen)
    before = replace(counts)
    runner.prompt_logits(PROMPT, emit=lambda event: None, cancel=CancelToken())
    again = counts.misses - before.misses + counts.hits - before.hits
    assert again == before.misses
    assert counts.misses - before.misses <= before.misses


def test_progress_counts_the_experts_bytes(qwen: Cut, floor_cache: LoadedModel) -> None:
    events: list[LayerProgress] = []
    floor_cache.streamer._last_emit = -1e9
    cache = KvCache(floor_cache.model)
    cache.reset()
    passes = TorchRunner(floor_cache).decode(
        PROMPT,
        cache,
        {"do_sample": False},
        seed=0,
        emit=lambda event: events.append(event) if isinstance(event, LayerProgress) else None,
        cancel=CancelToken(),
    )
    next(passes)
    passes.close()
    assert events[0].bytes_read >= qwen.manifest.experts[0].record_nbytes


def test_what_is_there_is_computed_while_the_rest_is_read(qwen: Cut, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = qwen.load(qwen.sizes.count)
    seen = watch_routing(loaded)
    entry = qwen.manifest.experts[0]
    runner = TorchRunner(loaded)
    plain = runner.prompt_logits(PROMPT[:1], emit=lambda event: None, cancel=CancelToken())
    experts = loaded.streamer._experts
    assert experts is not None
    # In the experts' own order this one would be waited for before any other is computed.
    experts._cache.drop((0, min(seen[0][1])))
    has_computed = threading.Event()
    was_computed: list[bool] = []
    read_into = ReadHandle.read_into

    def read_late(self: ReadHandle, offset: int, destination: memoryview) -> int:
        if self.path.name == Path(entry.file).name and self.path.parent.name == "experts":
            was_computed.append(has_computed.wait(5))
        return read_into(self, offset, destination)

    monkeypatch.setattr(ReadHandle, "read_into", read_late)
    act: Any = loaded.model.get_submodule(str(entry.module)).act_fn
    act.register_forward_hook(lambda *_: has_computed.set())
    try:
        logits = runner.prompt_logits(PROMPT[:1], emit=lambda event: None, cancel=CancelToken())
    finally:
        loaded.close()
    assert was_computed == [True]
    assert torch.equal(logits, plain)


def test_the_start_of_an_expert_is_computed_with_while_its_end_is_read(
    qwen: Cut, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no other expert to compute meanwhile, and a slot that is given away right afterwards."""
    monkeypatch.setattr(experts_module, "CHUNK_BYTES", 4096)
    entry = qwen.manifest.experts[0]
    down = next(tensor for tensor in entry.tensors if "down" in tensor.name)
    assert down.offset % 4096 == 0
    has_computed = threading.Event()
    was_computed: list[bool] = []
    read_into = ReadHandle.read_into

    def read_late(self: ReadHandle, offset: int, destination: memoryview) -> int:
        if self.path.parent.name == "experts" and (offset - entry.data_offset) % entry.stride >= down.offset:
            was_computed.append(has_computed.wait(5))
        return read_into(self, offset, destination)

    monkeypatch.setattr(ReadHandle, "read_into", read_late)
    loaded = qwen.load(qwen.sizes.floor_slots)
    act: Any = loaded.model.get_submodule(str(entry.module)).act_fn
    act.register_forward_hook(lambda *_: has_computed.set())
    try:
        qwen.assert_equal(loaded)
    finally:
        loaded.close()
    assert was_computed
    assert all(was_computed)


# Refusing, failing, cancelling


def test_an_expert_whose_end_fails_while_its_start_is_used_is_not_computed_with(
    qwen: Cut, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experts_module, "CHUNK_BYTES", 4096)
    entry = qwen.manifest.experts[0]
    down = next(tensor for tensor in entry.tensors if "down" in tensor.name)
    may_fail = threading.Event()
    failed: list[int] = []
    read_into = ReadHandle.read_into
    wait = Arrival.wait

    def fail_once(self: ReadHandle, offset: int, destination: memoryview) -> int:
        is_end = self.path.parent.name == "experts" and (offset - entry.data_offset) % entry.stride >= down.offset
        if is_end and not failed:
            failed.append(offset)
            may_fail.wait(5)
            raise OSError(5, "no")
        return read_into(self, offset, destination)

    def wait_until_it_failed(self: Arrival, timeout_s: float, nbytes: int) -> bool:
        is_there = wait(self, timeout_s, nbytes)
        if is_there and not self.ticket.is_done:
            may_fail.set()
            self.ticket.settle()
        return is_there

    loaded = qwen.load(qwen.sizes.floor_slots)
    try:
        with monkeypatch.context() as failing:
            failing.setattr(ReadHandle, "read_into", fail_once)
            failing.setattr(Arrival, "wait", wait_until_it_failed)
            with pytest.raises((OSError, DamagedFile)):
                greedy_tokens(loaded, PROMPT, 1)
        qwen.assert_equal(loaded)
    finally:
        loaded.close()


def test_a_cache_below_one_tokens_experts_is_refused_with_the_numbers(qwen: Cut) -> None:
    floor = qwen.sizes.floor_slots * qwen.sizes.slot_nbytes
    sizes = block_sizes(qwen.manifest)
    always = sum(block.nbytes for block in sizes if block.role is Role.ALWAYS)
    need = always + max(block.nbytes for block in sizes if block.role is Role.ONCE) + floor
    with pytest.raises(BudgetTooSmall, match="the experts one token uses") as caught:
        load(qwen.split, CpuBackend(), Budgets(need - 1, 0))
    assert (caught.value.need, caught.value.have) == (need, need - 1)
    load(qwen.split, CpuBackend(), Budgets(need, 0)).close()


def test_a_file_that_ends_early_is_named_and_the_model_goes_on_once_it_is_whole(qwen: Cut, tmp_path: Path) -> None:
    split = tmp_path / qwen.split.name
    shutil.copytree(qwen.split, split)
    entry = qwen.manifest.experts[1]
    whole = (split / entry.file).read_bytes()
    private = replace_split(qwen, split)
    loaded = private.load(private.sizes.floor_slots)
    try:
        (split / entry.file).write_bytes(whole[: entry.data_offset])
        with pytest.raises(DamagedFile) as caught:
            decode_one(loaded, PROMPT)
        assert caught.value.files == (entry.file,)
        (split / entry.file).write_bytes(whole)
        private.assert_equal(loaded)
    finally:
        loaded.close()


def replace_split(made: Cut, split: Path) -> Cut:
    """The same with its files in another folder."""
    other = object.__new__(Cut)
    vars(other).update(vars(made), split=split)
    return other


def test_cancelling_within_a_layer_leaves_a_model_that_goes_on(qwen: Cut, floor_cache: LoadedModel) -> None:
    cancel = CancelToken()
    last = qwen.manifest.experts[-1].module
    assert last is not None
    calls: list[int] = []

    def leave(*_: object) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise Cancelled

    # In the middle of the last experts' forward: its reads are under way.
    act_fn: Any = floor_cache.model.get_submodule(last).act_fn
    act = act_fn.register_forward_pre_hook(leave)
    with pytest.raises(Cancelled):
        TorchRunner(floor_cache).prompt_logits(PROMPT, emit=lambda event: None, cancel=cancel)
    act.remove()
    qwen.assert_equal(floor_cache)


def test_closing_gives_the_modules_their_parameters_back(qwen: Cut) -> None:
    loaded = qwen.load(qwen.sizes.count)
    module = loaded.model.get_submodule(str(qwen.manifest.experts[0].module))
    assert not isinstance(module.gate_up_proj, torch.Tensor)
    loaded.close()
    assert isinstance(module.gate_up_proj, AbsentWeight)


def test_a_dense_model_has_no_experts(tmp_path: Path) -> None:
    split = cut(make_checkpoint("llama", tmp_path / "checkpoint"), tmp_path)
    assert read_manifest(split).experts == ()
    assert not (split / "experts").exists()
    assert not any(isinstance(entry, ExpertsEntry) for entry in read_manifest(split).files)


# From one run to the next


def test_counts_are_kept_and_wrong_ones_are_ignored(qwen: Cut, tmp_path: Path) -> None:
    split = tmp_path / qwen.split.name
    shutil.copytree(qwen.split, split)
    path = split / USES_NAME
    path.unlink(missing_ok=True)
    private = replace_split(qwen, split)
    uses = ExpertUses(split, qwen.manifest.experts)
    private.load(private.sizes.floor_slots).close()
    assert not path.exists()
    assert uses.read() == {}
    loaded = private.load(private.sizes.floor_slots)
    experts = loaded.streamer._experts
    assert experts is not None
    private.assert_equal(loaded)
    counted = experts._cache.uses()
    loaded.close()
    assert uses.read() == pytest.approx({key: value for key, value in counted.items() if value >= 0.01}, abs=1e-3)
    again = private.load(private.sizes.floor_slots)
    assert again.streamer._experts is not None
    assert again.streamer._experts._cache.uses() == pytest.approx(uses.read())
    again.close()
    whole = json.loads(path.read_text())
    misfits: list[dict[str, object]] = [{**whole, "experts": []}, {**whole, "uses": [[[99, 1.0]], [["a"]]]}]
    for wrong in ("{", "[]", *map(json.dumps, misfits)):
        path.write_text(wrong)
        assert uses.read() == {}
    path.unlink()
    path.mkdir()  # can be neither read nor replaced
    assert uses.read() == {}
    uses.write(counted)
    list(verify(split))
