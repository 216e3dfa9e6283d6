"""Keeps dropping files from the page cache, so that a peer reads the disk as with a model far larger than RAM.

Linux only.   usage: python -m tests.bench.cache_eviction FOLDER…
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


def main(folders: list[str]) -> None:
    while True:
        for folder in folders:
            for path in Path(folder).rglob("*"):
                try:
                    if path.is_file() and path.stat().st_size > 1 << 20:
                        descriptor = os.open(path, os.O_RDONLY)
                        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                        os.close(descriptor)
                except OSError:
                    continue  # a peer moves its files while it works
        time.sleep(0.05)


if __name__ == "__main__":
    main(sys.argv[1:])
