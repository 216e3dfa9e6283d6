"""The Debian package: the bundle in /opt/strata, a command, a menu entry. No script runs at install or removal."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from linux.desktop_files import write_desktop_files

from engine import __version__

ROOT = Path(__file__).resolve().parents[2]
PLACE = "opt/strata"
# What the bundle leaves to the system (strata.spec); fonts and portals are for comfort.
DEPENDS = (
    "libdbus-1-3, libegl1, libexpat1, libfontconfig1, libfreetype6, libgcc-s1, libgl1, libglib2.0-0, libstdc++6, "
    "libwayland-client0, libwayland-cursor0, libwayland-egl1, libx11-6, libxcb1, zlib1g"
)
RECOMMENDS = "fonts-dejavu-core, fonts-noto-cjk, gnome-keyring | kwalletmanager | libpam-kwallet5, xdg-desktop-portal"


def build_deb(bundle: Path, target: Path) -> Path:
    """Writes the package into ``target`` and returns its path."""
    architecture = _output("dpkg", "--print-architecture")
    with tempfile.TemporaryDirectory(dir=bundle.parent, prefix="deb-") as name:
        tree = Path(name)
        tree.chmod(0o755)
        shutil.copytree(bundle, tree / PLACE, symlinks=True, copy_function=os.link)
        command = tree / "usr" / "bin" / "strata"
        command.parent.mkdir(parents=True)
        command.symlink_to(f"/{PLACE}/Strata")
        write_desktop_files(tree / "usr" / "share")
        copyright_file = tree / "usr" / "share" / "doc" / "strata" / "copyright"
        copyright_file.parent.mkdir(parents=True)
        copyright_file.write_text(
            (ROOT / "LICENSE").read_text(encoding="utf-8")
            + f"\nStrata carries other free software. Its licences are in /{PLACE}/licences.\n",
            encoding="utf-8",
        )
        installed_kb = sum(path.lstat().st_size for path in tree.rglob("*")) // 1024
        control = tree / "DEBIAN" / "control"
        control.parent.mkdir()
        control.write_text(_control(architecture, installed_kb, oldest_glibc(bundle)), encoding="utf-8")
        package = target / f"strata_{__version__}_{architecture}.deb"
        _set_modes_and_times(tree)
        pack = ["dpkg-deb", "--build", "--root-owner-group", "-Zzstd", f"-z{_level()}", str(tree), str(package)]
        subprocess.run(pack, check=True, stdout=subprocess.DEVNULL)
    return package


def oldest_glibc(bundle: Path) -> str:
    """The newest version of the C library that anything in the bundle asks for."""
    libraries = [path for path in sorted(bundle.rglob("*")) if re.search(r"\.so(\.|$)", path.name) and path.is_file()]
    newest = (2, 17)
    for start in range(0, len(libraries), 50):
        headers = _output("objdump", "-p", str(bundle / "Strata"), *map(str, libraries[start : start + 50]))
        found = re.findall(r"\bGLIBC_(\d+)\.(\d+)", headers)
        newest = max([newest, *((int(major), int(minor)) for major, minor in found)])
    return ".".join(map(str, newest))


def _control(architecture: str, installed_kb: int, glibc: str) -> str:
    return f"""\
Package: strata
Version: {__version__}
Architecture: {architecture}
Maintainer: The Strata authors <strata@localhost>
Installed-Size: {installed_kb}
Depends: libc6 (>= {glibc}), {DEPENDS}
Recommends: {RECOMMENDS}
Section: utils
Priority: optional
Description: chat with language models that are bigger than the computer's memory
 Strata runs language models on this computer, also models that do not fit
 into its memory. It keeps a model on disk, cut into blocks, and brings each
 block to the processor just before it is needed. Nothing that is written
 leaves the computer.
 .
 A small model comes with it, so that a chat can begin at once.
"""


def _set_modes_and_times(tree: Path) -> None:
    """As the builder's umask must not decide. The bundle's files are links to the originals: they are right already."""
    moment = int(os.environ["SOURCE_DATE_EPOCH"])
    for path in sorted(tree.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
        elif not path.is_symlink() and not path.is_relative_to(tree / PLACE):
            path.chmod(0o644)
        os.utime(path, (moment, moment), follow_symlinks=False)


def _level() -> str:
    """zstd's. Of an eighth of a bundle, 168 MB, 9 makes 52.9 MB in 4 s, 15 makes 52.0 in 54 s, 17 49.1 in 120 s."""
    return os.environ.get("STRATA_PACK_LEVEL", "9")


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
