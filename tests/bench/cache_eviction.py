"""Makes a peer read the disk, as it would with a model far larger than RAM.

Files that are read are dropped from the page cache again and again; what a program maps cannot be dropped from
outside, so such a program gets a small memory instead (a control group: root only). Linux only.

usage: python -m tests.bench.cache_eviction FOLDER…
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def evicting(*folders: Path) -> Generator[None]:
    """Runs the eviction beside the measurement, in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.cache_eviction", *map(str, folders)]
    process = subprocess.Popen(command)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def evict(folder: Path) -> None:
    """Once. Pages that are not on the disk yet stay: call ``os.sync`` before."""
    for path in folder.rglob("*"):
        try:
            if path.is_file() and path.stat().st_size > 1 << 20:
                descriptor = os.open(path, os.O_RDONLY)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(descriptor)
        except OSError:
            continue  # a peer moves its files while it works


@contextmanager
def small_memory(nbytes: int) -> Generator[list[str] | None]:
    """The beginning of a command line that has ``nbytes`` for its memory and its mapped files; None where refused."""
    memory = Path("/sys/fs/cgroup/memory")
    group, limit = (
        (memory / "strata-bench", "memory.limit_in_bytes")
        if memory.is_dir()
        else (Path("/sys/fs/cgroup/strata-bench"), "memory.max")
    )
    try:
        group.mkdir(exist_ok=True)
        (group / limit).write_text(str(nbytes), encoding="ascii")
    except OSError:
        yield None
        return
    try:
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
    finally:
        group.rmdir()


def main(folders: list[str]) -> None:
    while True:
        for folder in folders:
            evict(Path(folder))
        time.sleep(0.05)


if __name__ == "__main__":
    main(sys.argv[1:])
