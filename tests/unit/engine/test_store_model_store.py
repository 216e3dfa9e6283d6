"""The models folder: names, states, locks, removal."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from engine.cancel import CancelToken
from engine.errors import ModelBusy, ModelNotFound
from engine.events import JobProgress
from engine.local import LocalEngine
from engine.store.manifest import MANIFEST_NAME
from engine.store.model_store import ModelState, ModelStore, default_data_dir
from engine.store.open_source import open_source
from engine.store.splitter import split_source
from tests.helpers.checkpoints import COMMIT, cut, make_checkpoint, make_hub_cache


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "data")


@pytest.fixture
def split(tmp_path: Path, store: ModelStore) -> Path:
    snapshot = make_hub_cache(make_checkpoint("llama", tmp_path / "made"), tmp_path / "hub")
    return Path(cut(snapshot, store).path)


def leave_unfinished(checkpoint: Path, store: ModelStore) -> Path:
    cancel = CancelToken()
    for event in split_source(open_source(checkpoint), store, cancel=cancel, floor_bytes=0):
        if isinstance(event, JobProgress) and event.block_name == "layer-001":
            cancel.cancel()
    return store.folder_for(open_source(checkpoint).record)


@pytest.mark.parametrize(
    "name", ["acme--tiny@01234567", "acme/tiny", "acme--tiny", "tiny", "TINY", "acme/tiny@0123", f"tiny@{COMMIT}"]
)
def test_a_model_has_many_names(name: str, store: ModelStore, split: Path) -> None:
    assert store.resolve(name) == split


def test_a_path_is_a_name_too(store: ModelStore, split: Path, tmp_path: Path) -> None:
    assert store.resolve(str(split)) == split
    elsewhere = shutil.copytree(split, tmp_path / "elsewhere")
    assert store.resolve(str(elsewhere)) == elsewhere


def test_an_ambiguous_name_lists_what_it_could_be(store: ModelStore, split: Path, tmp_path: Path) -> None:
    other = Path(cut(make_checkpoint("llama", tmp_path / "tiny", seed=1), store).path)
    with pytest.raises(ModelNotFound) as caught:
        store.resolve("tiny")
    assert split.name in caught.value.message
    assert other.name in caught.value.message
    assert store.resolve("local/tiny") == other


@pytest.mark.parametrize("name", ["", "unknown", "acme/tiny@ffff", "starter", "tiny@0123456789abcdee"])
def test_an_unknown_name_is_not_found(name: str, store: ModelStore, split: Path) -> None:
    with pytest.raises(ModelNotFound):
        store.resolve(name)


def test_one_damaged_manifest_hides_nothing(store: ModelStore, split: Path, tmp_path: Path) -> None:
    damaged = Path(cut(make_checkpoint("llama", tmp_path / "other", seed=1), store).path)
    (damaged / MANIFEST_NAME).write_text("{")
    unfinished = leave_unfinished(make_checkpoint("llama", tmp_path / "third", seed=2), store)
    (store.models_folder / "not a model").mkdir()
    states = {model.folder: model.state for model in store.list()}
    assert states == {
        split: ModelState.READY, damaged: ModelState.DAMAGED, unfinished: ModelState.UNFINISHED
    }  # fmt: skip
    sizes = {model.folder: model.nbytes for model in store.list()}
    assert sizes[split] == sum(path.stat().st_size for path in split.rglob("*") if path.is_file())
    with pytest.raises(ModelNotFound, match="partly cut"):
        store.resolve("third")
    with pytest.raises(ModelNotFound, match="damaged"):
        store.resolve(damaged.name)


def test_removing_takes_one_model_and_nothing_else(store: ModelStore, split: Path, tmp_path: Path) -> None:
    other = Path(cut(make_checkpoint("llama", tmp_path / "other", seed=1), store).path)
    assert store.remove("acme/tiny") == split
    assert [model.folder for model in store.list()] == [other]
    assert not list(store.models_folder.glob(".trash*"))
    assert (tmp_path / "hub").is_dir()


def test_only_models_of_the_store_are_removed(store: ModelStore, split: Path, tmp_path: Path) -> None:
    elsewhere = shutil.copytree(split, tmp_path / "elsewhere")
    for name in (str(elsewhere), str(tmp_path), "nothing"):
        with pytest.raises(ModelNotFound):
            store.remove(name)
    assert (elsewhere / MANIFEST_NAME).is_file()


def test_what_a_killed_removal_left_is_no_model_and_goes_with_the_next(store: ModelStore, split: Path) -> None:
    split.rename(store.models_folder / ".trash-left")
    assert store.list() == []
    store.empty_trash()
    assert not (store.models_folder / ".trash-left").exists()


def hold_lock(data_dir: Path, folder: Path, ready: Event, done: Event) -> None:
    with ModelStore(data_dir).lock(folder):
        ready.set()
        done.wait(30)


def test_a_model_another_process_works_on_is_not_removed(store: ModelStore, split: Path) -> None:
    context = multiprocessing.get_context("fork")
    ready, done = context.Event(), context.Event()
    process = context.Process(target=hold_lock, args=(store.data_dir, split, ready, done))
    process.start()
    try:
        assert ready.wait(30)
        with pytest.raises(ModelBusy):
            store.remove("tiny")
    finally:
        done.set()
        process.join()
    assert store.resolve("tiny") == split
    store.remove("tiny")


def test_the_data_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STRATA_DATA_DIR", str(tmp_path / "mine"))
    assert default_data_dir() == tmp_path / "mine"
    assert ModelStore().models_folder == tmp_path / "mine" / "models"
    assert ModelStore(models_folder=tmp_path / "big").models_folder == tmp_path / "big"


def test_an_empty_store_has_no_models(store: ModelStore) -> None:
    assert store.list() == []
    assert not store.data_dir.exists()


def test_of_two_splits_of_one_original_the_one_of_what_is_there_now_is_meant(store: ModelStore, tmp_path: Path) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "mine", form="single")
    times = (checkpoint / "model.safetensors").stat()
    first = Path(cut(checkpoint, store).path)
    os.utime(checkpoint / "model.safetensors", (1, 1))
    second = Path(cut(checkpoint, store).path)
    assert store.resolve("mine") == second
    os.utime(checkpoint / "model.safetensors", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert store.resolve("mine") == first
    shutil.rmtree(checkpoint)
    assert store.resolve("mine") == second
    with pytest.raises(ModelNotFound, match="could be any of"):
        store.remove("mine")


def test_one_damaged_config_hides_no_model(store: ModelStore, split: Path, tmp_path: Path) -> None:
    other = Path(cut(make_checkpoint("llama", tmp_path / "other", seed=1), store).path)
    for text in ("{", "[]", '"model"', '{"max_position_embeddings": "many"}', None):
        if text is None:
            (other / "config.json").unlink()
        else:
            (other / "config.json").write_text(text)
        with LocalEngine(store) as engine:
            models = {model.name: model for model in engine.list_models()}
        assert models[split.name].state == "ready"
        assert (models[other.name].state, models[other.name].context) == ("damaged", None)


def test_a_file_that_goes_while_the_store_is_read_breaks_nothing(store: ModelStore, split: Path) -> None:
    """Another process renames its parts while this one looks; a link to nowhere is a file that went."""
    (split / "blocks" / "gone.part").symlink_to(split / "nowhere")
    (model,) = store.list()
    assert model.state is ModelState.READY
    assert model.nbytes > 0
