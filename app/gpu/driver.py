"""The NVIDIA driver of this computer and its cards, found without loading any of its libraries into the window.

Owns the ways to find them. Calls wait, up to some seconds: a card that sleeps is woken.
"""

from __future__ import annotations

import ctypes
import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

_PATIENCE_S = 20.0
_QUERY = ("--query-gpu=driver_version,name,memory.total,compute_cap", "--format=csv,noheader,nounits")
_PROC = Path("/proc/driver/nvidia")
# CUDA's compatibility guide: the first driver of each release that serves all of that release's minor versions.
_FIRST_DRIVERS = {13: (580,), 12: (525,), 11: (450,)}

Runner = Callable[[Sequence[str]], str]


@dataclass(frozen=True, slots=True)
class Card:
    """``nbytes`` of memory, 0 where it is not said; ``compute`` capability, () where it is not said."""

    name: str
    nbytes: int = 0
    compute: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Driver:
    """``version`` as (580, 65, 6)."""

    version: tuple[int, ...]
    cards: tuple[Card, ...] = ()

    @property
    def version_text(self) -> str:
        return ".".join(map(str, self.version))


def find_driver() -> Driver | None:
    """None where there is none, or it does not work."""
    if sys.platform == "darwin":
        return None
    tool = _find_tool()
    found = ask_tool(lambda arguments: _run([tool, *arguments])) if tool is not None else None
    if found is None and sys.platform == "linux":
        found = read_kernel_module(_PROC)
    if found is None and os.name == "nt":
        found = _ask_library()
    return found


def _find_tool() -> str | None:
    """On Windows only where drivers put it: looked for by its name, one in the current folder would be run first."""
    if sys.platform != "win32":
        return shutil.which("nvidia-smi")
    tool = Path(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "nvidia-smi.exe")
    return str(tool) if tool.is_file() else None


def ask_tool(run: Runner) -> Driver | None:
    """What ``nvidia-smi`` says, a line for each card. ``run`` gives its output; "" where it failed."""
    version: tuple[int, ...] = ()
    cards: list[Card] = []
    for line in run(_QUERY).splitlines():
        fields = [each.strip() for each in line.split(",")]
        if len(fields) == 4 and (numbers := _numbers(fields[0])):
            version = numbers
            mebibytes = int(fields[2]) if fields[2].isdecimal() else 0
            cards.append(Card(fields[1], mebibytes << 20, _numbers(fields[3])))
    return Driver(version, tuple(cards)) if version else None


def read_kernel_module(folder: Path) -> Driver | None:
    """What the driver's module tells on Linux, where its tool is not installed."""
    try:
        said = (folder / "version").read_text(encoding="utf-8", errors="replace")
        cards = [each.read_text(encoding="utf-8", errors="replace") for each in folder.glob("gpus/*/information")]
    except OSError:
        return None
    version = re.search(r"\s(\d+(?:\.\d+)+)\s", said)
    models = [found[1].strip() for text in cards if (found := re.search(r"^Model:(.*)$", text, re.MULTILINE))]
    return Driver(_numbers(version[1]), tuple(map(Card, models))) if version else None


def driver_for_cuda(number: int) -> Driver | None:
    """The least driver that offers this release of CUDA, as ``cuDriverGetVersion`` counts it (13010 is 13.1)."""
    first = _FIRST_DRIVERS.get(number // 1000)
    return Driver(first) if first else None


def _ask_library() -> Driver | None:
    """Asks for one number, for which nothing need be set up (Windows without the tool)."""
    number = ctypes.c_int()
    try:
        asked = ctypes.CDLL("nvcuda.dll").cuDriverGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        return None
    return driver_for_cuda(number.value) if asked == 0 else None


def _run(command: Sequence[str]) -> str:
    hidden = getattr(subprocess, "CREATE_NO_WINDOW", 0)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False, creationflags=hidden,
            stdin=subprocess.DEVNULL, errors="replace",
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        log.warning("%s could not be asked: %r", command[0], error)
        return ""
    return done.stdout if done.returncode == 0 else ""


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split("."))) if re.fullmatch(r"\d+(\.\d+)*", text) else ()
