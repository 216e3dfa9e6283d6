"""What a model would cost: whatever names it, the room a split takes, and nothing invented."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine import loading, planning
from engine.cancel import CancelToken
from engine.errors import BudgetTooSmall, ModelNotFound
from engine.events import JobProgress
from engine.load_options import LoadOptions
from engine.local import LocalEngine
from engine.planning import plan_model
from engine.reports import ModelPlan
from engine.store.disk_plan import DEFAULT_FLOOR_BYTES
from engine.store.model_store import ModelStore
from engine.store.open_source import open_source
from engine.store.splitter import split_source
from tests.helpers.checkpoints import cut, make_checkpoint


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "data")


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return make_checkpoint("llama", tmp_path / "tiny")


def plan(source: Path | str, store: ModelStore, **options: object) -> ModelPlan:
    return plan_model(str(source), store, LoadOptions(device="cpu", **options), delete_original=False)  # pyright: ignore[reportArgumentType]


def test_a_cut_model_is_planned_by_name_by_folder_and_by_its_original(checkpoint: Path, store: ModelStore) -> None:
    split = Path(cut(checkpoint, store).path)
    for source in ("tiny", "local/tiny", split.name, split, checkpoint):
        found = plan(source, store)
        assert (found.model, found.is_cut, found.disk_peak_bytes, found.disk_floor_bytes) == (split.name, True, 0, 0)
    with pytest.raises(ModelNotFound):
        plan("no-such-model", store)


def test_a_plan_counts_what_the_loaded_model_gives_back(
    checkpoint: Path, store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    split, options = cut(checkpoint, store).path, LoadOptions(device="cpu", context=64)
    with LocalEngine(store) as engine:
        list(engine.load(Path(split), options, CancelToken()))
        resident = engine.plan(split, options).device_bytes
        monkeypatch.setattr(loading.psutil, "virtual_memory", lambda: SimpleNamespace(available=4 * 70_000))
        assert 0 < engine.plan(split, options).device_bytes < resident
        engine.unload()
        with pytest.raises(BudgetTooSmall):
            engine.plan(split, options)


def test_an_original_that_was_deleted_is_known_by_where_it_was(checkpoint: Path, store: ModelStore) -> None:
    split = Path(cut(checkpoint, store, delete_original=True).path)
    assert plan(checkpoint, store).model == split.name
    shutil.rmtree(checkpoint)
    assert plan(checkpoint, store).model == split.name


def test_a_half_deleted_original_is_planned_without_what_is_done(checkpoint: Path, store: ModelStore) -> None:
    whole = plan(checkpoint, store).disk_after_bytes
    cancel = CancelToken()
    for event in split_source(open_source(checkpoint), store, delete_original=True, cancel=cancel, floor_bytes=0):
        if isinstance(event, JobProgress) and event.phase == "deleting":
            cancel.cancel()
    assert 0 < plan(checkpoint, store).disk_after_bytes < whole


def test_the_room_is_that_of_a_split(checkpoint: Path, store: ModelStore) -> None:
    found = plan(checkpoint, store)
    written = sum(path.stat().st_size for path in Path(cut(checkpoint, store).path).rglob("*") if path.is_file())
    assert written <= found.disk_peak_bytes < written + 100_000
    assert found.disk_floor_bytes == DEFAULT_FLOOR_BYTES


def fail(*_: object) -> float:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(("ram", "is_known"), [(None, True), (200_000, False)])
def test_a_disk_that_cannot_be_measured_is_unknown(
    ram: int | None, is_known: bool, checkpoint: Path, store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    cannot: Callable[..., float] = fail
    monkeypatch.setattr(planning, "measure_folder_speed", cannot)
    found = plan(checkpoint, store, ram=ram, context=16)
    assert found.disk_bytes_per_second is None
    assert (found.predicted_s_per_token is not None) == is_known
