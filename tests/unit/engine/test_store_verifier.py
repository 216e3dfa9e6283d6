"""Finding damaged files, naming them, and cutting exactly those again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from engine.cancel import CancelToken
from engine.errors import DamagedFile
from engine.events import Event, Finished, JobProgress, Outcome, VerifyResult
from engine.store import gguf_file
from engine.store.manifest import MANIFEST_NAME, read_manifest
from engine.store.model_store import ModelStore
from engine.store.verifier import check_sizes, verify
from tests.helpers.checkpoints import cut, files_of, make_checkpoint
from tests.helpers.gguf_files import Q4_0, write_gguf

LAYER = "blocks/layer-001.safetensors"


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    made = make_checkpoint("llama", tmp_path / "checkpoint")
    (made / "tokenizer.json").write_text("{}")
    return made


@pytest.fixture
def split(checkpoint: Path, tmp_path: Path) -> Path:
    return Path(cut(checkpoint, ModelStore(tmp_path / "data")).path)


def flip_byte(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def result_of(events: list[Event]) -> VerifyResult:
    last = events[-1]
    assert isinstance(last, Finished)
    assert isinstance(last.result, VerifyResult)
    return last.result


def test_a_sound_split_is_read_completely(split: Path) -> None:
    events = list(verify(split))
    result = result_of(events)
    assert (result.damaged, result.repaired) == ((), ())
    assert result.bytes_read == sum(len(data) for name, data in files_of(split).items() if name != MANIFEST_NAME)
    assert {event.phase for event in events if isinstance(event, JobProgress)} == {"verifying"}


@pytest.mark.parametrize("where", [0, 30, 5000, -1])
def test_a_flipped_bit_is_found_and_that_file_alone_is_cut_again(where: int, split: Path) -> None:
    before, times = files_of(split), {path: path.stat().st_mtime_ns for path in split.rglob("*.safetensors")}
    flip_byte(split / LAYER, where)
    with pytest.raises(DamagedFile) as caught:
        list(verify(split))
    assert caught.value.files == (LAYER,)
    assert LAYER in caught.value.message
    result = result_of(list(verify(split, repair=True)))
    assert (result.damaged, result.repaired) == ((LAYER,), (LAYER,))
    assert files_of(split) == before
    changed = [path for path, mtime in times.items() if path.stat().st_mtime_ns != mtime]
    assert changed == [split / LAYER]


def test_a_missing_and_a_truncated_file_are_found_and_repaired(split: Path) -> None:
    before = files_of(split)
    (split / "blocks/embed.safetensors").unlink()
    data = (split / LAYER).read_bytes()
    (split / LAYER).write_bytes(data[:-1])
    with pytest.raises(DamagedFile) as caught:
        check_sizes(split, read_manifest(split))
    assert set(caught.value.files) == {"blocks/embed.safetensors", LAYER}
    assert set(result_of(list(verify(split, repair=True))).repaired) == {"blocks/embed.safetensors", LAYER}
    assert files_of(split) == before


def test_a_damaged_tokenizer_is_copied_again(split: Path) -> None:
    before = files_of(split)
    (split / "tokenizer.json").write_text("oops")
    assert result_of(list(verify(split, repair=True))).repaired == ("tokenizer.json",)
    assert files_of(split) == before


def test_checking_sizes_sees_a_swapped_header(split: Path) -> None:
    manifest = read_manifest(split)
    check_sizes(split, manifest)
    data = bytearray((split / LAYER).read_bytes())
    data[:8] = bytes(8)
    (split / LAYER).write_bytes(data)
    with pytest.raises(DamagedFile, match="layer-001"):
        check_sizes(split, manifest)


def test_without_its_source_a_split_is_not_repaired(split: Path, checkpoint: Path) -> None:
    flip_byte(split / LAYER, 9000)
    damaged = files_of(split)
    for path in checkpoint.glob("*.safetensors"):
        path.unlink()
    with pytest.raises(DamagedFile, match="cannot be repaired") as caught:
        list(verify(split, repair=True))
    assert caught.value.files == (LAYER,)
    assert files_of(split) == damaged


def test_a_changed_source_repairs_nothing(split: Path, checkpoint: Path) -> None:
    flip_byte(split / LAYER, 9000)
    damaged = files_of(split)
    make_checkpoint("llama", checkpoint, seed=3)
    with pytest.raises(DamagedFile, match="has changed since it was cut"):
        list(verify(split, repair=True))
    assert files_of(split) == damaged


def test_cancelling_a_verification_is_an_outcome(split: Path) -> None:
    cancel = CancelToken()
    cancel.cancel()
    last = list(verify(split, cancel=cancel))[-1]
    assert isinstance(last, Finished)
    assert last.outcome is Outcome.CANCELLED


def test_the_starter_is_repaired_from_its_package_wherever_that_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_gguf(tmp_path / "starter.gguf", "llama", Q4_0)
    monkeypatch.setattr(gguf_file, "_starter_path", lambda: path)
    split = Path(cut("starter", ModelStore(tmp_path / "data")).path)
    before = files_of(split)
    flip_byte(split / LAYER, 9000)
    assert result_of(list(verify(split, repair=True))).repaired == (LAYER,)
    (tmp_path / "reinstalled").mkdir()
    path = path.rename(tmp_path / "reinstalled" / path.name)
    os.utime(path)
    (split / "tokenizer.json").unlink()
    flip_byte(split / LAYER, 9000)
    assert set(result_of(list(verify(split, repair=True))).repaired) == {LAYER, "tokenizer.json"}
    assert files_of(split) == before


def test_the_advice_names_what_a_command_finds(split: Path, tmp_path: Path) -> None:
    elsewhere = shutil.copytree(split, tmp_path / "else where")
    for folder in (split, elsewhere):
        flip_byte(folder / LAYER, 9000)
    store = ModelStore(tmp_path / "data")
    with pytest.raises(DamagedFile) as caught:
        list(verify(split, store=store))
    assert f"verify {split.name} --repair" in caught.value.next_step
    with pytest.raises(DamagedFile) as caught:
        list(verify(elsewhere, store=store))
    assert f"verify '{elsewhere}' --repair" in caught.value.next_step
    (elsewhere / LAYER).unlink()
    with pytest.raises(DamagedFile) as caught:
        check_sizes(elsewhere, read_manifest(elsewhere))
    assert f"verify '{elsewhere}' --repair" in caught.value.next_step
