"""Drives models can be kept on: one entry for each, measured with a file that is gone afterwards."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine import drives
from engine.drives import list_drives, measure_drive, report_folders
from engine.errors import DiskFull, TargetNotWritable
from engine.store.model_store import ModelStore


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "data")


def mount(monkeypatch: pytest.MonkeyPatch, *roots: Path, options: str = "rw") -> None:
    """Each root is a drive of its own, and everything else is on one."""
    parts = [SimpleNamespace(mountpoint=str(root), opts=options) for root in roots]
    monkeypatch.setattr(drives.psutil, "disk_partitions", lambda all: parts)

    def number(path: Path) -> int:
        return next((index for index, root in enumerate(roots, start=1) if path.is_relative_to(root)), 0)

    monkeypatch.setattr(drives, "drive_of", number)


def test_every_drive_is_listed_once_with_the_folder_for_models_on_it(
    store: ModelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    (first / "mine").mkdir(parents=True)
    second.mkdir()
    mount(monkeypatch, first, second)
    store.add_folder(first / "mine")
    found = list_drives(store)
    assert [(each.folder, each.is_main) for each in found] == [
        (str(store.models_folder), True),
        (str(first / "mine"), False),
        (str(second / "Strata models"), False),
    ]
    assert all(each.is_writable and 0 < each.free_bytes < each.total_bytes for each in found)
    assert not store.data_dir.joinpath("models").exists()


def test_what_nobody_could_choose_is_left_out(
    store: ModelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "disc").mkdir()
    mount(monkeypatch, tmp_path / "disc", options="ro,relatime")
    assert len(list_drives(store)) == 1
    mount(monkeypatch, tmp_path / "gone", Path("/etc"))
    assert len(list_drives(store)) == 1


def test_a_measurement_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drives, "_SAMPLE_BYTES", 2 << 20)
    assert measure_drive(tmp_path / "not there yet") > 0
    assert list(tmp_path.iterdir()) == []


def test_a_slow_drive_is_measured_with_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.weights import read_speed

    sizes: list[int] = []
    monkeypatch.setattr(read_speed, "measure_read_speed", lambda paths: sizes.append(paths[0].stat().st_size) or 1.0)
    read_speed.measure_folder_speed(tmp_path, 8 << 20, most_s=0.0)
    assert sizes == [1 << 20]


def test_a_full_or_closed_drive_says_why_it_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drives.shutil, "disk_usage", lambda _path: SimpleNamespace(free=1000))
    with pytest.raises(DiskFull, match="too full to be measured") as caught:
        measure_drive(tmp_path)
    assert (caught.value.need, caught.value.have) == (2_000_000_000 + (64 << 20), 1000)
    monkeypatch.undo()

    def refuse(*_: object, **__: object) -> float:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(drives, "measure_folder_speed", refuse)
    with pytest.raises(TargetNotWritable, match="Permission denied"):
        measure_drive(tmp_path)


def test_a_folder_that_was_never_used_is_not_reported(store: ModelStore, tmp_path: Path) -> None:
    assert [(each.path, each.is_main, each.is_connected) for each in report_folders(store)] == [
        (str(store.models_folder), True, True)
    ]
    other = store.at(tmp_path / "other")
    assert [each.path for each in report_folders(other)] == [str(tmp_path / "other")]
    (tmp_path / "third").mkdir()
    store.add_folder(tmp_path / "third")
    shutil.rmtree(tmp_path / "third")
    assert len(report_folders(store)) == 1
