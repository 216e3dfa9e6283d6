"""What is refused before a source is cut: judged by its small files and tensor table."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import BudgetTooSmall, InvalidRequest, UnsupportedModel
from engine.load_options import LoadOptions
from engine.request_checks import (
    ModelOutline,
    check_budget,
    check_can_chat,
    check_can_read_text,
    check_source_budget,
    check_token_ids,
    check_writable,
    outline_source,
    outline_split,
)
from engine.store.model_store import ModelStore
from engine.store.open_source import open_source
from tests.helpers.checkpoints import cut, make_checkpoint
from tests.helpers.families import write_tiny_tokenizer
from tests.helpers.gguf_files import F32, Q4_0, write_gguf


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return make_checkpoint("llama", tmp_path / "checkpoint")


def outline(source: Path) -> ModelOutline:
    return outline_source(open_source(source))


def test_a_source_knows_its_vocabulary_like_its_split(checkpoint: Path, tmp_path: Path) -> None:
    split = Path(cut(checkpoint, ModelStore(tmp_path / "data")).path)
    assert outline(checkpoint).vocabulary == outline_split(split).vocabulary == 160
    with pytest.raises(InvalidRequest, match="160 is not a token"):
        check_token_ids(outline(checkpoint), [3, 160])


@pytest.mark.parametrize("family", ["gpt2", "mixtral", "mamba2", "qwen3", "phi3"])
def test_every_familys_vocabulary_is_found(family: str, tmp_path: Path) -> None:
    assert outline(make_checkpoint(family, tmp_path / family)).vocabulary == 160


@pytest.mark.parametrize("family", ["llama", "mixtral", "gpt2"])
def test_the_estimate_of_a_block_is_close_and_never_too_large(family: str, tmp_path: Path) -> None:
    checkpoint = make_checkpoint(family, tmp_path / family)
    split = Path(cut(checkpoint, ModelStore(tmp_path / "data")).path)
    (estimate,) = outline(checkpoint).blocks
    real = max(block.nbytes for block in outline_split(split).blocks if block.is_layer)
    assert real - 8192 <= estimate.nbytes <= real


def test_without_tokenizer_or_template_nothing_is_read_and_nobody_talks(checkpoint: Path) -> None:
    bare = outline(checkpoint)
    with pytest.raises(UnsupportedModel, match="no tokenizer files"):
        check_can_read_text(bare)
    with pytest.raises(UnsupportedModel, match="no chat template"):
        check_can_chat(bare)
    write_tiny_tokenizer(checkpoint, 288)
    check_can_chat(outline(checkpoint))


def test_a_gguf_says_the_same_from_its_header(tmp_path: Path) -> None:
    quantised = outline(write_gguf(tmp_path / "tiny.gguf", "llama", Q4_0))
    assert quantised.has_tokenizer
    assert "messages" in quantised.chat_template
    assert quantised.vocabulary is not None
    assert (quantised.itemsize, outline(write_gguf(tmp_path / "f32.gguf", "llama", F32)).itemsize) == (2, 4)


def test_a_budget_far_too_small_is_seen_at_once_and_a_near_one_from_the_plan(checkpoint: Path) -> None:
    source = open_source(checkpoint)
    with pytest.raises(BudgetTooSmall):
        check_budget(outline_source(source), LoadOptions(ram=5_000))
    exact = LoadOptions(ram=80_000, context=16)
    check_budget(outline_source(source), exact)
    with pytest.raises(BudgetTooSmall):
        check_source_budget(source, LoadOptions(ram=5_000))
    check_source_budget(source, LoadOptions(ram=10**9))
    check_source_budget(source, LoadOptions(ram=5_000, nothing_resident=True))


def test_a_file_that_cannot_be_written_is_refused_and_one_that_can_is_not_left(tmp_path: Path) -> None:
    check_writable(tmp_path / "logits.npy")
    assert not (tmp_path / "logits.npy").exists()
    (tmp_path / "old.npy").write_text("mine")
    check_writable(tmp_path / "old.npy")
    assert (tmp_path / "old.npy").read_text() == "mine"
    for place in (tmp_path, tmp_path / "nowhere" / "logits.npy"):
        with pytest.raises(InvalidRequest, match="cannot be written"):
            check_writable(place)
