"""Checkpoints with packed weights: packed in their records, expanded when used, the bits of plain transformers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from engine.backends.simulated import SimulatedBackend
from engine.backends.torch_backend import CpuBackend
from engine.errors import BudgetTooSmall, DamagedFile, UnsupportedModel
from engine.store.manifest import Manifest, manifest_from_json, read_manifest
from engine.store.open_source import open_source
from engine.store.source_plan import plan_source
from engine.store.verifier import verify
from engine.streaming.block_roles import WORKSPACE_BYTES, block_sizes, expert_sizes
from engine.streaming.residency import Budgets, ExpertSizes, Role
from engine.weights.packed import Expander, expanded
from tests.helpers.checkpoints import assert_holds, files_of, stored_tensors
from tests.helpers.families import PlainOutputs, make_checkpoint, plain_outputs
from tests.helpers.quantised_checkpoints import (
    FP8_SETTINGS,
    LINEAR,
    load_expanded,
    make_compressed,
    make_fp8,
    make_mxfp4,
    pack_fp8,
    pack_int4,
    quantise,
)
from tests.helpers.splits import PROMPT, cut, load, streamed_outputs

MAKERS: Mapping[str, Callable[[Path], Path]] = {
    "fp8": make_fp8,
    "mxfp4": make_mxfp4,
    "compressed int4": partial(make_compressed, kind="int4"),
    "compressed mxfp4": partial(make_compressed, kind="mxfp4", family="qwen3_moe"),
    "compressed fp8": partial(make_compressed, kind="fp8", family="mixtral"),
}
NEW_TOKENS = 16


class Cut:
    """One checkpoint, its split, and what plain transformers says once it has expanded everything."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.checkpoint = MAKERS[kind](folder / "checkpoint")
        self.split = cut(self.checkpoint, folder)
        self.plain: PlainOutputs = plain_outputs(self.checkpoint, PROMPT, NEW_TOKENS, load=load_expanded)
        self.manifest: Manifest = read_manifest(self.split)
        sizes = expert_sizes(self.manifest.experts)
        assert sizes is not None
        self.sizes: ExpertSizes = sizes
        self.blocks = sum(block.nbytes for block in block_sizes(self.manifest) if block.role is not Role.LOOKUP)

    def budget(self, slots: int) -> int:
        return self.blocks + slots * self.sizes.slot_nbytes + self.sizes.scratch_nbytes


@pytest.fixture(scope="module", params=list(MAKERS))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Cut:
    return Cut(request.param, tmp_path_factory.mktemp("quantised"))


@pytest.fixture(scope="module")
def fp8(tmp_path_factory: pytest.TempPathFactory) -> Cut:
    return Cut("fp8", tmp_path_factory.mktemp("fp8"))


def checkpoint_tensors(folder: Path) -> dict[str, torch.Tensor]:
    return {name: tensor for shard in folder.glob("*.safetensors") for name, tensor in load_file(shard).items()}


# On disk


def test_records_are_packed_and_all_else_is_what_plain_transformers_loads(made: Cut) -> None:
    plain = load_expanded(made.checkpoint).state_dict()
    stored = stored_tensors(made.split)
    packed = {f"{entry.module}.{tensor.name}" for entry in made.manifest.experts for tensor in entry.packed}
    assert packed
    for name in plain.keys() - packed:
        assert stored[name].dtype == plain[name].dtype, name
        assert torch.equal(stored[name], plain[name]), name
    for entry in made.manifest.experts:
        assert sum(tensor.nbytes for tensor in entry.tensors) < 0.55 * entry.expanded_nbytes + 1024
        for tensor in entry.packed:
            whole = plain[f"{entry.module}.{tensor.name}"]
            assert (tensor.shape, tensor.dtype) == (whole.shape[1:], "BF16")
            for expert in range(entry.count):
                parts = {
                    part: stored[f"{entry.module}.{name}"][expert] for part, name in entry.parts_of(tensor).items()
                }
                out = expanded(
                    tensor.encoding,
                    parts["values"],
                    parts["scales"],
                    (tensor.shape[0], tensor.shape[1]),
                    torch.bfloat16,
                )
                assert torch.equal(out, whole[expert])


def test_the_manifest_says_how_experts_are_packed(made: Cut) -> None:
    assert manifest_from_json(made.manifest.to_json()) == made.manifest
    assert {tensor.encoding for entry in made.manifest.experts for tensor in entry.packed} <= {"scaled", "int", "mxfp4"}


def test_a_flipped_byte_is_found_and_cut_again(fp8: Cut, tmp_path: Path) -> None:
    split = tmp_path / "models" / fp8.split.name
    shutil.copytree(fp8.split, split)
    before = files_of(split)
    entry = fp8.manifest.experts[0]
    damaged = bytearray(before[entry.file])
    damaged[entry.record_offset(3) + entry.tensors[1].offset] ^= 1
    (split / entry.file).write_bytes(damaged)
    with pytest.raises(DamagedFile):
        list(verify(split))
    list(verify(split, repair=True))
    assert files_of(split) == before


