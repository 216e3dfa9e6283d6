"""Our Kimi K3 against mlx-lm's on random weights, and streamed against loaded plainly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from engine.backends.torch_backend import CpuBackend
from engine.store.manifest import read_manifest
from engine.streaming.block_roles import block_sizes, expert_sizes
from engine.streaming.loaded_model import LoadedModel
from engine.streaming.residency import Budgets, Role
from engine.weights.packed import expanded
from tests.helpers.families import PlainOutputs
from tests.helpers.kimi_k3 import CASES, published_tensors, tiny_config
from tests.helpers.kimi_k3_checkpoint import (
    load_plain,
    plain_outputs,
    unpack_mxfp4_rows,
    write_checkpoint,
    write_packed_checkpoint,
)
from tests.helpers.kimi_k3_oracle import FAINT, KEPT, PROMPT_TOKENS, SEED, oracle_logits, token_ids
from tests.helpers.splits import PROMPT, cut, load, residency, streamed_outputs

ORACLE = Path(__file__).with_name("kimi_k3_oracle.safetensors")
TOLERANCE = 2e-4
"""float32 on both sides, but sums in different orders: twice the largest difference seen."""
NEW_TOKENS = 12


@pytest.mark.parametrize("case", CASES)
def test_the_model_file_answers_as_mlx_lm_does(case: str, tmp_path: Path) -> None:
    config = tiny_config(**CASES[case])
    seed = SEED + list(CASES).index(case)
    ours = _logits(write_checkpoint(tmp_path / case, config, published_tensors(config, seed), dtype=torch.float32))
    _assert_agree(ours[-KEPT:], load_file(ORACLE)[case])


def test_the_norms_inside_attention_have_the_epsilons_of_mlx_lm(tmp_path: Path) -> None:
    config = tiny_config()
    tensors = published_tensors(config, SEED, is_faint=True)
    ours = _logits(write_checkpoint(tmp_path / "faint", config, tensors, dtype=torch.float32))
    _assert_agree(ours[-KEPT:], load_file(ORACLE)[FAINT])


def test_packed_experts_are_read_as_mlx_reads_them() -> None:
    oracle = load_file(ORACLE)
    codes, exponents, numbers = (oracle[f"MXFP4 {part}"] for part in ("codes", "exponents", "numbers"))
    assert torch.equal(expanded("mxfp4", codes, exponents, (4, 96), torch.float32), numbers)
    assert torch.equal(unpack_mxfp4_rows(codes, exponents), numbers)


def test_mlx_lm_still_answers_as_written_down(tmp_path: Path) -> None:
    pytest.importorskip("mlx_lm", reason="mlx-lm is not installed; tests/helpers/kimi_k3_oracle.py says how")
    config = tiny_config()
    tensors = published_tensors(config, SEED)
    oracle = torch.from_numpy(oracle_logits(config, tensors))
    torch.testing.assert_close(oracle[-KEPT:], load_file(ORACLE)["all of it"])
    _assert_agree(_logits(write_checkpoint(tmp_path / "k3", config, tensors, dtype=torch.float32)), oracle)


def _logits(checkpoint: Path) -> torch.Tensor:
    """float32 [tokens, vocabulary]: one pass over the prompt, then one for each further token, as the oracle does."""
    model: Any = load_plain(checkpoint)
    ids = torch.tensor([token_ids(model.config.get_text_config().vocab_size)])
    with torch.inference_mode():
        out = model(input_ids=ids[:, :PROMPT_TOKENS], use_cache=True)
        rows = [out.logits[0]]
        rows += [
            model(input_ids=ids[:, i : i + 1], cache=out.cache).logits[0] for i in range(PROMPT_TOKENS, ids.shape[1])
        ]
    return torch.cat(rows)


def _assert_agree(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    assert (ours - theirs).abs().max() < TOLERANCE
    assert torch.equal(ours.argmax(-1), theirs.argmax(-1))


@pytest.mark.parametrize("name", ["all resident", "one slot", "half resident", "device, one slot"])
def test_kimi_k3_streams_bit_for_bit(name: str, kimi_k3: tuple[Path, PlainOutputs]) -> None:
    split, plain = kimi_k3
    _assert_streams(load(split, *residency(split, name)), plain)


@pytest.mark.parametrize("name", ["all resident", "one slot", "device, one slot"])
def test_packed_experts_stream_as_what_they_stand_for(name: str, packed_kimi_k3: tuple[Path, PlainOutputs]) -> None:
    split, plain = packed_kimi_k3
    assert all(entry.packed for entry in read_manifest(split).experts)
    _assert_streams(load(split, *residency(split, name)), plain)


@pytest.mark.parametrize("spare", [0, 5])
def test_what_the_cache_of_experts_holds_never_shows(spare: int, kimi_k3: tuple[Path, PlainOutputs]) -> None:
    split, plain = kimi_k3
    manifest = read_manifest(split)
    experts = expert_sizes(manifest.experts)
    assert experts is not None
    blocks = sum(block.nbytes for block in block_sizes(manifest) if block.role is not Role.LOOKUP)
    slots = experts.floor_slots + spare
    loaded = load(split, CpuBackend(), Budgets(blocks + slots * experts.slot_nbytes, 0))
    assert loaded.plan.experts is not None
    assert loaded.plan.experts.count == slots
    _assert_streams(loaded, plain)


def _assert_streams(loaded: LoadedModel, plain: PlainOutputs) -> None:
    try:
        logits, tokens = streamed_outputs(loaded, PROMPT, NEW_TOKENS)
    finally:
        loaded.close()
    assert torch.equal(logits, plain.logits)
    assert tuple(tokens) == plain.token_ids


@pytest.fixture(scope="module")
def kimi_k3(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PlainOutputs]:
    """The split of a checkpoint with everything Kimi K3 has, and what the checkpoint answers when loaded plainly."""
    folder = tmp_path_factory.mktemp("kimi-k3")
    config = tiny_config()
    checkpoint = write_checkpoint(folder / "checkpoint", config, published_tensors(config, SEED))
    return cut(checkpoint, folder), plain_outputs(checkpoint, PROMPT, NEW_TOKENS)


@pytest.fixture(scope="module")
def packed_kimi_k3(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PlainOutputs]:
    """The split of a checkpoint with MXFP4 experts, and what the same numbers in bfloat16 answer loaded plainly."""
    folder = tmp_path_factory.mktemp("kimi-k3-packed")
    config = tiny_config(moe_intermediate_size=64, routed_expert_hidden_size=96)
    packed, plain = write_packed_checkpoint(folder, config, published_tensors(config, SEED))
    return cut(packed, folder), plain_outputs(plain, PROMPT, NEW_TOKENS)
