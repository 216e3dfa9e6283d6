"""Several folders of models: found wherever they are, known while their drive is away, one place for each model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from engine.errors import InvalidRequest, ModelNotFound, TargetNotWritable
from engine.load_options import LoadOptions
from engine.local import LocalEngine
from engine.store.model_folders import MARK_NAME, REGISTER_NAME
from engine.store.model_store import ModelState, ModelStore
from engine.store.open_source import open_source
from engine.store.verifier import verify
from tests.helpers.checkpoints import cut, files_of, make_checkpoint
from tests.unit.engine.test_store_model_store import leave_unfinished


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "data")


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    return tmp_path / "usb"


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return make_checkpoint("llama", tmp_path / "tiny", form="single", num_hidden_layers=1)


@pytest.fixture
def split(store: ModelStore, drive: Path, checkpoint: Path) -> Path:
    """Cut into the folder on the drive."""
    return Path(cut(checkpoint, store.at(drive / "models")).path)


def unplug(drive: Path) -> None:
    """The mount point stays, and is empty."""
    drive.rename(drive.with_name("unplugged"))
    (drive / "models").mkdir(parents=True)


def plug_in(drive: Path) -> None:
    shutil.rmtree(drive)
    drive.with_name("unplugged").rename(drive)


def test_a_model_is_found_in_whatever_folder_it_was_cut_into(store: ModelStore, split: Path, drive: Path) -> None:
    again = ModelStore(store.data_dir)
    assert split.parent == drive / "models"
    assert again.resolve("tiny") == split
    assert [(model.name, model.folder) for model in again.list()] == [(split.name, split)]
    assert list(verify(split, store=again))
    assert again.remove("tiny") == split
    assert again.list() == []


def test_what_is_in_one_folder_is_not_cut_again_into_another(
    store: ModelStore, split: Path, checkpoint: Path, tmp_path: Path
) -> None:
    assert Path(cut(checkpoint, store.at(tmp_path / "third")).path) == split
    assert not (tmp_path / "third").exists()


def test_what_was_begun_in_one_folder_is_finished_there(store: ModelStore, drive: Path, checkpoint: Path) -> None:
    begun = leave_unfinished(checkpoint, store.at(drive / "models"))
    assert begun.parent == drive / "models"
    assert Path(cut(checkpoint, store).path) == begun
    assert not store.models_folder.exists()


def test_a_drive_that_is_not_connected_loses_nothing(store: ModelStore, split: Path, drive: Path) -> None:
    size = store.list()[0].nbytes
    unplug(drive)
    (away,) = store.list()
    assert (away.name, away.folder, away.state, away.nbytes) == (split.name, split, ModelState.AWAY, size)
    assert away.title == "local/tiny"
    for ask in (store.resolve, store.remove, store.find_one):
        with pytest.raises(ModelNotFound, match="on a drive that is not connected") as caught:
            ask("tiny")
        assert caught.value.next_step == "Connect the drive and try again."
    with LocalEngine(store) as engine:
        (info,) = engine.list_models()
        (folder,) = [each for each in engine.model_folders() if not each.is_main]
    assert (info.state, info.title, info.weights) == ("away", "local/tiny", None)
    assert (folder.is_connected, folder.models, folder.nbytes) == (False, 1, size)
    plug_in(drive)
    assert [model.state for model in store.list()] == [ModelState.READY]
    assert store.resolve("tiny") == split


def test_another_drive_at_the_same_place_is_not_taken_for_it(store: ModelStore, split: Path, drive: Path) -> None:
    store.list()
    unplug(drive)
    (drive / "models" / MARK_NAME).write_text("another")
    (drive / "models" / split.name).mkdir()
    assert [model.state for model in store.list()] == [ModelState.AWAY]


def test_nothing_is_put_where_a_drive_is_missing(store: ModelStore, split: Path, drive: Path, tmp_path: Path) -> None:
    other = make_checkpoint("llama", tmp_path / "other", form="single", num_hidden_layers=1, seed=1)
    unplug(drive)
    with pytest.raises(TargetNotWritable, match="on a drive that is not connected"):
        cut(other, store.at(drive / "models"))
    with LocalEngine(store) as engine, pytest.raises(TargetNotWritable, match="on a drive that is not connected"):
        engine.plan(str(other), LoadOptions(), target=drive / "models")
    assert list((drive / "models").iterdir()) == []


def test_two_copies_of_one_model_have_two_names(store: ModelStore, split: Path) -> None:
    copy = shutil.copytree(split, store.models_folder / split.name)
    names = {model.folder: model.name for model in store.list()}
    assert names == {copy: split.name, split: str(split)}
    assert store.resolve("tiny") == copy
    assert store.resolve(str(split)) == split
    assert store.remove(str(split)) == split
    assert [model.folder for model in store.list()] == [copy]


def test_a_folder_is_added_and_taken_off_without_being_touched(
    store: ModelStore, split: Path, drive: Path, tmp_path: Path
) -> None:
    other = ModelStore(tmp_path / "other data")
    with pytest.raises(InvalidRequest, match="There is no folder"):
        other.add_folder(tmp_path / "nowhere")
    other.add_folder(drive / "models")
    assert other.resolve("tiny") == split
    before = files_of(drive)
    other.forget_folder(drive / "models")
    assert other.list() == []
    assert files_of(drive) == before
    with pytest.raises(InvalidRequest, match="New models go to"):
        store.forget_folder(store.models_folder)


def test_a_damaged_register_hides_no_model_of_the_data_folder_and_is_kept(
    store: ModelStore, checkpoint: Path, drive: Path
) -> None:
    own = Path(cut(checkpoint, store).path)
    (store.data_dir / REGISTER_NAME).write_text("{ damaged")
    assert store.resolve("tiny") == own
    drive.mkdir()
    store.add_folder(drive)
    assert (store.data_dir / "model-folders.damaged.json").read_text() == "{ damaged"
    assert [row["path"] for row in json.loads((store.data_dir / REGISTER_NAME).read_text())["folders"]] == [str(drive)]


def test_a_folder_that_was_in_use_before_is_still_looked_into(
    store: ModelStore, checkpoint: Path, tmp_path: Path
) -> None:
    """Somebody who chooses another folder in the settings keeps the models of the old one."""
    split = Path(cut(checkpoint, store).path)
    (tmp_path / "first").mkdir()
    shutil.move(split, tmp_path / "first" / split.name)
    assert len(store.at(tmp_path / "first").list()) == 1
    assert store.at(tmp_path / "second").resolve("tiny") == tmp_path / "first" / split.name


def test_a_plan_says_where_the_model_goes(store: ModelStore, drive: Path, checkpoint: Path, split: Path) -> None:
    with LocalEngine(store) as engine:
        shutil.rmtree(split)
        plan = engine.plan(str(checkpoint), LoadOptions(), target=drive / "elsewhere")
        assert plan.folder == str(drive / "elsewhere")
        leave_unfinished(checkpoint, store.at(drive / "models"))
        plan = engine.plan(str(checkpoint), LoadOptions(), target=drive / "elsewhere")
        assert plan.folder == str(drive / "models")
    assert open_source(checkpoint, store).record.path == str(checkpoint)
