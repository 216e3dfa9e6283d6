"""The installer for one user, without root: one file that unpacks itself and runs ``install.sh`` (makeself).

The bundle is a compressed archive inside, so that it is unpacked once, where it stays.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from linux.desktop_files import write_desktop_files

from engine import __version__

HERE = Path(__file__).resolve().parent


class MakeselfMissing(Exception):
    """The tool is not installed."""


def build_run(bundle: Path, target: Path) -> Path:
    """Writes the installer into ``target`` and returns its path. Raises ``MakeselfMissing``."""
    makeself = shutil.which("makeself")
    if makeself is None:
        raise MakeselfMissing("makeself is not installed; on Debian: apt-get install makeself")
    moment = os.environ["SOURCE_DATE_EPOCH"]
    with tempfile.TemporaryDirectory(dir=bundle.parent, prefix="run-") as name:
        tree = Path(name)
        write_desktop_files(tree / "share")
        for script in ("install.sh", "uninstall.sh"):
            text = (HERE / script).read_text(encoding="utf-8").replace("@MACHINE@", os.uname().machine)
            (tree / script).write_text(text, encoding="utf-8")
            (tree / script).chmod(0o755)
        size = sum(path.lstat().st_size for path in bundle.rglob("*"))
        (tree / "bytes").write_text(f"{size}\n", encoding="ascii")
        _pack(bundle, tree / "strata.tar.xz", moment)
        made = target / f"strata-{__version__}-linux-{os.uname().machine}.run"
        command = [
            makeself,
            "--nocomp",
            "--nox11",
            "--noprogress",
            "--nomd5",
            "--sha256",
            "--tar-format",
            "gnu",
            "--packaging-date",
            f"@{moment}",
        ]
        command += ["--tar-extra", f"--sort=name --owner=0 --group=0 --numeric-owner --mtime=@{moment}"]
        subprocess.run(
            [*command, str(tree), str(made), f"Strata {__version__}", "./install.sh"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    return made


def _pack(bundle: Path, archive: Path, moment: str) -> None:
    tar = ["tar", "--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", f"--mtime=@{moment}"]
    # Of an eighth of a bundle, 168 MB, 1 makes 49.0 MB in 30 s, 2 makes 48.0 in 41 s, 3 makes 47.5 in 116 s.
    level = os.environ.get("STRATA_PACK_LEVEL_XZ", "2")
    # Blocks of a fixed size: the same bytes, however many cores pack them.
    compress = f"xz -{level} --threads=0 --block-size=16MiB"
    tar += [f"--use-compress-program={compress}", "--file", str(archive), "--directory", str(bundle), "."]
    subprocess.run(tar, check=True)
