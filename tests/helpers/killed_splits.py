"""Splits that are killed, in a process of their own: run as a module, prints one JSON line per kill.

``python -m tests.helpers.killed_splits CHECKPOINT WORK signal KILLS``: SIGKILL at random moments.
``python -m tests.helpers.killed_splits CHECKPOINT WORK step STRIDE``: the process disappears before or after a call
that changes the disk, every ``STRIDE``-th of them in turn, while the original is being deleted.
``python -m tests.helpers.killed_splits CHECKPOINT WORK part STRIDE``: the same with blocks that are begun in parts of
``PART_BYTES``, and the original kept.

torch is imported once; every attempt is a forked child. It starts from a fresh copy of the checkpoint, is killed,
and is run again to its end, whose files are compared with those of a run that nobody killed.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.events import JobProgress
from engine.store import block_cutter
from engine.store.model_store import ModelState, ModelStore
from engine.store.open_source import open_source
from engine.store.progress_journal import ProgressJournal
from engine.store.source_plan import plan_source
from engine.store.splitter import split_source
from tests.helpers.checkpoints import files_of

GONE = 77
PART_BYTES = 1 << 16
Job = Callable[[], object]
Attempt = Callable[[Job], bool]
"""Runs a job in a child and kills it; whether it was still running."""


def main() -> None:
    checkpoint, work, mode, number = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    blocks = plan_source(open_source(checkpoint)).blocks
    needs = {block.file: block.source_files for block in blocks}
    files = {block.spec.name: block.file for block in blocks}
    started = time.monotonic()
    run_child(lambda: cut(checkpoint, work / "reference", deletes=False))
    usual_s = time.monotonic() - started
    trial = Trial(checkpoint, work, needs, files)
    if mode == "signal":
        chance = random.Random(0)
        for _ in range(number):
            trial.run(kill_after(chance.uniform(0.1, 0.9) * usual_s), deletes=False)
        return
    if mode == "part":
        block_cutter.PART_BYTES = PART_BYTES
    step = 0
    while trial.run(vanish_at(step), deletes=mode == "step"):
        step += number


class Trial:
    """Kills a run, lets a second one finish, and says what became of the model."""

    def __init__(self, checkpoint: Path, work: Path, needs: dict[str, frozenset[str]], files: dict[str, str]) -> None:
        self.checkpoint = checkpoint
        self.needs = needs
        self.files = files
        self.source = work / "source" / checkpoint.name
        self.data = work / "data"
        self.names = work / "names.json"
        self.reference = split_in(work / "reference")

    def run(self, attempt: Attempt, *, deletes: bool) -> bool:
        """Prints one line. False if the first run came to its end before it was killed."""
        for folder in (self.source, self.data):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.checkpoint, self.source)  # with the files' times, so the revision is the same
        was_killed = attempt(lambda: cut(self.source, self.data, deletes=deletes))
        done = set(self.cut_files())
        states = [model.state for model in ModelStore(self.data).list()]
        found: dict[str, Any] = {"was_killed": was_killed, "lost": self.lost(), "states": states}
        found["begun"] = {
            name: part.nbytes
            for progress in self.data.glob("models/*/.progress")
            for name, part in ProgressJournal(progress.parent).begun().items()
        }
        self.names.write_text("[]")
        exit_code = run_child(lambda: self.names.write_text(json.dumps(cut(self.source, self.data, deletes=deletes))))
        again = {self.files[name] for name in json.loads(self.names.read_text())}
        # A source whose split was whole and whose last shard was gone cannot be opened again, and need not be.
        was_ready = ModelState.READY in states and not self.shards()
        found |= {
            "exit_code": 0 if was_ready else exit_code,
            "repeated": sorted(done & again),
            "is_same": self.is_same(),
            "shards_left": self.shards(),
        }
        print(json.dumps(found), flush=True)
        return was_killed

    def shards(self) -> list[str]:
        return sorted(path.name for path in self.source.glob("*.safetensors"))

    def cut_files(self) -> dict[str, Path]:
        """What is in place of the split's weight files, by their names in the manifest."""
        paths = self.data.rglob("*.safetensors")
        return {f"{path.parent.name}/{path.name}": path for path in paths}

    def lost(self) -> list[str]:
        """Blocks that are neither whole in the split nor can be cut from what is left of the source."""
        there = set(self.shards())
        kept = {file: path.read_bytes() for file, path in self.cut_files().items()}
        return [
            name
            for name, shards in self.needs.items()
            if not shards <= there and kept.get(name) != (self.reference / name).read_bytes()
        ]

    def is_same(self) -> bool:
        """Whether the split has become that of the reference, but for where its source was."""
        folders = [files_of(folder) for folder in (split_in(self.data), self.reference)]
        manifests = [json.loads(files.pop("split.json", b"{}")) for files in folders]
        for manifest in manifests:
            manifest.get("source", {})["path"] = ""
        return folders[0] == folders[1] and manifests[0] == manifests[1]


def split_in(data: Path) -> Path:
    return next((data / "models").glob("*@*"))


def cut(source: Path, data: Path, *, deletes: bool) -> list[str]:
    """Cuts to the end; the names of the blocks that were cut."""
    store = ModelStore(data)
    events = split_source(open_source(source, store), store, delete_original=deletes, floor_bytes=0)
    return [event.block_name for event in events if isinstance(event, JobProgress) and event.phase == "cutting"]


def run_child(job: Job) -> int:
    """Runs a job in a forked child; its exit code, or minus the signal that ended it."""
    child = fork(job)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def fork(job: Job) -> int:
    child = os.fork()
    if child == 0:
        try:
            job()
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    return child


def kill_after(delay_s: float) -> Attempt:
    def attempt(job: Job) -> bool:
        child = fork(job)
        time.sleep(delay_s)
        os.kill(child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

    return attempt


def vanish_at(step: int) -> Attempt:
    """Counts the moments just before and just after each call that changes the disk, and ends at one of them."""

    def attempt(job: Job) -> bool:
        def counted() -> None:
            end_at_moment(step)
            job()

        return run_child(counted) == GONE

    return attempt


def end_at_moment(step: int) -> None:
    """For a child that is about to end anyway: nothing is put back."""
    left = [step]

    def moment() -> None:
        if left[0] == 0:
            os._exit(GONE)
        left[0] -= 1

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            moment()
            result = function(*arguments, **options)
            moment()
            return result

        return call

    for owner, name in (
        (os, "fsync"), (Path, "replace"), (Path, "rename"), (Path, "unlink"), (shutil, "rmtree"),
    ):  # fmt: skip
        setattr(owner, name, watched(getattr(owner, name)))


if __name__ == "__main__":
    main()
