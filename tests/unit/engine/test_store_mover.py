"""Moving a model to another folder: nothing is lost, whatever ends the move, and what arrives is what left."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.cancel import CancelToken
from engine.errors import DamagedFile, DiskFull, InvalidRequest, ModelBusy, NotLoaded
from engine.events import Event, Finished, JobProgress, MoveResult, Outcome
from engine.generation.messages import Message
from engine.generation.sampling import SamplingOptions
from engine.load_options import LoadOptions
from engine.local import LocalEngine
from engine.store import file_copier, mover
from engine.store.model_store import STAGING_PREFIX, ModelState, ModelStore
from engine.store.mover import discard_move, move_model
from tests.helpers.checkpoints import cut, files_of, make_checkpoint
from tests.helpers.killed_splits import GONE, end_at_moment, run_child

FLOOR = 1 << 20


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One split, to be copied by every test."""
    folder = tmp_path_factory.mktemp("made")
    checkpoint = make_checkpoint("mixtral", folder / "tiny", num_hidden_layers=1)
    return Path(cut(checkpoint, ModelStore(folder / "data")).path)


@pytest.fixture
def store(tmp_path: Path, made: Path) -> ModelStore:
    shutil.copytree(made, tmp_path / "data" / "models" / made.name)
    return ModelStore(tmp_path / "data")


@pytest.fixture
def old(store: ModelStore, made: Path) -> Path:
    return store.models_folder / made.name


@pytest.fixture
def big(tmp_path: Path) -> Path:
    return tmp_path / "big drive" / "models"