@pytest.mark.parametrize("kind", ["fp8", "int4"])
def test_a_model_without_experts_is_expanded_while_it_is_cut(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    if kind == "fp8":
        quantise(make_checkpoint("qwen3", folder), pack_fp8, FP8_SETTINGS)
    else:
        make_compressed(folder, kind, "qwen3", pack=partial(pack_int4, which=LINEAR))
    assert_holds(cut(folder, tmp_path), load_expanded(folder))


# Computing


def test_logits_and_tokens_are_those_of_plain_transformers_whatever_is_cached(made: Cut) -> None:
    for slots in (made.sizes.floor_slots, made.sizes.count // 2, made.sizes.count):
        loaded = load(made.split, CpuBackend(), Budgets(made.budget(slots), 0))
        try:
            assert loaded.plan.experts is not None
            assert loaded.plan.experts.count == slots
            logits, tokens = streamed_outputs(loaded, PROMPT, NEW_TOKENS)
        finally:
            loaded.close()
        assert torch.equal(logits, made.plain.logits)
        assert tuple(tokens) == made.plain.token_ids


def test_a_simulated_device_gives_the_same_within_its_budget(made: Cut) -> None:
    slots = made.sizes.floor_slots + 1
    budget = made.budget(slots)
    device = SimulatedBackend(budget, bytes_per_second=2e9)
    host = 2 * made.sizes.slot_nbytes + sum(block.nbytes for block in block_sizes(made.manifest))
    loaded = load(made.split, device, Budgets(budget, host))
    try:
        logits, tokens = streamed_outputs(loaded, PROMPT, NEW_TOKENS)
    finally:
        loaded.close()
    assert torch.equal(logits, made.plain.logits)
    assert tuple(tokens) == made.plain.token_ids
    assert made.blocks + slots * made.sizes.slot_nbytes < device.peak_bytes <= budget


def test_the_memory_experts_are_expanded_in_counts_in_the_floor(fp8: Cut) -> None:
    always = sum(block.nbytes for block in block_sizes(fp8.manifest) if block.role is Role.ALWAYS)
    block = max(block.nbytes for block in block_sizes(fp8.manifest) if block.role is Role.ONCE)
    expanded_nbytes = max(entry.expanded_nbytes for entry in fp8.manifest.experts)
    need = always + block + fp8.sizes.floor_slots * fp8.sizes.slot_nbytes + expanded_nbytes + WORKSPACE_BYTES
    with pytest.raises(BudgetTooSmall) as caught:
        load(fp8.split, CpuBackend(), Budgets(need - 1, 0))
    assert caught.value.need == need
    load(fp8.split, CpuBackend(), Budgets(need, 0)).close()


# Expanding


@pytest.mark.parametrize("threads", [1, 3])
def test_pieces_and_threads_do_not_change_the_numbers(threads: int) -> None:
    values = torch.randint(-128, 128, (96, 160), dtype=torch.int8)
    scales = torch.rand(6, 5)
    plain = values.float() * scales.repeat_interleave(16, 0).repeat_interleave(32, 1)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        # Less than a block of rows; several blocks; and shares of more than one thread.
        for nbytes in (4 * 160 * 12, 40 * 160 * 12, 3 * 2 << 20):
            expander = Expander(torch.empty(nbytes, dtype=torch.uint8))
            out = torch.full((96, 160), float("nan"))
            expander.expand("scaled", {"values": values, "scales": scales}, out)
            expander.close()
            assert torch.equal(out, plain)
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_every_e4m3_number_and_every_exponent_is_expanded_exactly() -> None:
    bits = torch.arange(256, dtype=torch.int32).to(torch.uint8)
    numbers = bits.view(torch.float8_e4m3fn)
    plain = numbers.float()
    found = expanded("scaled", numbers[None], torch.ones(1, 1), (1, 256), torch.float32)[0]
    is_number = ~plain.isnan()
    assert torch.equal(found[is_number], plain[is_number])
    assert torch.equal(found[is_number].signbit(), plain[is_number].signbit())
    exponents = expanded("scaled", torch.ones(256, 1, dtype=torch.int8), bits[:, None], (256, 1), torch.float32)
    assert torch.equal(exponents[:, 0], torch.ldexp(torch.ones(256), bits.int() - 127))


def test_every_byte_of_mxfp4_with_every_exponent_is_rounded_once() -> None:
    """The table of bfloat16 pairs gives the bits of a float32 product, subnormal, infinite and negative zero too."""
    byte = torch.arange(256, dtype=torch.uint8)
    exponents = torch.arange(256, dtype=torch.uint8)[:, None]
    values = byte.expand(256, 256).contiguous()
    found = expanded("mxfp4", values, exponents, (256, 512), torch.bfloat16)
    e2m1 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
    half = torch.stack((byte & 15, byte >> 4), -1).flatten().long()
    numbers = e2m1[half & 7].copysign(torch.where(half >= 8, -1.0, 1.0))
    wanted = (numbers * torch.exp2(exponents.float() - 127)).to(torch.bfloat16)
    is_number = ~wanted.isnan()
    assert torch.equal(found.isnan(), wanted.isnan())
    assert torch.equal(found[is_number].view(torch.int16), wanted[is_number].view(torch.int16))


def test_four_and_eight_bit_integers_are_those_of_compressed_tensors() -> None:
    from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32

    for bits in (4, 8):
        numbers = torch.randint(-(1 << bits - 1), 1 << bits - 1, (24, 64), dtype=torch.int8)
        scales = torch.rand(24, 2).to(torch.bfloat16)
        plain = numbers.to(torch.bfloat16).view(24, 2, 32) * scales[:, :, None]
        found = expanded("int", pack_to_int32(numbers, bits), scales, (24, 64), torch.bfloat16)
        assert torch.equal(found, plain.view(24, 64))


def test_what_is_no_whole_number_of_blocks_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\[24, 9\] .* with \[24, 2\] scales"):
        expanded("int", torch.zeros(24, 9, dtype=torch.int32), torch.ones(24, 2), (24, 64), torch.bfloat16)


# Refusing


def with_settings(folder: Path, **settings: object) -> Path:
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] |= settings
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def groups(**weights: object) -> dict[str, object]:
    usual = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": 32}
    return {"config_groups": {"group_0": {"targets": ["Linear"], "weights": {**usual, **weights}}}}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (groups(symmetric=False), "weights with zero points"),
        (groups(num_bits=3), "format pack-quantized with int weights of 3 bits"),
        (groups(actorder="group"), "weights in another order than their scales"),
        ({**groups(type="float"), "format": "nvfp4-pack-quantized"}, "format nvfp4-pack-quantized"),
        ({**groups(), "transform_config": {"config_groups": {"a": {}}}}, "rotated weights"),
        ({**groups(), "sparsity_config": {"format": "sparse-24-bitmask"}}, "sparse weights, sparse-24-bitmask"),
        ({"config_groups": {}}, "no groups of weights"),
    ],
)
def test_a_format_that_is_not_served_is_refused_from_its_config(
    settings: dict[str, object], reason: str, int4_checkpoint: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(int4_checkpoint, tmp_path / "checkpoint"))
    for shard in folder.glob("*.safetensors"):
        shard.unlink()
    with pytest.raises(UnsupportedModel) as caught:
        open_source(with_settings(folder, **settings))
    assert caught.value.message.startswith(f"This checkpoint is quantised (compressed-tensors: {reason}")


