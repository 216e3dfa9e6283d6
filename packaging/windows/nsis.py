"""The Windows installer: the bundle in one ``setup.exe`` that installs it for one user.

Owns what ``strata.nsi`` must be told (versions, sizes, which names are ours) and the call of its compiler, makensis.
Refuses what NSIS or Windows could not hold, before anything is compiled.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from engine import __version__

HERE = Path(__file__).resolve().parent
ICON = HERE.parents[1] / "resources" / "app-icon" / "strata.ico"
PUBLISHER = "The Strata authors"
RUNNING_MARK = "Strata-is-running"
"""As ``app.running_mark`` names it."""
SIGN_COMMAND = "STRATA_SIGN_COMMAND"
"""Of the environment: a command that signs the file ``%1``. makensis runs it on the uninstaller before packing it."""

PAYLOAD_LIMIT_BYTES = 2**31 - 1
"""NSIS 3 addresses what it packs with 31 bits."""
PATH_LIMIT = 259
"""The longest path that every program on Windows can open, in characters."""
_STAGED = len(".new")
_SPARE_MB = 50
_NOT_OURS_ALONE = "models"
"""Of this folder only what lies in it is ours: somebody may keep models of their own there."""


class SetupImpossible(Exception):
    """One sentence with numbers, and what to do."""


@dataclass(frozen=True, slots=True)
class Payload:
    """What is installed. ``longest``: characters of the longest path in ``folder``. ``names``: what removing takes."""

    folder: Path
    size_bytes: int
    files: int
    longest: int
    names: tuple[str, ...]


def build_setup(bundle: Path, target: Path) -> Path:
    """Writes the installer into ``target`` and returns its path. Raises ``SetupImpossible``."""
    payload = read_payload(bundle)
    require_fitting(payload)
    return compile_setup(payload, target)


def compile_setup(
    payload: Payload,
    target: Path,
    *,
    version: str = __version__,
    machine: str = "x86-unicode" if sys.platform == "win32" else "amd64-unicode",
) -> Path:
    """Runs makensis. Raises ``SetupImpossible`` with what it says.

    ``machine`` is that of the installer, not of what it installs: the NSIS of nsis.org only makes 32-bit ones, which
    run on every 64-bit Windows; Debian's also makes 64-bit ones, which run in a Wine that has no 32-bit half.
    """
    compiler = find_compiler()
    made = target / f"Strata-{version}-windows-x64-setup.exe"
    with tempfile.TemporaryDirectory(prefix="setup-") as name:
        folder = Path(name)
        (folder / "installed.ini").write_text(installed_list(payload), encoding="ascii", newline="")
        text = definitions(payload, folder, made, version=version, machine=machine)
        (folder / "definitions.nsh").write_text(text, encoding="utf-8")
        command = [compiler, "-V2", "-INPUTCHARSET", "UTF8", "-NOCD", f"-X!addincludedir {_quoted(folder)}"]
        command += [f"-X!addincludedir {_quoted(HERE)}", str(HERE / "strata.nsi")]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode != 0:
        raise SetupImpossible(f"makensis failed with {done.returncode}:\n{done.stdout}{done.stderr}")
    if done.stdout:
        print(done.stdout, file=sys.stderr)  # warnings
    return made


def read_payload(bundle: Path) -> Payload:
    files = [path for path in bundle.rglob("*") if path.is_file()]
    names: list[str] = []
    for entry in sorted(bundle.iterdir()):
        inside = sorted(entry.iterdir()) if entry.name == _NOT_OURS_ALONE else []
        names += [f"{entry.name}\\{each.name}" for each in inside] or [entry.name]
    return Payload(
        folder=bundle,
        size_bytes=sum(path.stat().st_size for path in files),
        files=len(files),
        longest=max(len(str(path.relative_to(bundle))) for path in files),
        names=(*names, "uninstall.exe"),
    )


def require_fitting(payload: Payload) -> None:
    """Raises ``SetupImpossible``."""
    if payload.size_bytes > PAYLOAD_LIMIT_BYTES:
        raise SetupImpossible(
            f"{payload.folder} is {payload.size_bytes / 2**30:.2f} GiB; NSIS packs at most "
            f"{PAYLOAD_LIMIT_BYTES / 2**30:.2f} GiB. Leave more out in packaging/runtime.py."
        )
    # C:\Users, a name of 20 characters as Windows allows, and the rest of the suggested folder.
    suggested = len("C:\\Users\\") + 20 + len("\\AppData\\Local\\Programs\\Strata")
    if longest_folder(payload) < suggested:
        raise SetupImpossible(
            f"A path in {payload.folder} is {payload.longest} characters long, so the program's folder could have only "
            f"{longest_folder(payload)}; the suggested one has up to {suggested}. Leave that file out."
        )


def longest_folder(payload: Payload) -> int:
    """Characters the program's folder may have, so that every file in it can be opened, also while it is unpacked."""
    return PATH_LIMIT - payload.longest - len("\\") - _STAGED


def installed_list(payload: Payload) -> str:
    """``installed.ini``: what belongs to the program, so that removing it removes nothing else."""
    lines = [f"{number}={name}\r\n" for number, name in enumerate(payload.names, start=1)]
    return "[Installed]\r\n" + "".join(lines)


def definitions(payload: Payload, folder: Path, made: Path, *, version: str, machine: str) -> str:
    """``definitions.nsh`` for ``strata.nsi``. ``folder`` holds installed.ini; ``made`` is the installer."""
    numbers = (*Version(version).release, 0, 0, 0, 0)[:4]
    values = {
        "TARGET": machine,
        "VERSION": version,
        "VERSION_NUMBERS": ".".join(map(str, numbers)),
        "PUBLISHER": PUBLISHER,
        "RUNNING_MARK": RUNNING_MARK,
        "OUTPUT": made,
        "PAYLOAD_FILES": payload.folder / "*",
        "INSTALLED_LIST": folder / "installed.ini",
        "ICON": ICON,
        "SIDE_PICTURE": HERE / "side.bmp",
        "HEAD_PICTURE": HERE / "head.bmp",
        # With installed.ini and uninstall.exe.
        "FILES": payload.files + 2,
        "SIZE_KB": payload.size_bytes // 1024,
        "NEEDED_MB": payload.size_bytes // 2**20 + _SPARE_MB,
        "LONGEST_FOLDER": longest_folder(payload),
    }
    if sign := os.environ.get(SIGN_COMMAND):
        values["SIGN_COMMAND"] = sign
    lines = [f"!define {name} {_quoted(value)}\n" for name, value in values.items()]
    return "".join(lines)


def _quoted(value: object) -> str:
    return '"' + str(value).replace("$", "$$").replace('"', '$\\"') + '"'


def find_compiler() -> str:
    """Where makensis is. Raises ``SetupImpossible``. The installer of NSIS does not put it on the path."""
    places = [Path(os.environ.get("PROGRAMFILES(X86)", "")) / "NSIS"] if sys.platform == "win32" else []
    found = shutil.which("makensis", path=os.pathsep.join([os.environ.get("PATH", ""), *map(str, places)]))
    if found is None:
        raise SetupImpossible("makensis was not found: install NSIS 3 (Windows: choco install nsis; Debian: nsis).")
    return found