@pytest.fixture(autouse=True)
def two_drives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is below a “big drive” is on a drive of its own."""
    monkeypatch.setattr(mover, "drive_of", lambda path: "big drive" in str(path))


def moved(events: Iterator[Event]) -> MoveResult:
    finished = list(events)[-1]
    assert isinstance(finished, Finished)
    assert isinstance(finished.result, MoveResult)
    return finished.result


def move(store: ModelStore, target: Path, **options: object) -> MoveResult:
    return moved(move_model("tiny", target, store, floor_bytes=FLOOR, **options))  # pyright: ignore[reportArgumentType]


def cancelling(progress: Callable[[JobProgress], bool], store: ModelStore, target: Path) -> Outcome:
    """Moves until an event for which ``progress`` says so."""
    cancel = CancelToken()
    for event in move_model("tiny", target, store, cancel=cancel, floor_bytes=FLOOR):
        if isinstance(event, JobProgress) and progress(event):
            cancel.cancel()
        if isinstance(event, Finished):
            return event.outcome
    raise AssertionError


def staging(target: Path, old: Path) -> Path:
    return target / f"{STAGING_PREFIX}{old.name}"


def test_a_moved_model_is_the_same_at_its_new_place_and_gone_from_the_old(
    store: ModelStore, old: Path, big: Path, made: Path
) -> None:
    before = files_of(old)
    size = sum(map(len, before.values()))
    result = move(store, big)
    assert (result.path, result.bytes_copied, result.bytes_compared) == (str(big / made.name), size, size)
    assert files_of(big / made.name) == before
    assert not old.exists()
    assert store.resolve("tiny") == big / made.name
    assert [model.folder for model in store.list()] == [big / made.name]
    assert not staging(big, old).exists()


def test_what_changes_while_a_model_is_copied_arrives_as_it_is_in_the_end(
    store: ModelStore, old: Path, big: Path, made: Path
) -> None:
    """How often experts were used is written beside the blocks whenever the model is freed."""
    uses = old / "expert-uses.json"
    uses.write_text("{}")
    (old / "notes").mkdir()
    (old / "notes" / "mine.txt").write_text("kept")
    for event in move_model("tiny", big, store, floor_bytes=FLOOR):
        if isinstance(event, JobProgress) and event.phase in ("copying", "switching"):
            uses.write_text(f"after {event.phase}")
    arrived = files_of(big / made.name)
    assert arrived.pop("expert-uses.json") == b"after switching"
    assert arrived.pop("notes/mine.txt") == b"kept"
    assert arrived == files_of(made)


def test_on_one_drive_a_move_copies_nothing(
    store: ModelStore, old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files_of(old)
    monkeypatch.setattr(file_copier, "DirectWriter", None)
    assert move(store, tmp_path / "beside").bytes_copied == 0
    assert files_of(tmp_path / "beside" / old.name) == before
    assert not old.exists()
    assert sorted(path.name for path in (tmp_path / "beside").iterdir()) == [".locks", ".strata-models", old.name]


def test_progress_counts_a_byte_once_it_is_copied_and_read_back(store: ModelStore, old: Path, big: Path) -> None:
    size = sum(map(len, files_of(old).values()))
    events = [event for event in move_model("tiny", big, store, floor_bytes=FLOOR) if isinstance(event, JobProgress)]
    work = [event for event in events if event.phase in ("copying", "comparing")]
    assert {event.bytes_total for event in work} == {size}
    assert [event.bytes_done for event in work] == sorted(event.bytes_done for event in work)
    assert {event.block for event in work if event.block_name == "layer-000"} == {2}
    assert events[-1].phase == "switching"
    assert events[-1].bytes_done == size


@pytest.mark.slow
@pytest.mark.parametrize(("phase", "stride"), [("planning", 17), ("switching", 2)])
def test_a_move_killed_at_any_moment_loses_nothing_and_is_ended_by_the_next(
    phase: str, stride: int, store: ModelStore, old: Path, big: Path, made: Path
) -> None:
    """Just before and after whatever changes the disk: while files are copied now and then, later every other time."""
    reference = files_of(made)
    new, step, kills = big / made.name, 0, 0
    while True:

        def killed(step: int = step) -> None:
            for event in move_model("tiny", big, store, floor_bytes=FLOOR):
                if isinstance(event, JobProgress) and event.phase == phase:
                    end_at_moment(step)

        was_killed = run_child(killed) == GONE
        whole = [folder for folder in (old, new) if folder.is_dir() and files_of(folder).items() >= reference.items()]
        assert whole, f"lost at moment {step}"
        assert store.resolve("tiny") in whole
        if not was_killed:
            break
        if old.exists():
            move(store, big)
        assert files_of(new).items() >= reference.items()
        assert not old.exists()
        assert not staging(big, old).exists()
        assert [model.state for model in store.list()] == [ModelState.READY]
        new.rename(old)
        step, kills = step + stride, kills + 1
    assert kills > 5


def test_a_move_goes_on_where_it_was_paused(store: ModelStore, old: Path, big: Path, made: Path) -> None:
    before = files_of(old)
    assert cancelling(lambda event: event.block_name == "norm", store, big) is Outcome.CANCELLED
    assert files_of(old) == before
    there = {name for name in files_of(staging(big, old)) if not name.endswith(".part")} - {".move.json"}
    assert there
    rest = sum(len(data) for name, data in before.items() if name not in there)
    assert move(store, big).bytes_copied <= rest
    assert files_of(big / made.name) == before


def test_a_file_that_was_half_copied_is_gone_on_with(store: ModelStore, old: Path, big: Path, made: Path) -> None:
    cancelling(lambda event: event.block_name == "layer-000", store, big)
    name = "experts/layer-000.safetensors"
    for part in staging(big, old).rglob("*.part"):
        part.unlink()
    part = staging(big, old) / f"{name}.part"
    part.parent.mkdir(exist_ok=True)
    part.write_bytes((old / name).read_bytes()[:9000])
    left = sum(len(data) for file, data in files_of(old).items() if not (staging(big, old) / file).exists())
    result = move(store, big)
    assert result.bytes_copied == left - 8192
    assert files_of(big / made.name) == files_of(made)


@pytest.mark.parametrize("damage", [b"\0" * 8192, b""])
def test_a_part_that_is_not_what_was_written_is_copied_again(
    damage: bytes, store: ModelStore, old: Path, big: Path, made: Path
) -> None:
    """After a power cut the file system may have given back zeros."""
    cancelling(lambda event: event.block_name == "layer-000", store, big)
    part = staging(big, old) / "experts/layer-000.safetensors.part"
    part.parent.mkdir(exist_ok=True)
    part.write_bytes(damage)
    move(store, big)
    assert files_of(big / made.name) == files_of(made)


def test_what_another_version_of_the_model_left_is_not_used(
    store: ModelStore, old: Path, big: Path, made: Path
) -> None:
    cancelling(lambda event: event.block_name == "norm", store, big)
    left = staging(big, old)
    (left / "blocks" / "embed.safetensors").write_bytes(b"x" * (left / "blocks" / "embed.safetensors").stat().st_size)
    manifest = (old / "split.json").read_text()
    (old / "split.json").write_text(manifest + "\n")
    move(store, big)
    assert files_of(big / made.name) == {**files_of(made), "split.json": (manifest + "\n").encode()}


def test_a_damaged_model_stays_where_it_is_and_says_what_to_repair(store: ModelStore, old: Path, big: Path) -> None:
    file = old / "blocks" / "layer-000.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    before = files_of(old)
    with pytest.raises(DamagedFile, match=r"blocks/layer-000.safetensors of .* is damaged where it is") as caught:
        move(store, big)
    assert caught.value.next_step == f"Repair it first: verify {old.name} --repair"
    assert files_of(old) == before
    file.write_bytes(data[:-1])
    with pytest.raises(DamagedFile, match="1 file is damaged or missing"):
        move(store, big)


def test_a_drive_that_gives_back_something_else_keeps_the_old_copy(
    store: ModelStore, old: Path, big: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, before = file_copier.digest_file, files_of(old)

    def digest(path: Path, cancel: CancelToken) -> Iterator[int]:
        sha256 = yield from real(path, cancel)
        return "0" * 64 if "big drive" in str(path) else sha256

    monkeypatch.setattr(file_copier, "digest_file", digest)
    with pytest.raises(DamagedFile, match="could not be read back") as caught:
        move(store, big)
    assert "Nothing was removed" in caught.value.next_step
    assert files_of(old) == before
    assert store.resolve("tiny") == old


def test_too_little_room_is_said_with_both_numbers_before_anything_is_copied(
    store: ModelStore, old: Path, big: Path
) -> None:
    size = sum(map(len, files_of(old).values()))
    with pytest.raises(DiskFull) as caught:
        move(store, big, free_bytes=lambda _path: size)
    assert (caught.value.need, caught.value.have) == (size + FLOOR, size)
    assert not staging(big, old).exists()
    cancelling(lambda event: event.block_name == "norm", store, big)
    there = sum(len(data) for name, data in files_of(staging(big, old)).items() if name != ".move.json")
    with pytest.raises(DiskFull) as caught:
        move(store, big, free_bytes=lambda _path: 0)
    assert caught.value.need == size - there + FLOOR


def test_what_cannot_be_moved_is_refused(store: ModelStore, old: Path, big: Path, made: Path) -> None:
    with pytest.raises(InvalidRequest, match="already"):
        move(store, store.models_folder)
    with pytest.raises(InvalidRequest, match="inside the model"):
        move(store, old / "blocks")
    shutil.copytree(made, big / made.name)
    with pytest.raises(InvalidRequest, match="another copy"):
        move(store, big)
    shutil.rmtree(big)
    with store.lock(old), pytest.raises(ModelBusy):
        move(store, big)
    (old / "split.json").unlink()
    (old / ".progress").mkdir()
    shutil.copytree(made, big / "x")
    assert not (big / made.name).exists()


def test_a_move_that_is_given_up_leaves_nothing_behind(store: ModelStore, old: Path, big: Path) -> None:
    before = files_of(old)
    cancelling(lambda event: event.block_name == "norm", store, big)
    left = sum(map(len, files_of(staging(big, old)).values()))
    assert discard_move("tiny", store) == left
    assert not staging(big, old).exists()
    assert files_of(old) == before
    assert discard_move("tiny", store) == 0


def test_a_model_that_is_removed_takes_what_a_move_had_copied_with_it(store: ModelStore, old: Path, big: Path) -> None:
    cancelling(lambda event: event.block_name == "norm", store, big)
    store.remove("tiny")
    assert not staging(big, old).exists()
    assert store.list() == []


def test_a_model_moves_back_to_where_it_was(store: ModelStore, old: Path, big: Path, made: Path) -> None:
    move(store, big)
    move(store, store.models_folder)
    assert files_of(old) == files_of(made)
    assert [model.folder for model in store.list()] == [old]


def test_a_loaded_model_is_freed_and_found_by_its_old_place(store: ModelStore, old: Path, big: Path) -> None:
    options, cancel = LoadOptions(device="cpu"), CancelToken()
    with LocalEngine(store) as engine:
        list(engine.load(old, options, cancel))
        phases = [
            event.phase
            for event in engine.move("tiny", big, cancel=cancel, floor_bytes=FLOOR)
            if isinstance(event, JobProgress)
        ]
        assert phases[-2:] == ["switching", "in use"]
        assert engine.loaded is None
        with pytest.raises(NotLoaded):
            list(engine.answer([Message("user", "hi")], SamplingOptions(), cancel))
        list(engine.load(old, options, cancel))
        assert engine.loaded is not None
        assert engine.loaded.folder == big / old.name
