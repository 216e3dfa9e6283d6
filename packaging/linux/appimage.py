"""The AppImage: one file that runs where it lies, and installs nothing.

    python packaging/linux/appimage.py                    of build/Strata, into dist/
    python packaging/linux/appimage.py --runtime FILE     with a runtime that is here already

An AppImage is a small program, the runtime, with a file system image behind it, which it mounts and starts ``AppRun``
of. The image is made by mksquashfs; the runtime is fetched from its project's release and has to be the one named here.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "packaging"), str(ROOT)]

from linux.desktop_files import write_desktop_files

from engine import __version__

RUNTIME_URL = "https://github.com/AppImage/type2-runtime/releases/download/20251108/runtime-x86_64"
RUNTIME_SHA256 = "2fca8b443c92510f1483a883f60061ad09b46b978b2631c807cd873a47ec260d"
PLACE = "usr/lib/strata"


class AppImageFailed(Exception):
    """One sentence says what is missing or wrong."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtime", type=Path, help="a file with the runtime, instead of fetching it")
    given = parser.parse_args()
    bundle = ROOT / "build" / "Strata"
    os.environ.setdefault("SOURCE_DATE_EPOCH", str(int(bundle.stat().st_mtime)))  # build.py has set it
    try:
        runtime = given.runtime.read_bytes() if given.runtime else fetched_runtime()
        made = build_appimage(bundle, ROOT / "dist", runtime)
    except (AppImageFailed, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{made.relative_to(ROOT)}: {made.stat().st_size / 1e6:.0f} MB")
    return 0


def fetched_runtime() -> bytes:
    """The runtime's bytes. Raises ``AppImageFailed`` where they are not those that are pinned."""
    with urllib.request.urlopen(RUNTIME_URL, timeout=120) as answer:
        content: bytes = answer.read()
    found = hashlib.sha256(content).hexdigest()
    if found != RUNTIME_SHA256:
        raise AppImageFailed(f"{RUNTIME_URL} has SHA-256 {found}; {RUNTIME_SHA256} was expected. Nothing was made.")
    return content


def build_appimage(bundle: Path, target: Path, runtime: bytes) -> Path:
    """Writes the AppImage into ``target`` and returns its path. Raises ``AppImageFailed``."""
    if runtime[:4] != b"\x7fELF" or runtime[8:11] != b"AI\x02":
        raise AppImageFailed("The runtime is not one of AppImages of type 2.")
    mksquashfs = shutil.which("mksquashfs")
    if mksquashfs is None:
        raise AppImageFailed("mksquashfs is not installed; on Debian: apt-get install squashfs-tools")
    target.mkdir(exist_ok=True)
    made = target / f"strata-{__version__}-linux-x86_64.AppImage"
    with tempfile.TemporaryDirectory(dir=bundle.parent, prefix="appimage-") as folder:
        tree, image = Path(folder) / "AppDir", Path(folder) / "image"
        write_app_dir(bundle, tree)
        # All times are SOURCE_DATE_EPOCH; the order of files is mksquashfs' own and always the same.
        command = [
            mksquashfs,
            str(tree),
            str(image),
            "-root-owned",
            "-noappend",
            "-no-xattrs",
            "-quiet",
            "-no-progress",
        ]
        subprocess.run([*command, "-comp", "zstd", "-Xcompression-level", "9"], check=True)
        with made.open("wb") as file, image.open("rb") as content:
            file.write(runtime)
            shutil.copyfileobj(content, file, 1 << 20)
    made.chmod(0o755)
    return made


def write_app_dir(bundle: Path, tree: Path) -> None:
    """The folder an AppImage is made of: the bundle, its desktop files, and what the format wants at the top."""
    shutil.copytree(bundle, tree / PLACE, symlinks=True, copy_function=os.link)
    tree.chmod(0o755)
    share = tree / "usr" / "share"
    write_desktop_files(share)
    # The frozen program finds its folder by its real place, so a link starts it.
    (tree / "AppRun").symlink_to(f"{PLACE}/Strata")
    entry = (share / "applications" / "strata.desktop").read_text(encoding="utf-8")
    # Nothing of this name is on anyone's path.
    entry = "".join(line for line in entry.splitlines(keepends=True) if not line.startswith("TryExec="))
    (share / "applications" / "strata.desktop").write_text(entry, encoding="utf-8")
    (tree / "strata.desktop").write_text(entry, encoding="utf-8")
    shutil.copyfile(share / "icons" / "hicolor" / "256x256" / "apps" / "strata.png", tree / "strata.png")
    (tree / ".DirIcon").symlink_to("strata.png")


if __name__ == "__main__":
    sys.exit(main())
