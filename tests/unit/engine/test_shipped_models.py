"""Models that came with the program: found like any other, and never written to."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from engine.cancel import CancelToken
from engine.errors import InvalidRequest
from engine.events import Finished, SplitResult
from engine.load_options import LoadOptions
from engine.local import LocalEngine
from engine.store.model_store import ModelStore
from tests.helpers.checkpoints import cut, files_of, make_checkpoint

STARTER_FOLDER = "HuggingFaceTB--SmolLM2-135M-Instruct@0123abcd"


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    """A folder as installers carry it, with a tiny model in the starter's place."""
    made = cut(make_checkpoint("llama", tmp_path / "checkpoint"), ModelStore(tmp_path / "builder"))
    folder = tmp_path / "shipped"
    folder.mkdir()
    Path(made.path).rename(folder / STARTER_FOLDER)
    return folder


@pytest.fixture
def store(tmp_path: Path, shipped: Path, monkeypatch: pytest.MonkeyPatch) -> ModelStore:
    """Of an installed program: the starter's package is not there."""

    def no_files(_package: str) -> list[importlib.metadata.PackagePath]:
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr("importlib.metadata.files", no_files)
    return ModelStore(tmp_path / "data", shipped_folder=shipped)


def test_the_starter_is_ready_at_once_and_nothing_is_written(store: ModelStore, shipped: Path) -> None:
    before = files_of(shipped)
    with LocalEngine(store) as engine:
        (model,) = engine.list_models()
        assert model.is_shipped
        assert model.state == "ready"
        assert model.source is None
        assert engine.plan("starter", LoadOptions()).is_cut
        (end,) = engine.split("starter", delete_original=False, cancel=CancelToken())
        assert isinstance(end, Finished)
        assert isinstance(end.result, SplitResult)
        assert end.result.path == str(shipped / STARTER_FOLDER)
        assert end.result.bytes_written == 0
    assert files_of(shipped) == before
    assert not store.models_folder.exists()


def test_a_shipped_model_is_not_removed(store: ModelStore, shipped: Path) -> None:
    with pytest.raises(InvalidRequest, match="part of Strata"):
        store.remove(STARTER_FOLDER)
    assert (shipped / STARTER_FOLDER / "split.json").is_file()


def test_the_same_model_cut_by_the_user_stands_in_its_place(store: ModelStore, shipped: Path) -> None:
    own = store.models_folder / STARTER_FOLDER
    own.parent.mkdir(parents=True)
    (shipped / STARTER_FOLDER).rename(own)
    (shipped / STARTER_FOLDER).mkdir()
    (model,) = store.list()
    assert model.folder == own
    assert store.remove(STARTER_FOLDER) == own
