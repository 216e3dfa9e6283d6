"""What ships beside a frozen program: the engine's packages, the starter model, the licences.

Owns their places. In a checkout there is none of it: packages come from the virtual environment, the starter from its
own package.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

RUNTIME = "runtime-cpu"
CHANNEL = "channel.json"
MODELS = "models"
LICENCES = "licences"


@dataclass(frozen=True, slots=True)
class Bundle:
    """``folder`` holds them all. It belongs to the installer: nothing in it is ever written."""

    folder: Path

    @property
    def runtimes(self) -> tuple[Path, ...]:
        return (self.folder / RUNTIME,)

    @property
    def models_dir(self) -> Path:
        return self.folder / MODELS

    @property
    def channel_file(self) -> Path:
        """Where this build's list of versions is published; not there in one that was not made for publishing."""
        return self.folder / CHANNEL

    @property
    def licences_dir(self) -> Path:
        return self.folder / LICENCES


def bundle() -> Bundle | None:
    """None in a checkout."""
    if not getattr(sys, "frozen", False):
        return None
    program = Path(sys.executable).resolve().parent
    return Bundle(program.parent / "Resources" if sys.platform == "darwin" else program)


def restore_library_path() -> None:
    """Gives programs that are started from here the system's libraries, not ours.

    A frozen program on Linux is started with its own folder in front (PyInstaller 6.22); the loader has read that by
    now, so it changes nothing for this process. Our own engine must find ours: it is told to begin as if it were
    started from outside, and so puts its folder in front again.
    """
    if sys.platform == "linux" and bundle() is not None:
        os.environ["PYINSTALLER_RESET_ENVIRONMENT"] = "1"
        before = os.environ.pop("LD_LIBRARY_PATH_ORIG", "")
        os.environ.pop("LD_LIBRARY_PATH", None)
        if before:
            os.environ["LD_LIBRARY_PATH"] = before
