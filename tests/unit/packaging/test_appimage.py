"""The AppImage, of a stand-in bundle and a stand-in runtime."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from linux.appimage import AppImageFailed, build_appimage, fetched_runtime, write_app_dir

from engine import __version__

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="AppImages are made on Linux")
RUNTIME = b"\x7fELF\x02\x01\x01\x00AI\x02" + bytes(4085)


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    folder = tmp_path / "build" / "Strata"
    (folder / "_internal").mkdir(parents=True)
    (folder / "_internal" / "libqt.so").write_bytes(bytes(10_000))
    (folder / "Strata").write_text('#!/bin/sh\nreadlink -f "$0"\n', encoding="ascii")
    (folder / "Strata").chmod(0o755)
    return folder


def test_the_folder_has_what_the_format_wants_at_its_top(bundle: Path, tmp_path: Path) -> None:
    tree = tmp_path / "AppDir"
    write_app_dir(bundle, tree)
    assert {path.name for path in tree.iterdir()} == {"AppRun", "strata.desktop", "strata.png", ".DirIcon", "usr"}
    entry = (tree / "strata.desktop").read_text(encoding="utf-8")
    assert "\nIcon=strata\n" in entry
    assert "TryExec" not in entry
    assert (tree / ".DirIcon").read_bytes().startswith(b"\x89PNG")
    assert f'version="{__version__}"' in (tree / "usr/share/metainfo/strata.metainfo.xml").read_text(encoding="utf-8")
    moved = shutil.copytree(tree, tmp_path / "mounted elsewhere", symlinks=True)
    started = subprocess.run([str(moved / "AppRun")], capture_output=True, text=True, check=True)
    assert Path(started.stdout.strip()) == (moved / "usr/lib/strata/Strata").resolve()


@pytest.mark.skipif(shutil.which("mksquashfs") is None, reason="squashfs-tools are not installed")
def test_the_image_lies_behind_the_runtime_and_is_the_same_each_time(bundle: Path, tmp_path: Path) -> None:
    first = build_appimage(bundle, tmp_path / "first", RUNTIME)
    assert first.name == f"strata-{__version__}-linux-x86_64.AppImage"
    assert first.stat().st_mode & 0o777 == 0o755
    content = first.read_bytes()
    assert content[: len(RUNTIME)] == RUNTIME
    assert build_appimage(bundle, tmp_path / "second", RUNTIME).read_bytes() == content
    listing = ["unsquashfs", "-offset", str(len(RUNTIME)), "-dest", str(tmp_path / "out"), str(first)]
    subprocess.run(listing, check=True, capture_output=True)
    unpacked = tmp_path / "out" / "usr" / "lib" / "strata" / "_internal" / "libqt.so"
    assert unpacked.read_bytes() == bytes(10_000)


def test_another_runtime_than_the_pinned_one_is_refused(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("urllib.request.urlopen", lambda url, timeout: io.BytesIO(RUNTIME))
    with pytest.raises(AppImageFailed, match=r"has SHA-256 [0-9a-f]{64}; 2fca8b44[0-9a-f]{56} was expected"):
        fetched_runtime()
    with pytest.raises(AppImageFailed, match="type 2"):
        build_appimage(bundle, bundle.parent / "dist", b"<html>not found</html>")
