"""Cutting a checkpoint: exactly the model's tensors, the same bytes every time, resumed, never mistaken."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Generator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from engine.cancel import CancelToken
from engine.errors import DamagedFile, ModelBusy, SourceError, TargetNotWritable, UnsupportedModel
from engine.events import Finished, JobProgress, Notice, Outcome
from engine.store.manifest import FILE_ALIGNMENT, MANIFEST_NAME, TENSOR_ALIGNMENT, read_manifest
from engine.store.model_store import ModelStore
from engine.store.open_source import open_source
from engine.store.splitter import split_source
from tests.helpers.checkpoints import assert_holds, cut, files_of, make_checkpoint, result_of, stored_tensors


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "data")


@pytest.mark.parametrize("form", ["sharded", "single", "bin", "old-bin"])
@pytest.mark.parametrize("family", ["llama", "qwen3", "gpt2", "mixtral", "mamba2", "phi3"])
def test_a_split_holds_the_tensors_of_a_plain_load(family: str, form: str, tmp_path: Path, store: ModelStore) -> None:
    checkpoint = make_checkpoint(family, tmp_path / "checkpoint", form=form)
    result = cut(checkpoint, store)
    assert_holds(Path(result.path), AutoModelForCausalLM.from_pretrained(checkpoint, dtype="auto"))


def test_weights_in_another_dtype_than_the_config_are_cast_as_a_plain_load_does(
    tmp_path: Path, store: ModelStore
) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint", dtype=torch.float32, form="single")
    config = json.loads((checkpoint / "config.json").read_text())
    (checkpoint / "config.json").write_text(json.dumps(config | {"dtype": "bfloat16"}))
    result = cut(checkpoint, store)
    assert read_manifest(Path(result.path)).dtype == "bfloat16"
    assert_holds(Path(result.path), AutoModelForCausalLM.from_pretrained(checkpoint, dtype="auto"))


def test_strided_pickled_tensors_are_read_in_their_own_order(tmp_path: Path, store: ModelStore) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint", form="bin")
    whole = torch.load(checkpoint / "pytorch_model.bin", weights_only=True)
    turned = {name: tensor.t().contiguous().t() if tensor.dim() == 2 else tensor for name, tensor in whole.items()}
    torch.save(turned, checkpoint / "pytorch_model.bin")
    assert_holds(Path(cut(checkpoint, store).path), AutoModelForCausalLM.from_pretrained(checkpoint, dtype="auto"))


def test_files_are_aligned_for_direct_reads(tmp_path: Path, store: ModelStore) -> None:
    result = cut(make_checkpoint("gpt2", tmp_path / "checkpoint"), store)
    manifest = read_manifest(Path(result.path))
    for block in manifest.blocks:
        assert block.data_offset % FILE_ALIGNMENT == 0
        assert all(tensor.offset % TENSOR_ALIGNMENT == 0 for tensor in block.tensors)
        assert (Path(result.path) / block.file).stat().st_size == block.size


def test_tied_weights_are_stored_once(tmp_path: Path, store: ModelStore) -> None:
    manifest = read_manifest(Path(cut(make_checkpoint("qwen3", tmp_path / "checkpoint"), store).path))
    assert manifest.aliases == {"lm_head.weight": "model.embed_tokens.weight"}
    assert "head" not in [block.name for block in manifest.blocks]


@pytest.mark.parametrize("are_equal", [True, False])
def test_a_tied_pair_that_is_there_twice_stays_tied_only_if_equal(
    are_equal: bool, tmp_path: Path, store: ModelStore
) -> None:
    checkpoint = make_checkpoint("qwen3", tmp_path / "checkpoint", form="single")
    tensors = load_file(checkpoint / "model.safetensors")
    head = tensors["model.embed_tokens.weight"].clone()
    tensors["lm_head.weight"] = head if are_equal else head + 1
    save_file(tensors, checkpoint / "model.safetensors", {"format": "pt"})
    manifest = read_manifest(split := Path(cut(checkpoint, store).path))
    assert (manifest.untied == ()) == are_equal
    assert ("lm_head.weight" in manifest.aliases) == are_equal
    assert_holds(split, AutoModelForCausalLM.from_pretrained(checkpoint, dtype="auto"))


def test_a_checkpoint_that_kept_only_the_head_of_a_tied_pair_is_complete(tmp_path: Path, store: ModelStore) -> None:
    checkpoint = make_checkpoint("qwen3", tmp_path / "checkpoint", form="single")
    tensors = load_file(checkpoint / "model.safetensors")
    tensors["lm_head.weight"] = tensors.pop("model.embed_tokens.weight")
    save_file(tensors, checkpoint / "model.safetensors", {"format": "pt"})
    assert_holds(Path(cut(checkpoint, store).path), AutoModelForCausalLM.from_pretrained(checkpoint, dtype="auto"))


def test_tensors_the_model_does_not_use_are_left_out(tmp_path: Path, store: ModelStore) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint", form="single")
    tensors = load_file(checkpoint / "model.safetensors")
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(8)
    save_file(tensors, checkpoint / "model.safetensors", {"format": "pt"})
    stored = stored_tensors(Path(cut(checkpoint, store).path))
    assert not any("inv_freq" in name for name in stored)


def test_the_same_source_gives_the_same_bytes(tmp_path: Path) -> None:
    checkpoint = make_checkpoint("mixtral", tmp_path / "checkpoint")
    first, second = (Path(cut(checkpoint, ModelStore(tmp_path / name)).path) for name in ("one", "two"))
    assert files_of(first) == files_of(second)
    assert first.name == second.name


def test_the_source_is_not_touched(tmp_path: Path, store: ModelStore) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint")
    before = {path: path.stat().st_mtime_ns for path in checkpoint.iterdir()}
    cut(checkpoint, store)
    assert {path: path.stat().st_mtime_ns for path in checkpoint.iterdir()} == before


def test_small_files_are_copied_and_code_is_not(tmp_path: Path, store: ModelStore) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint")
    for name in ("tokenizer.json", "chat_template.jinja", "LICENSE", "modeling_tiny.py", "notes.txt"):
        (checkpoint / name).write_text(name)
    manifest = read_manifest(split := Path(cut(checkpoint, store).path))
    assert set(manifest.side_files) == {
        "config.json", "generation_config.json", "tokenizer.json", "chat_template.jinja", "LICENSE"
    }  # fmt: skip
    assert {path.name for path in split.iterdir()} == {*manifest.side_files, "blocks", "split.json"}


def test_a_source_that_was_cut_already_is_found_at_once(tmp_path: Path, store: ModelStore) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint")
    first = cut(checkpoint, store)
    events = list(split_source(open_source(checkpoint), store))
    assert len(events) == 1
    assert (result_of(events).path, result_of(events).bytes_written) == (first.path, 0)


def test_a_corrected_chat_template_reaches_a_finished_split(tmp_path: Path, store: ModelStore) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint")
    split = Path(cut(checkpoint, store).path)
    (checkpoint / "chat_template.jinja").write_text("better")
    assert cut(checkpoint, store).bytes_written == 0
    assert (split / "chat_template.jinja").read_text() == "better"
    assert "chat_template.jinja" in read_manifest(split).side_files


def test_a_changed_source_becomes_another_model(tmp_path: Path, store: ModelStore) -> None:
    first = cut(make_checkpoint("llama", tmp_path / "checkpoint"), store)
    second = cut(make_checkpoint("llama", tmp_path / "checkpoint", seed=1), store)
    assert first.path != second.path
    assert files_of(Path(first.path) / "blocks") != files_of(Path(second.path) / "blocks")


def test_cancelling_leaves_a_split_that_goes_on_where_it_stopped(tmp_path: Path, store: ModelStore) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint")
    reference = files_of(Path(cut(checkpoint, ModelStore(tmp_path / "reference")).path))
    cancel = CancelToken()
    events = []
    for event in split_source(open_source(checkpoint), store, cancel=cancel, floor_bytes=0):
        events.append(event)
        if isinstance(event, JobProgress) and event.block_name == "layer-001":
            cancel.cancel()
    assert isinstance(events[-1], Finished)
    assert events[-1].outcome is Outcome.CANCELLED
    folder = Path(result_of(events).path)
    assert not list(folder.rglob("*.part"))
    again = list(split_source(open_source(checkpoint), store, floor_bytes=0))
    cut_again = {event.block_name for event in again if isinstance(event, JobProgress) and event.phase == "cutting"}
    assert "layer-000" not in cut_again
    assert "layer-001" in cut_again
    assert files_of(folder) == reference


def test_leaving_the_iterator_ends_the_writer_and_keeps_what_is_done(tmp_path: Path, store: ModelStore) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint")
    events = split_source(open_source(checkpoint), store, floor_bytes=0)
    for event in events:
        if isinstance(event, JobProgress) and event.block_name == "layer-001":
            break
    assert isinstance(events, Generator)
    events.close()
    assert not list(store.models_folder.rglob("*.part"))
    cut(checkpoint, store)


def test_a_source_that_changed_while_half_cut_is_noticed_and_cut_anew(tmp_path: Path, store: ModelStore) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint")
    cancel = CancelToken()
    for event in split_source(open_source(checkpoint), store, cancel=cancel, floor_bytes=0):
        if isinstance(event, JobProgress) and event.block_name == "layer-001":
            cancel.cancel()
    make_checkpoint("llama", checkpoint, seed=5)
    events = list(split_source(open_source(checkpoint), store, floor_bytes=0))
    assert any(isinstance(event, Notice) and "changed" in event.text for event in events)
    assert [model.folder for model in store.list()] == [Path(result_of(events).path)]
    assert_holds(Path(result_of(events).path), AutoModelForCausalLM.from_pretrained(checkpoint, dtype="auto"))


def test_events_name_phase_block_bytes_and_speed(tmp_path: Path, store: ModelStore) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint")
    events = list(split_source(open_source(checkpoint), store, floor_bytes=0))
    cutting = [event for event in events if isinstance(event, JobProgress) and event.phase == "cutting"]
    assert isinstance(events[0], JobProgress)
    assert events[0].phase == "planning"
    assert [event.block for event in cutting] == list(range(1, len(cutting) + 1))
    assert {event.blocks for event in cutting} == {6}
    assert {event.bytes_total for event in cutting} == {result_of(events).bytes_written}
    assert [event.bytes_done for event in cutting] == sorted(event.bytes_done for event in cutting)


def test_a_model_that_is_being_cut_is_busy(tmp_path: Path, store: ModelStore) -> None:
    source = open_source(make_checkpoint("llama", tmp_path / "checkpoint"))
    with store.lock(store.folder_for(source.record)), pytest.raises(ModelBusy):
        list(split_source(source, store, floor_bytes=0))


def test_a_target_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    source = open_source(make_checkpoint("llama", tmp_path / "checkpoint"))
    with pytest.raises(TargetNotWritable) as caught:
        list(split_source(source, ModelStore(tmp_path / "file" / "data")))
    assert str(tmp_path / "file") in caught.value.message


def test_missing_tensors_are_refused_before_anything_is_written(tmp_path: Path, store: ModelStore) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint", form="single")
    tensors = load_file(checkpoint / "model.safetensors")
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, checkpoint / "model.safetensors", {"format": "pt"})
    with pytest.raises(SourceError, match=r"model\.layers\.1\.mlp\.up_proj\.weight"):
        cut(checkpoint, store)
    assert not store.data_dir.exists()


def test_tensors_of_the_wrong_shape_are_refused_before_anything_is_written(tmp_path: Path, store: ModelStore) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint")
    config = json.loads((checkpoint / "config.json").read_text())
    (checkpoint / "config.json").write_text(json.dumps(config | {"intermediate_size": 97}))
    with pytest.raises(UnsupportedModel, match="do not fit its config"):
        cut(checkpoint, store)
    assert not store.data_dir.exists()


def test_a_model_that_generates_nothing_is_refused_before_anything_is_written(
    tmp_path: Path, store: ModelStore
) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint")
    config = json.loads((checkpoint / "config.json").read_text())
    bert = {"model_type": "vit", "architectures": ["ViTModel"], "hidden_size": 64}
    (checkpoint / "config.json").write_text(json.dumps(config | bert))
    with pytest.raises(UnsupportedModel, match="vit"):
        cut(checkpoint, store)
    assert not store.data_dir.exists()


def test_a_pickle_that_wants_to_run_code_is_not_opened(tmp_path: Path, store: ModelStore) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "sprung"),)

    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint", form="bin")
    torch.save({"model.norm.weight": Trap()}, checkpoint / "pytorch_model.bin")
    with pytest.raises(SourceError, match=r"pytorch_model\.bin wants to run code"):
        cut(checkpoint, store)
    assert not (tmp_path / "sprung").exists()
    assert not store.data_dir.exists()


@pytest.mark.parametrize("damage", ["a block is missing", "a block is cut off", "a tokenizer is missing"])
def test_splitting_again_mends_a_damaged_split(damage: str, tmp_path: Path, store: ModelStore) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint")
    (checkpoint / "tokenizer.json").write_text("{}")
    split = Path(cut(checkpoint, store).path)
    before = files_of(split)
    block = split / "blocks/layer-001.safetensors"
    size = block.stat().st_size
    if damage == "a block is cut off":
        block.write_bytes(block.read_bytes()[:-1])
    else:
        (block if "block" in damage else split / "tokenizer.json").unlink()
    events = list(split_source(open_source(checkpoint), store, floor_bytes=0))
    assert any(isinstance(event, Notice) and "damaged or missing" in event.text for event in events)
    assert files_of(split) == before
    assert result_of(events).bytes_written == (size if "block" in damage else 0)
    assert len(list(split_source(open_source(checkpoint), store))) == 1


def test_a_damaged_split_another_engine_made_is_cut_anew(tmp_path: Path, store: ModelStore) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint")
    split = Path(cut(checkpoint, store).path)
    before = files_of(split)
    block = split / "blocks/layer-001.safetensors"
    block.unlink()
    manifest = split / MANIFEST_NAME
    entry = read_manifest(split).block("layer-001")
    manifest.write_text(manifest.read_text().replace(entry.sha256, "0" * 64))
    assert cut(checkpoint, store).bytes_written > entry.size
    assert files_of(split) == before


def test_a_damaged_split_whose_original_is_partly_gone_says_so(tmp_path: Path, store: ModelStore) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint")
    source = open_source(checkpoint)
    (Path(cut(checkpoint, store).path) / "blocks/layer-001.safetensors").unlink()
    next(checkpoint.glob("*.safetensors")).unlink()
    with pytest.raises(DamagedFile, match="part of the original was deleted"):
        list(split_source(source, store, floor_bytes=0))


@pytest.mark.parametrize("change", ["touched", "copied", "changed"])
def test_a_second_split_of_what_was_cut_before_is_told_with_its_bytes(
    change: str, tmp_path: Path, store: ModelStore
) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "checkpoint", form="single")
    first = Path(cut(checkpoint, store).path)
    if change == "touched":
        os.utime(checkpoint / "model.safetensors", (1, 1))
    elif change == "copied":
        shutil.copytree(checkpoint, tmp_path / "copy")
        checkpoint = tmp_path / "copy"
        os.utime(checkpoint / "model.safetensors", (1, 1))
    else:
        make_checkpoint("llama", checkpoint, form="single", seed=1)
    events = list(split_source(open_source(checkpoint), store, floor_bytes=0))
    (notice,) = [event for event in events if isinstance(event, Notice)]
    assert first.name in notice.text
    assert " kB" in notice.text
    assert events.index(notice) < next(i for i, event in enumerate(events) if isinstance(event, JobProgress))
    assert first.is_dir()
    other = make_checkpoint("llama", tmp_path / "another", seed=2)
    assert not [e for e in split_source(open_source(other), store, floor_bytes=0) if isinstance(e, Notice)]
