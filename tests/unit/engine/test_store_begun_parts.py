"""A large block that is only copied is gone on with in the middle: nothing before is read or written again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.cancel import CancelToken
from engine.store import block_cutter
from engine.store.model_store import ModelStore
from engine.store.open_source import open_source
from engine.store.progress_journal import BegunPart, ProgressJournal
from engine.store.source_plan import plan_source
from engine.store.split_progress import find_begun_parts
from engine.store.splitter import plan_space, split_source
from tests.helpers.checkpoints import cut, files_of, make_checkpoint
from tests.helpers.killed_splits import PART_BYTES

ROOT = Path(__file__).parents[3]
EMBEDDING_BYTES = 4096 * 64 * 2


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Its embedding takes eight parts."""
    monkeypatch.setattr(block_cutter, "PART_BYTES", PART_BYTES)
    return make_checkpoint("llama", tmp_path / "model", form="single", vocab_size=4096)


@pytest.fixture
def reference(checkpoint: Path, tmp_path: Path) -> dict[str, bytes]:
    return files_of(Path(cut(checkpoint, ModelStore(tmp_path / "reference")).path))


def begin(checkpoint: Path, store: ModelStore, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cuts until three parts of the embedding are there; the unfinished split."""
    cancel = CancelToken()

    def record(self: ProgressJournal, block_name: str, part: BegunPart) -> None:
        record_part(self, block_name, part)
        if part.nbytes == 3 * PART_BYTES:
            cancel.cancel()

    record_part = ProgressJournal.record_part
    with monkeypatch.context() as patch:
        patch.setattr(ProgressJournal, "record_part", record)
        for _ in split_source(open_source(checkpoint), store, cancel=cancel, floor_bytes=0):
            pass
    (progress,) = store.models_folder.glob("*/.progress")
    return progress.parent


def test_what_is_begun_is_not_cut_again(
    checkpoint: Path, reference: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ModelStore(tmp_path / "data")
    folder = begin(checkpoint, store, monkeypatch)
    plan = plan_source(open_source(checkpoint))
    assert {name: part.nbytes for name, part in find_begun_parts(plan, folder).items()} == {"embed": 3 * PART_BYTES}
    rest = sum(block.layout.size for block in plan.blocks) - 3 * PART_BYTES
    room = plan_space(plan, folder, delete_original=False)
    assert room.written_bytes - plan_space(plan, tmp_path, delete_original=False).written_bytes == -3 * PART_BYTES
    assert rest < room.written_bytes
    spoil_start_of_embedding(checkpoint)
    result = cut(checkpoint, store)
    assert files_of(Path(result.path)) == reference
    assert result.bytes_written == rest + 3 * PART_BYTES


def spoil_start_of_embedding(checkpoint: Path) -> None:
    """Where the parts that are begun came from, so that whoever reads it again is found out. The file's time stays."""
    file = checkpoint / "model.safetensors"
    times = file.stat()
    with file.open("r+b") as opened:
        header = json.loads(opened.read(int.from_bytes(opened.read(8), "little")))
        begins = opened.tell() + header["model.embed_tokens.weight"]["data_offsets"][0]
        opened.seek(begins)
        opened.write(bytes(2 * PART_BYTES))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize("harm", ["changed", "shorter", "another version"])
def test_what_cannot_be_gone_on_with_is_begun_anew(
    harm: str, checkpoint: Path, reference: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ModelStore(tmp_path / "data")
    folder = begin(checkpoint, store, monkeypatch)
    part = ProgressJournal(folder).part_path("embed")
    data = bytearray(part.read_bytes())
    data[2 * PART_BYTES] ^= 1
    part.write_bytes(data[: 2 * PART_BYTES] if harm == "shorter" else data)
    if harm == "another version":
        how = json.loads((folder / ".progress" / "how.json").read_bytes())
        (folder / ".progress" / "how.json").write_text(json.dumps(how | {"engine": "strata 0"}))
    assert files_of(Path(cut(checkpoint, store).path)) == reference


def test_small_blocks_leave_no_parts(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_cutter, "PART_BYTES", 2 * EMBEDDING_BYTES)
    monkeypatch.setattr(ProgressJournal, "record_part", lambda *_: pytest.fail("a small block was begun in parts"))
    assert cut(checkpoint, ModelStore(tmp_path / "data")).bytes_written > EMBEDDING_BYTES


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_split_that_is_killed_between_any_two_steps_ends_the_same(checkpoint: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    command = [sys.executable, "-m", "tests.helpers.killed_splits", str(checkpoint), str(work), "part", "13"]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert output.returncode == 0, output.stderr
    trials = [json.loads(line) for line in output.stdout.splitlines()]
    assert max(trial["begun"].get("embed", 0) for trial in trials) >= 4 * PART_BYTES
    for trial in trials:
        assert trial["exit_code"] == 0
        assert trial["is_same"]
        assert len(trial["repeated"]) <= 1
