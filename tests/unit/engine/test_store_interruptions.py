"""Killed, out of room, or told to delete the original: nothing is lost, and the next run ends the same."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

from engine.cancel import CancelToken
from engine.errors import DamagedFile, DiskFull, SourceError
from engine.events import JobProgress, Notice
from engine.store import split_progress, splitter
from engine.store.model_store import ModelState, ModelStore
from engine.store.open_source import open_source
from engine.store.original_files import delete_weight_file
from engine.store.splitter import split_source
from engine.weights.direct_io import DirectWriter
from tests.helpers.checkpoints import COMMIT, cut, files_of, make_checkpoint, make_hub_cache
from tests.helpers.quantised_checkpoints import make_mxfp4

ROOT = Path(__file__).parents[3]
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "data")


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return make_checkpoint("llama", tmp_path / "checkpoint")


def shards_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.safetensors"))


def kill_splits(checkpoint: Path, work: Path, mode: str, number: int) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.helpers.killed_splits", str(checkpoint), str(work), mode, str(number)]
    work.mkdir()
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert output.returncode == 0, output.stderr
    return [json.loads(line) for line in output.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_split_killed_at_twenty_random_moments_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    checkpoint = make_checkpoint("llama", tmp_path / "model", num_hidden_layers=8, hidden_size=256)
    trials = kill_splits(checkpoint, tmp_path / "work", "signal", 20)
    assert len(trials) == 20
    assert sum(bool(trial["was_killed"]) for trial in trials) > 5
    for trial in trials:
        assert trial["exit_code"] == 0
        assert trial["is_same"]
        assert len(trial["repeated"]) <= 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_killed_split_with_experts_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    checkpoint = make_checkpoint(
        "mixtral", tmp_path / "model", hidden_size=256, num_hidden_layers=8, num_local_experts=16
    )
    trials = kill_splits(checkpoint, tmp_path / "work", "signal", 12)
    assert any(trial["was_killed"] for trial in trials)
    for trial in trials:
        assert trial["exit_code"] == 0
        assert trial["is_same"]
        assert len(trial["repeated"]) <= 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_killed_split_of_packed_experts_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    trials = kill_splits(make_mxfp4(tmp_path / "model"), tmp_path / "work", "signal", 3)
    assert any(trial["was_killed"] for trial in trials)
    for trial in trials:
        assert trial["exit_code"] == 0
        assert trial["is_same"]
        assert len(trial["repeated"]) <= 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_crash_while_the_original_of_experts_is_deleted_loses_nothing(tmp_path: Path) -> None:
    checkpoint = make_checkpoint("mixtral", tmp_path / "model")
    trials = kill_splits(checkpoint, tmp_path / "work", "step", 23)
    assert len(trials) > 3
    for trial in trials:
        assert trial["lost"] == []
        assert trial["exit_code"] == 0
        assert trial["is_same"]
        assert trial["shards_left"] == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_crash_between_any_two_steps_of_deleting_the_original_loses_nothing(checkpoint: Path, tmp_path: Path) -> None:
    trials = kill_splits(checkpoint, tmp_path / "work", "step", 7)
    assert len(trials) > 10
    for trial in trials:
        assert trial["lost"] == []
        assert trial["exit_code"] == 0
        assert trial["is_same"]
        assert trial["shards_left"] == []
        assert len(trial["repeated"]) <= 1


def test_deleting_the_original_leaves_everything_but_its_weights(checkpoint: Path, store: ModelStore) -> None:
    (checkpoint / "notes.txt").write_text("mine")
    (checkpoint / "other.bin").write_bytes(b"not of this model")
    weights = {path.name for path in shards_of(checkpoint)}
    before = {path.name for path in checkpoint.iterdir()}
    size = sum(path.stat().st_size for path in shards_of(checkpoint))
    reference = files_of(Path(cut(checkpoint, ModelStore(store.data_dir / "reference")).path))
    result = cut(checkpoint, store, delete_original=True)
    assert {path.name for path in checkpoint.iterdir()} == before - weights
    assert result.bytes_deleted == size
    assert files_of(Path(result.path)) == reference
    with pytest.raises(SourceError, match=Path(result.path).name):
        open_source(checkpoint, store)


def test_shards_go_one_by_one_and_only_after_reading_back(checkpoint: Path, store: ModelStore) -> None:
    phases: list[str] = []
    left: list[int] = []
    for event in split_source(open_source(checkpoint), store, delete_original=True, floor_bytes=0):
        if isinstance(event, JobProgress):
            phases.append(event.phase)
            left.append(len(shards_of(checkpoint)))
    first = phases.index("deleting")
    assert "verifying" in phases[:first]
    assert len(set(left)) > 2
    assert shards_of(checkpoint) == []


def test_a_half_deleted_source_is_recognised_and_finished(checkpoint: Path, store: ModelStore) -> None:
    reference = files_of(Path(cut(checkpoint, ModelStore(store.data_dir / "reference")).path))
    cancel = CancelToken()
    for event in split_source(open_source(checkpoint), store, delete_original=True, cancel=cancel, floor_bytes=0):
        if isinstance(event, JobProgress) and event.phase == "cutting" and len(shards_of(checkpoint)) < 4:
            cancel.cancel()
    assert 0 < len(shards_of(checkpoint)) < 4
    with pytest.raises(SourceError, match="are missing"):
        open_source(checkpoint)
    result = cut(checkpoint, store, delete_original=True)
    assert files_of(Path(result.path)) == reference
    assert shards_of(checkpoint) == []


@pytest.mark.parametrize("is_lost", [False, True])
def test_another_version_never_discards_the_only_copy(
    is_lost: bool, checkpoint: Path, store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancel = CancelToken()
    for event in split_source(open_source(checkpoint), store, delete_original=True, cancel=cancel, floor_bytes=0):
        if isinstance(event, JobProgress) and event.phase == "cutting" and len(shards_of(checkpoint)) < 4:
            cancel.cancel()
    monkeypatch.setattr(split_progress, "engine_id", lambda: "another version")
    monkeypatch.setattr(splitter, "engine_id", lambda: "another version")
    if not is_lost:
        result = cut(checkpoint, store, delete_original=True)
        assert shards_of(checkpoint) == []
        assert store.resolve(Path(result.path).name)
        return
    kept = sorted(store.models_folder.rglob("blocks/*"))
    kept[0].write_bytes(b"")
    before = files_of(store.models_folder)
    with pytest.raises(SourceError, match="already deleted"):
        cut(checkpoint, store, delete_original=True)
    assert files_of(store.models_folder) == before
    assert shards_of(checkpoint)


def test_a_half_deleted_source_that_changed_is_not_gone_on_with(checkpoint: Path, store: ModelStore) -> None:
    cancel = CancelToken()
    for event in split_source(open_source(checkpoint), store, delete_original=True, cancel=cancel, floor_bytes=0):
        if isinstance(event, JobProgress) and event.phase == "cutting" and len(shards_of(checkpoint)) < 4:
            cancel.cancel()
    shard = shards_of(checkpoint)[0]
    shard.write_bytes(shard.read_bytes()[:-1] + b"!")
    with pytest.raises(SourceError, match="are missing"):
        open_source(checkpoint, store)


def test_a_block_that_reads_back_differently_keeps_the_original(
    checkpoint: Path, store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = DirectWriter.write

    def write_badly(self: DirectWriter, data: memoryview) -> None:
        bad = bytearray(data)
        bad[-1] ^= 1
        write(self, memoryview(bad))

    monkeypatch.setattr(DirectWriter, "write", write_badly)
    before = files_of(checkpoint)
    with pytest.raises(DamagedFile, match="could not be read back"):
        cut(checkpoint, store, delete_original=True)
    assert files_of(checkpoint) == before
    monkeypatch.setattr(DirectWriter, "write", write)
    cut(checkpoint, store, delete_original=True)
    assert shards_of(checkpoint) == []


def test_deleting_from_a_hub_cache_takes_link_and_blob_of_the_weights(tmp_path: Path, store: ModelStore) -> None:
    snapshot = make_hub_cache(make_checkpoint("llama", tmp_path / "made"), tmp_path / "hub")
    repo = snapshot.parent.parent
    blobs = {path.resolve() for path in shards_of(snapshot)}
    others = set((repo / "blobs").iterdir()) - blobs
    assert cut(snapshot, store, delete_original=True).bytes_deleted > 0
    assert shards_of(snapshot) == []
    assert set((repo / "blobs").iterdir()) == others
    assert (snapshot / "config.json").is_file()


def test_a_blob_of_another_revision_stays(tmp_path: Path, store: ModelStore) -> None:
    snapshot = make_hub_cache(make_checkpoint("llama", tmp_path / "made"), tmp_path / "hub")
    other = snapshot.parent / COMMIT[::-1]
    shutil.copytree(snapshot, other, symlinks=True)
    assert cut(snapshot, store, delete_original=True).bytes_deleted == 0
    assert shards_of(snapshot) == []
    assert all(path.is_file() for path in shards_of(other))
    assert shards_of(other)


def test_what_a_link_of_the_users_own_points_to_stays(tmp_path: Path, store: ModelStore, checkpoint: Path) -> None:
    linked = tmp_path / "linked"
    linked.mkdir()
    for path in checkpoint.iterdir():
        (linked / path.name).symlink_to(path)
    cut(linked, store, delete_original=True)
    assert shards_of(linked) == []
    assert shards_of(checkpoint)


def test_only_weight_files_of_the_source_can_be_deleted(checkpoint: Path) -> None:
    source = open_source(checkpoint)
    for name in ("config.json", "../other.safetensors", "unknown.safetensors"):
        with pytest.raises(ValueError, match="not a weight file"):
            delete_weight_file(source, name)


def test_too_little_room_is_said_before_anything_is_written(
    checkpoint: Path, store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**12, 0, 100_000))
    with pytest.raises(DiskFull) as caught:
        list(split_source(open_source(checkpoint), store))
    assert caught.value.have == 100_000
    assert caught.value.need > 2_000_000_000
    assert "100 kB" in caught.value.message
    assert not store.data_dir.exists()


def test_room_that_shrinks_below_the_floor_stops_between_blocks_and_can_be_resumed(
    checkpoint: Path, store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = [10**12]
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**12, 0, free[0]))

    def shrink_at_layer_1() -> None:
        for event in split_source(open_source(checkpoint), store, floor_bytes=1_000_000):
            if isinstance(event, JobProgress) and event.block_name == "layer-001":
                free[0] = 1_000_000

    with pytest.raises(DiskFull) as caught:
        shrink_at_layer_1()
    assert (caught.value.have, caught.value.need > 1_000_000) == (1_000_000, True)
    assert [model.state for model in store.list()] == [ModelState.UNFINISHED]
    free[0] = 10**12
    events = list(split_source(open_source(checkpoint), store, floor_bytes=1_000_000))
    names = {event.block_name for event in events if isinstance(event, JobProgress)}
    assert "layer-001" not in names


@pytest.mark.parametrize("block", [0, 3])
def test_a_full_disk_leaves_no_part_and_a_split_that_goes_on(
    block: int, checkpoint: Path, store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = files_of(Path(cut(checkpoint, ModelStore(store.data_dir / "reference")).path))
    flush, calls = DirectWriter._flush, [0]

    def fill_up(self: DirectWriter, nbytes: int) -> None:
        calls[0] += 1
        if calls[0] > block:
            raise OSError(errno.ENOSPC, "No space left on device")
        flush(self, nbytes)

    monkeypatch.setattr(DirectWriter, "_flush", fill_up)
    with pytest.raises(DiskFull) as caught:
        cut(checkpoint, store)
    assert caught.value.need > 0
    assert caught.value.have == shutil.disk_usage(store.data_dir).free
    assert not list(store.models_folder.rglob("*.part"))
    assert len(list(store.models_folder.rglob("blocks/*"))) == block
    monkeypatch.setattr(DirectWriter, "_flush", flush)
    assert files_of(Path(cut(checkpoint, store).path)) == reference


def test_the_starters_file_stays_whatever_is_asked(
    tmp_path: Path, store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.store import gguf_file
    from tests.helpers.gguf_files import Q4_0, write_gguf

    path = write_gguf(tmp_path / "starter.gguf", "llama", Q4_0)
    monkeypatch.setattr(gguf_file, "_starter_path", lambda: path)
    source = open_source("starter")
    events = list(split_source(source, store, delete_original=True, floor_bytes=0))
    assert any(isinstance(event, Notice) for event in events)
    assert path.is_file()
    assert store.resolve("starter") == store.folder_for(source.record)


def test_a_full_drive_asks_nobody_to_delete_what_is_not_theirs(
    checkpoint: Path, tmp_path: Path, store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.store import gguf_file
    from tests.helpers.gguf_files import Q4_0, write_gguf

    path = write_gguf(tmp_path / "starter.gguf", "llama", Q4_0)
    monkeypatch.setattr(gguf_file, "_starter_path", lambda: path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**12, 0, 0))
    with pytest.raises(DiskFull) as caught:
        list(split_source(open_source(checkpoint), store))
    assert "original be deleted" in caught.value.next_step
    for source, deletes in (("starter", False), (str(checkpoint), True)):
        with pytest.raises(DiskFull) as caught:
            list(split_source(open_source(source), store, delete_original=deletes))
        assert "original" not in caught.value.next_step
