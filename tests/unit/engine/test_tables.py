"""Lookup tables: cut into files of their own, never read but for the rows a pass names; and what is kept for drafts."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import AutoConfig, Gemma3nConfig

from engine.cancel import CancelToken
from engine.errors import DamagedFile
from engine.models import structure
from engine.store.manifest import read_manifest
from engine.store.model_store import ModelStore
from engine.store.verifier import verify
from engine.weights.direct_io import ReadHandle
from engine.weights.reader import Reader
from engine.weights.row_table import SCRATCH_BYTES, DiskRowTable, HostRowTable, LookupWeight
from tests.helpers.checkpoints import raw
from tests.helpers.families import load_plain, make_checkpoint, plain_outputs
from tests.helpers.splits import PROMPT, cut, load, residency, streamed_outputs

RESIDENCIES = ("all resident", "one slot", "device, one slot")
TABLES = {
    "qwen4_exp_text": ["model.layers.0.ple.ple_embedding.ngram_embedding"],
    "gemma3n_text": ["model.embed_tokens_per_layer"],
    "gemma4_text": ["model.embed_tokens_per_layer"],
}
NEW_TOKENS = 16
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny model's tables are cut as large ones."""
    monkeypatch.setattr(structure, "TABLE_BYTES", 4096)


def rows_named(folder: Path, module: str) -> list[int]:
    """How many different rows of an embedding each pass of plain transformers asks for."""
    model: Any = load_plain(folder)
    seen: list[int] = []
    model.get_submodule(module).register_forward_pre_hook(lambda _, args: seen.append(len(torch.unique(args[0]))))
    ids = torch.tensor([PROMPT])
    model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW_TOKENS)
    return seen


@pytest.mark.slow
@pytest.mark.parametrize(
    "family", [pytest.param(each, marks=[pytest.mark.family_walk] if each == "gemma4_text" else []) for each in TABLES]
)
def test_a_model_with_tables_streams_bit_for_bit_and_reads_only_the_rows_it_names(family: str, tmp_path: Path) -> None:
    checkpoint = make_checkpoint(family, tmp_path / "checkpoint")
    plain = plain_outputs(checkpoint, PROMPT, NEW_TOKENS)
    split = cut(checkpoint, tmp_path)
    manifest = read_manifest(split)
    assert [entry.module for entry in manifest.tables] == TABLES[family]
    named = rows_named(checkpoint, *TABLES[family])
    for name in RESIDENCIES:
        loaded = load(split, *residency(split, name))
        try:
            logits, tokens = streamed_outputs(loaded, PROMPT, NEW_TOKENS)
            rows = loaded.streamer.rows_read
            bytes_of_rows = sum(table.bytes_read for table in loaded.streamer._tables.values())
        finally:
            loaded.close()
        assert torch.equal(logits, plain.logits), name
        assert tuple(tokens) == plain.token_ids, name
        for entry in manifest.tables:
            (tensor,) = entry.tensors
            # Once for the logits of the prompt, then for the answer.
            assert len(named) == NEW_TOKENS
            assert rows[tensor.name] == named[0] + sum(named)
            assert bytes_of_rows >= rows[tensor.name] * tensor.nbytes // tensor.shape[0]