@pytest.fixture(scope="module")
def int4_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_compressed(tmp_path_factory.mktemp("int4") / "checkpoint", "int4")


def test_embeddings_with_scales_are_refused(fp8: Cut, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(fp8.checkpoint, tmp_path / "checkpoint"))
    with pytest.raises(UnsupportedModel, match="fp8: embeddings with scales"):
        open_source(with_settings(folder, modules_to_convert=["embed_tokens"]))


def test_scales_that_nothing_applies_are_refused(tmp_path: Path) -> None:
    """Plain transformers takes the packed numbers for the weights."""

    def pack(name: str, weight: torch.Tensor) -> dict[str, torch.Tensor] | None:
        packed = pack_fp8(name, weight)
        return packed and {n.replace("scale_inv", "scale"): tensor for n, tensor in packed.items()}

    folder = quantise(make_checkpoint("llama", tmp_path / "checkpoint"), pack, FP8_SETTINGS)
    with pytest.raises(UnsupportedModel, match=r"weight_scale is not applied"):
        plan_source(open_source(folder))
    folder = quantise(
        make_checkpoint("llama", tmp_path / "bare"),
        lambda name, weight: (packed := pack_fp8(name, weight)) and {name: packed[name]},
        FP8_SETTINGS,
    )
    with pytest.raises(UnsupportedModel, match=r"proj.weight has no scales"):
        plan_source(open_source(folder))


def test_a_matrix_whose_last_block_is_cut_off_is_expanded_all_the_same(tmp_path: Path) -> None:
    """DeepSeek-V3 has them (576 rows in blocks of 128); transformers 5.24 refuses them."""
    folder = make_checkpoint("deepseek_v3", tmp_path / "checkpoint")
    weights = checkpoint_tensors(folder)
    quantise(folder, partial(pack_fp8, block=24), {**FP8_SETTINGS, "weight_block_size": [24, 24]})
    packed = checkpoint_tensors(folder)
    stored = stored_tensors(cut(folder, tmp_path))
    for name in ("model.layers.1.self_attn.kv_a_proj_with_mqa.weight", "model.layers.0.mlp.up_proj.weight"):
        rows, columns = weights[name].shape
        assert rows % 24 or columns % 24
        scales = packed[f"{name}_scale_inv"].repeat_interleave(24, 0).repeat_interleave(24, 1)[:rows, :columns]
        assert torch.equal(stored[name], (packed[name].float() * scales).to(torch.bfloat16))
