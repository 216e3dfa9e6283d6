"""The installer for one user on Linux, around a small stand-in: what is not Strata's stays whole."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[3] / "packaging" / "linux"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a script for Linux")


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    """As makeself has unpacked it."""
    folder = tmp_path / "unpacked"
    (folder / "bundle" / "runtime-cpu").mkdir(parents=True)
    (folder / "bundle" / "Strata").write_text("#!/bin/sh\n")
    (folder / "bundle" / "Strata").chmod(0o755)
    (folder / "share" / "applications").mkdir(parents=True)
    shutil.copy(SCRIPTS / "strata.desktop", folder / "share" / "applications")
    (folder / "bytes").write_text("1000\n")
    for name in ("install.sh", "uninstall.sh"):
        text = (SCRIPTS / name).read_text(encoding="utf-8").replace("@MACHINE@", os.uname().machine)
        (folder / name).write_text(text, encoding="utf-8")
    pack = ["tar", "--create", "--xz", "--file", "strata.tar.xz", "--directory", "bundle", "."]
    subprocess.run(pack, cwd=folder, check=True)
    return folder


def run(home: Path, script: Path, *options: str, **variables: str) -> str:
    environment = {**os.environ, "HOME": str(home), "STRATA_ALLOW_ROOT": "1"}
    for name in ("XDG_DATA_HOME", "STRATA_DATA_DIR"):
        environment.pop(name, None)
    environment |= variables
    command = ["sh", str(script), *options]
    done = subprocess.run(command, cwd=script.parent, env=environment, check=True, capture_output=True, text=True)
    return done.stdout


def test_what_the_user_has_beside_the_program_stays(unpacked: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    target = home / "Strata"
    for name in ("Strata.new", "Strata.old"):
        (home / name).mkdir(parents=True)
        (home / name / "thesis.txt").write_text("years of work")
    for _ in range(2):
        run(home, unpacked / "install.sh", "--to", str(target))
    assert {each.name for each in home.iterdir() if "trata" in each.name} == {"Strata", "Strata.new", "Strata.old"}
    assert all((home / name / "thesis.txt").is_file() for name in ("Strata.new", "Strata.old"))
    assert (home / ".local" / "bin" / "strata").resolve() == target / "Strata"
    run(home, target / "uninstall.sh", "--yes")
    assert not target.exists()
    assert not (home / ".local" / "bin" / "strata").is_symlink()


def test_an_upgrade_that_was_cut_short_leaves_the_version_it_found(unpacked: Path, tmp_path: Path) -> None:
    """Between its two renamings; and the next one then fails too."""
    home = tmp_path / "home"
    target = home / "Strata"
    run(home, unpacked / "install.sh", "--to", str(target))
    target.rename(home / ".Strata.strata-old")
    (unpacked / "strata.tar.xz").write_bytes(b"not an archive")
    with pytest.raises(subprocess.CalledProcessError):
        run(home, unpacked / "install.sh", "--to", str(target))
    assert (target / "Strata").is_file()


def test_a_data_folder_that_the_user_named_is_left_as_it_is(unpacked: Path, tmp_path: Path) -> None:
    """Where models and chats are deleted, there may be more in it than these."""
    home, named = tmp_path / "home", tmp_path / "Documents"
    own = home / ".local" / "share" / "Strata"
    for folder in (named, own):
        (folder / "models" / "one").mkdir(parents=True)
        (folder / "thesis.txt").write_text("years of work")
    run(home, unpacked / "install.sh")
    uninstall = home / ".local" / "opt" / "strata" / "uninstall.sh"
    said = run(home, uninstall, "--yes", "--delete-models", "--delete-chats", STRATA_DATA_DIR=str(named))
    assert f"Kept: {named}\n" in said
    assert (named / "models" / "one").is_dir()
    assert (named / "thesis.txt").is_file()
    assert not own.exists()
