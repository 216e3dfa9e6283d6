"""The order of a build lives in build.py; here, what it does to every file of a bundle."""

from __future__ import annotations

import os
from pathlib import Path

import build
import pytest


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_neither_the_builder_s_umask_nor_the_clock_is_seen_in_a_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    folder = tmp_path / "Strata"
    (folder / "inner").mkdir(parents=True)
    for name, mode in (("Strata", 0o700), ("inner/text", 0o600), ("inner/shared", 0o664)):
        (folder / name).write_bytes(b"x")
        (folder / name).chmod(mode)
    (folder / "link").symlink_to("inner/text")
    folder.chmod(0o700)
    build.set_modes_and_times(folder)
    found = {path.relative_to(tmp_path).as_posix(): path.lstat() for path in [folder, *folder.rglob("*")]}
    assert {name: status.st_mode & 0o777 for name, status in found.items() if name != "Strata/link"} == {
        "Strata": 0o755, "Strata/Strata": 0o755, "Strata/inner": 0o755,
        "Strata/inner/text": 0o644, "Strata/inner/shared": 0o644,
    }  # fmt: skip
    assert {status.st_mtime for status in found.values()} == {1_700_000_000}
