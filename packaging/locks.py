"""What each system's installer is built from, with the hash of every file: ``packaging/locks``.

    python packaging/locks.py            writes the locks anew from pyproject.toml and constraints.txt
    python packaging/locks.py install    makes .venv of this system's lock, and of nothing else

``constraints.txt`` chooses the versions, for every system and Python; a lock adds what they need on one system, and
the hashes. Releases are built from locks, so the systems and the Python here are those of the release workflow.

PyTorch for Linux has its builds for the processor on its own index and not on PyPI. They are a lock of their own,
written where that index can be reached; while it is not committed, ``install`` resolves it on the spot and says so.

Standard library only: it makes the environment that the other scripts run in.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import dev

LOCKS = ROOT / "packaging" / "locks"
TORCH_LOCK = LOCKS / "linux-x86_64-torch.txt"
STARTER_LOCK = LOCKS / "starter.txt"
EXTRAS = ("app", "quant", "dev", "package")
PYTHON = "3.11"
# Wheels are taken for the oldest macOS that Strata runs on, not for the one it is built on.
OLDEST_MACOS = "14.0"
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
# PyPI's torch for Linux and what only that one asks for.
_FOR_ACCELERATORS = re.compile(r"(torch|triton|cuda-.*|nvidia-.*)")


@dataclass(frozen=True, slots=True)
class System:
    """``name`` is its lock's file name, ``target`` what uv calls it."""

    name: str
    target: str
    has_torch_apart: bool = False

    @property
    def lock(self) -> Path:
        return LOCKS / f"{self.name}.txt"


SYSTEMS = {
    "linux": System("linux-x86_64", "x86_64-manylinux_2_34", has_torch_apart=True),
    "win32": System("windows-x86_64", "x86_64-pc-windows-msvc"),
    "darwin": System("macos-arm64", "aarch64-apple-darwin"),
}


class LockError(Exception):
    """The locks or this computer do not allow it. One sentence says what to do."""


def main(arguments: Sequence[str]) -> int:
    if arguments not in ([], ["install"]):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        if arguments:
            install()
        else:
            write_locks()
    except (LockError, dev.SetupError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def write_locks() -> None:
    LOCKS.mkdir(exist_ok=True)
    for system in SYSTEMS.values():
        compiled = compiled_lock(wanted(), system)
        if system.has_torch_apart:
            compiled = without(compiled, _FOR_ACCELERATORS)
        system.lock.write_text(compiled, encoding="utf-8")
        print(f"{system.lock.relative_to(ROOT)}: {len(entries(compiled))} packages")
    STARTER_LOCK.write_text(compiled_lock([dev.STARTER_PACKAGE], SYSTEMS["linux"], "--no-deps"), encoding="utf-8")
    try:
        TORCH_LOCK.write_text(compiled_torch_lock(), encoding="utf-8")
    except LockError as error:
        print(f"{TORCH_LOCK.relative_to(ROOT)} stays as it is: {error}")


def wanted() -> list[str]:
    """All that pyproject.toml asks for, and what builds Strata itself."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = content["project"]
    extras = [each for extra in EXTRAS for each in project["optional-dependencies"][extra]]
    return [*project["dependencies"], *extras, *content["build-system"]["requires"]]


def compiled_lock(requirements: Iterable[str], system: System, *options: str) -> str:
    """uv's answer for one system: ``name==version`` and hashes. It names no index and no folder of this computer."""
    command = [*_uv(), "pip", "compile", "-", "--quiet", "--no-config", "--generate-hashes"]
    command += ["--no-annotate", "--no-header", "--python-version", PYTHON, "--python-platform", system.target]
    command += ["--constraints", str(dev.CONSTRAINTS), *options]
    done = subprocess.run(
        command, input="\n".join(requirements), cwd=ROOT, env=_for_oldest_macos(),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise LockError(f"uv could not resolve the packages for {system.name}: {done.stderr.strip()}")
    return done.stdout


def compiled_torch_lock() -> str:
    """Of the version in constraints.txt, from PyTorch's own index. What it needs is in the lock of the system."""
    version = pins(dev.CONSTRAINTS.read_text(encoding="utf-8"))["torch"]
    options = ("--no-deps", "--default-index", TORCH_INDEX)
    return compiled_lock([f"torch=={version}+cpu"], SYSTEMS["linux"], *options)


def entries(lock: str) -> list[str]:
    """One for each package: its line, and the lines of its hashes."""
    return [each.strip() + "\n" for each in re.split(r"^(?=\S)", lock, flags=re.MULTILINE) if each.strip()]


def without(lock: str, names: re.Pattern[str]) -> str:
    return "".join(each for each in entries(lock) if not names.fullmatch(_name(each)))


def pins(lock: str) -> dict[str, str]:
    """Versions by normal name, of a lock or of constraints.txt."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", lock, re.MULTILINE)
    return {normal_name(name): version for name, version in found}


def normal_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def install() -> None:
    """Makes .venv anew. Raises ``LockError`` where there is no lock for this computer, or a file is not as locked."""
    if sys.version_info[:2] != tuple(map(int, PYTHON.split("."))):
        raise LockError(
            f"The locks are for Python {PYTHON}; this is {sys.version_info.major}.{sys.version_info.minor}."
        )
    system = SYSTEMS[sys.platform]
    shutil.rmtree(dev.VENV, ignore_errors=True)
    dev.make_venv()
    lock = system.lock.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        own_uv = Path(folder) / "uv.txt"
        own_uv.write_text("".join(each for each in entries(lock) if _name(each) == "uv"), encoding="utf-8")
        pip = [str(dev.VENV_PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        _run([*pip, "--require-hashes", "--no-deps", "--requirement", str(own_uv)])
    uv = [*_uv(), "pip", "install", "--no-config", "--python", str(dev.VENV_PYTHON), "--no-deps"]
    locked = [*uv, "--require-hashes", "--only-binary", ":all:", "--python-platform", system.target]
    _run([*locked, "--requirement", str(system.lock), "--requirement", str(STARTER_LOCK)])
    if system.has_torch_apart:
        if not TORCH_LOCK.is_file():
            TORCH_LOCK.write_text(compiled_torch_lock(), encoding="utf-8")
            print(f"{TORCH_LOCK.relative_to(ROOT)} was not there; it says what {TORCH_INDEX} offered now.", flush=True)
        _run([*locked, "--default-index", TORCH_INDEX, "--requirement", str(TORCH_LOCK)])
    _run([*uv, "--no-build-isolation", "--editable", str(ROOT)])
    dev.STAMP.write_text(dev.wanted_digest(), encoding="utf-8")


def _name(entry: str) -> str:
    return normal_name(entry.partition("==")[0].strip())


def _uv() -> list[str]:
    """The one of .venv, else the one on the path."""
    if dev.VENV_PYTHON.exists() and list(dev.VENV.glob("**/site-packages/uv")):
        return [str(dev.VENV_PYTHON), "-m", "uv"]
    if found := shutil.which("uv"):
        return [found]
    raise LockError("uv is not installed: python3 dev.py test installs it into .venv")


def _run(command: list[str]) -> None:
    if subprocess.run(command, cwd=ROOT, env=_for_oldest_macos(), check=False).returncode != 0:
        raise LockError(f"{command[0]} could not install what is locked; its message above says why.")


def _for_oldest_macos() -> dict[str, str]:
    return {**os.environ, "MACOSX_DEPLOYMENT_TARGET": OLDEST_MACOS}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
