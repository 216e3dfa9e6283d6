"""``python -m engine move`` as a process that is killed in the middle: the next one goes on, and nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.store.model_store import ModelStore
from tests.helpers.checkpoints import cut, files_of, make_checkpoint

ROOT = Path(__file__).resolve().parents[2]
OTHER_DRIVE = Path("/dev/shm")


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Path]:
    if not OTHER_DRIVE.is_dir() or OTHER_DRIVE.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second drive on this machine")
    with tempfile.TemporaryDirectory(dir=OTHER_DRIVE) as folder:
        yield Path(folder) / "models"


def start_move(data_dir: Path, target: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "engine", "move", "large", "--to", str(target)]
    return subprocess.Popen(
        [*command, "--data-dir", str(data_dir), "--json"],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )


def events_of(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            yield json.loads(line)


@pytest.mark.slow
def test_a_move_killed_in_the_middle_goes_on_and_loses_nothing(tmp_path: Path, target: Path) -> None:
    store = ModelStore(tmp_path / "data")
    checkpoint = make_checkpoint("llama", tmp_path / "large", form="single", vocab_size=64_000, hidden_size=256)
    old = Path(cut(checkpoint, store).path)
    before = files_of(old)
    process = start_move(store.data_dir, target)
    for event in events_of(process):
        if event.get("phase") == "copying":
            process.send_signal(signal.SIGKILL)
            break
    assert process.wait(30) == -signal.SIGKILL
    staging = target / f".moving-{old.name}"
    assert files_of(old) == before
    assert staging.is_dir()
    assert store.resolve("large") == old

    seen = list(events_of(start_move(store.data_dir, target)))
    assert seen[-1]["outcome"] == "done"
    assert seen[-1]["result"]["path"] == str(target / old.name)
    assert files_of(target / old.name) == before
    assert not old.exists()
    assert not staging.exists()
    assert store.resolve("large") == target / old.name

    shutil.rmtree(target)
    assert [model.state for model in store.list()] == ["away"]