def test_tables_are_in_no_budget_and_counted_as_bytes_on_the_disk(tmp_path: Path) -> None:
    split = cut(make_checkpoint("gemma3n_text", tmp_path / "checkpoint"), tmp_path)
    manifest = read_manifest(split)
    loaded = load(split, *residency(split, "all resident"))
    try:
        planned = dict(loaded.plan.tiers)
        assert loaded.plan.streamed_bytes == 0
        assert loaded.plan.device_bytes <= sum(-(-block.data_nbytes // 4096) * 4096 for block in manifest.blocks)
    finally:
        loaded.close()
    assert not {entry.name for entry in manifest.tables} & set(planned)


def test_rows_of_a_table_are_contiguous_under_its_own_name(tmp_path: Path) -> None:
    checkpoint = make_checkpoint("qwen4_exp_text", tmp_path / "checkpoint")
    split = cut(checkpoint, tmp_path)
    (entry,) = read_manifest(split).tables
    assert entry.file == "tables/layer-000-ngram-embedding.safetensors"
    name = f"{entry.module}.weight"
    with safe_open(split / entry.file, "pt") as file:
        assert raw(file.get_tensor(name)) == raw(load_plain(checkpoint).state_dict()[name])


@pytest.fixture
def reader() -> Iterator[Reader]:
    reader = Reader(2)
    yield reader
    reader.close()


def test_more_rows_than_the_scratch_memory_holds_come_in_batches(reader: Reader, tmp_path: Path) -> None:
    rows = torch.arange(3 * SCRATCH_BYTES // 8192 * 40, dtype=torch.int32).reshape(-1, 40)
    (tmp_path / "rows").write_bytes(b"head" * 25 + raw(rows))
    with ReadHandle(tmp_path / "rows", is_random=True) as handle:
        table = DiskRowTable(reader, handle, 100, tuple(rows.shape), torch.int32)
        ids = torch.randperm(len(rows))[: SCRATCH_BYTES // 8192 * 2 + 7]
        assert torch.equal(table.gather(ids), rows[ids])
        assert len(table._scratch) <= SCRATCH_BYTES
    assert table.rows_read == len(ids)
    assert table.bytes_read == len(ids) * 160


class Shifted(nn.Embedding):
    """As learned positions of some families: the rows it looks up are not its argument."""

    def forward(self, start: int, ids: torch.Tensor) -> torch.Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().forward(ids + start) * self.weight.dtype.itemsize


@pytest.mark.parametrize(
    "ids", [torch.tensor([[5, 1, 5], [0, 9, 1]]), torch.tensor(4), torch.tensor([], dtype=torch.long)]
)
def test_a_lookup_equals_one_in_the_whole_matrix(ids: torch.Tensor) -> None:
    whole = Shifted(12, 3, padding_idx=7)
    plain = whole(2, ids)
    table = HostRowTable(whole.weight.detach().clone())
    empty = torch.empty(12, 3, device="meta")
    whole._parameters["weight"] = LookupWeight.of("w", empty, CPU).served_by(table, nullcontext)  # pyright: ignore[reportArgumentType]
    assert torch.equal(whole(2, ids), plain)


@pytest.mark.parametrize("index", [7, -2, (7,), (7, slice(None)), (3, slice(1, None)), (3, None), (0, 1)])
def test_a_row_by_its_number_equals_that_of_the_whole_matrix(index: object) -> None:
    whole = torch.randn(12, 3)
    weight = LookupWeight.of("w", whole.to("meta"), CPU).served_by(HostRowTable(whole), nullcontext)
    assert torch.equal(weight[index], whole[index])  # pyright: ignore[reportArgumentType, reportCallIssue]
    with pytest.raises(IndexError):
        weight[12]


def test_a_damaged_table_is_found_and_mended(tmp_path: Path) -> None:
    checkpoint = make_checkpoint("gemma3n_text", tmp_path / "checkpoint")
    split = cut(checkpoint, tmp_path)
    store = ModelStore(tmp_path / "data")
    (entry,) = read_manifest(split).tables
    data = bytearray((split / entry.file).read_bytes())
    data[-3] ^= 1
    (split / entry.file).write_bytes(data)
    with pytest.raises(DamagedFile) as caught:
        list(verify(split, repair=False, store=store, cancel=CancelToken()))
    assert caught.value.files == (entry.file,)
    list(verify(split, repair=True, store=store, cancel=CancelToken()))
    list(verify(split, repair=False, store=store, cancel=CancelToken()))


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("timm") is not None, reason="its eyes can be built")
def test_a_model_whose_eyes_cannot_be_built_here_runs_as_its_language_model(tmp_path: Path) -> None:
    checkpoint = make_checkpoint("gemma3n_text", tmp_path / "text", max_shard_size="1GB")
    plain = plain_outputs(checkpoint, PROMPT, NEW_TOKENS)
    weights = load_file(checkpoint / "model.safetensors")
    whole = tmp_path / "checkpoint"
    text = AutoConfig.from_pretrained(checkpoint)
    Gemma3nConfig(text_config=text.to_dict(), architectures=["Gemma3nForConditionalGeneration"]).save_pretrained(whole)
    renamed = {name.replace("model.", "model.language_model.", 1): tensor for name, tensor in weights.items()}
    eyes = {"model.vision_tower.timm_model.blocks.layers.9.weight": torch.zeros(4).bfloat16()}
    save_file(renamed | eyes, whole / "model.safetensors", {"format": "pt"})
    split = cut(whole, tmp_path)
    manifest = read_manifest(split)
    assert (manifest.architecture, manifest.drafts) == ("Gemma3nForCausalLM", ())
    assert [entry.module for entry in manifest.tables] == TABLES["gemma3n_text"]
    loaded = load(split, *residency(split, "one slot"))
    try:
        logits, tokens = streamed_outputs(loaded, PROMPT, NEW_TOKENS)
    finally:
        loaded.close()
    assert torch.equal(logits, plain.logits)
    assert tuple(tokens) == plain.token_ids


def test_layers_that_predict_ahead_are_kept_as_they_are_and_never_opened(tmp_path: Path) -> None:
    checkpoint = make_checkpoint("qwen3_next", tmp_path / "checkpoint")
    index = json.loads((checkpoint / "model.safetensors.index.json").read_text())
    ahead = {
        "mtp.fc.weight": torch.randn(64, 128).bfloat16(),
        "mtp.layers.0.self_attn.q_norm.weight": torch.randn(16),
        "model.layers.3.input_layernorm.weight": torch.randn(64).bfloat16(),
    }
    save_file(ahead, checkpoint / "mtp.safetensors", {"format": "pt"})
    index["weight_map"] |= dict.fromkeys(ahead, "mtp.safetensors")
    (checkpoint / "model.safetensors.index.json").write_text(json.dumps(index))
    split = cut(checkpoint, tmp_path)
    manifest = read_manifest(split)
    (entry,) = manifest.drafts
    assert entry.file == "drafts/mtp.safetensors"
    kept = load_file(split / entry.file)
    assert {name: raw(tensor) for name, tensor in kept.items() if name in ahead} == {
        name: raw(tensor) for name, tensor in ahead.items()
    }
    (split / entry.file).rename(split / "away")
    loaded = load(split, *residency(split, "one slot"))
    loaded.close()
