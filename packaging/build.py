"""Makes what people install: ``python3 dev.py package``.

    python packaging/build.py                     the bundle and this system's installers, in dist/
    python packaging/build.py --bundle-only       only the bundle, in build/Strata (macOS: build/Strata.app)
    python packaging/build.py --installers-only   the installers of the bundle that is there, after it was signed
    python packaging/build.py --check             also runs the bundle's own self-test

Owns the order: the frozen window, the engine's packages, the starter cut, the licences, then installers.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from channel import write_channel
from distributions import engine_distributions, window_distributions
from layout import bundle_layout
from licences import LicenceMissing, collect_licences
from macos.signing import BuiltForNewer
from runtime import WrongTorch, build_runtime
from starter import ship_starter
from windows.nsis import SetupImpossible, build_setup, find_compiler
from windows.vc_runtime import RuntimeLibraryMissing, ship_vc_runtime

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
DIST = ROOT / "dist"
WORK = BUILD / "pyinstaller"
LAYOUT = bundle_layout(BUILD, sys.platform)
BUNDLE = LAYOUT.bundle


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_mutually_exclusive_group()
    parts.add_argument("--bundle-only", action="store_true", help="no installers")
    parts.add_argument("--installers-only", action="store_true", help="of the bundle that is there")
    parser.add_argument("--check", action="store_true", help="run the bundle's self-test")
    given = parser.parse_args()
    # The same commit gives the same bytes.
    os.environ.setdefault("SOURCE_DATE_EPOCH", commit_time())
    os.environ.update(PYTHONHASHSEED="1", LC_ALL="C.UTF-8", TZ="UTC")
    try:
        if sys.platform == "win32" and not given.bundle_only:
            find_compiler()  # the bundle takes minutes
        if not given.installers_only:
            build_bundle()
        if given.check and not passes_its_own_test():
            return 1
        if not given.bundle_only:
            build_installers()
    except (WrongTorch, LicenceMissing, BuiltForNewer, RuntimeLibraryMissing, SetupImpossible) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def build_bundle() -> None:
    with step("the window, frozen"):
        command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level=ERROR"]
        command += ["--distpath", str(BUILD), "--workpath", str(WORK), str(ROOT / "packaging" / "strata.spec")]
        subprocess.run(command, cwd=ROOT, check=True)
        write_channel(LAYOUT.shipped)
    with step("the engine's packages"):
        build_runtime(LAYOUT.runtime)
    with step("the starter, cut"):
        ship_starter(LAYOUT.models, BUILD / "starter")
    if sys.platform == "win32":
        with step("Microsoft's C++ runtime"):
            ship_vc_runtime(BUNDLE)
    with step("licences"):
        shipped = {**engine_distributions(), **window_distributions()}
        libraries = (WORK / "strata" / "libraries.txt").read_text(encoding="utf-8").split("\n")
        collect_licences(LAYOUT.licences, shipped.values(), [Path(line) for line in libraries if line])
    set_modes_and_times(BUNDLE)
    if sys.platform == "darwin":
        finish_app()
    print(f"{BUNDLE.relative_to(ROOT)}: {megabytes(BUNDLE)} MB")


def finish_app() -> None:
    """What was added to the program after PyInstaller signed it has broken its seal."""
    from macos.info_plist import OLDEST_MACOS, write_words
    from macos.signing import require_oldest_macos, sign

    with step("the program, signed ad hoc"):
        write_words(LAYOUT.shipped)
        require_oldest_macos(BUNDLE, OLDEST_MACOS)
        sign(BUNDLE)


def passes_its_own_test() -> bool:
    """Says what the bundle's self-test found, which it writes to a file: on Windows it has no output of its own."""
    report = BUILD / "selftest.txt"
    report.unlink(missing_ok=True)
    done = subprocess.run([str(LAYOUT.program), "--selftest", "--report", str(report)], check=False)
    print(report.read_text(encoding="utf-8") if report.exists() else f"It ended with {done.returncode}.", flush=True)
    return done.returncode == 0


def build_installers() -> None:
    DIST.mkdir(exist_ok=True)
    if sys.platform == "linux":
        from linux.deb import build_deb
        from linux.self_extracting import build_run

        for name, build in (("Debian package", build_deb), ("installer without root", build_run)):
            with step(name):
                made = build(BUNDLE, DIST)
            print(f"{made.relative_to(ROOT)}: {made.stat().st_size / 1e6:.0f} MB")
    elif sys.platform == "darwin":
        from macos.disk_image import build_disk_image

        with step("disk image"):
            made = build_disk_image(BUNDLE, DIST)
        print(f"{made.relative_to(ROOT)}: {made.stat().st_size / 1e6:.0f} MB")
    elif sys.platform == "win32":
        with step("installer"):
            made = build_setup(BUNDLE, DIST)
        print(f"{made.relative_to(ROOT)}: {made.stat().st_size / 1e6:.0f} MB")
    else:
        print(f"There is no installer for {sys.platform} yet; the bundle is complete.")


def commit_time() -> str:
    """Seconds of the last commit; a fixed time outside a working copy."""
    git = shutil.which("git")
    if git is not None:
        done = subprocess.run([git, "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.strip()
    return "1700000000"


def set_modes_and_times(folder: Path) -> None:
    """Packers write both down: modes are not the builder's umask, and times are when the source changed."""
    moment = int(os.environ["SOURCE_DATE_EPOCH"])
    for path in [*sorted(folder.rglob("*"), reverse=True), folder]:
        if os.name != "nt" and not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        os.utime(path, (moment, moment), follow_symlinks=os.utime not in os.supports_follow_symlinks)


def megabytes(folder: Path) -> int:
    return round(sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6)


@contextmanager
def step(name: str) -> Generator[None]:
    begun = time.monotonic()
    print(f"{name}: ", end="", flush=True)
    yield
    print(f"{time.monotonic() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
