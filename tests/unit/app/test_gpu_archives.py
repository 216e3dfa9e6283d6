"""An archive from elsewhere writes nothing outside its folder, and nothing at all where one name is wrong."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from pathlib import Path

import pytest

from app.gpu.archives import BadArchive, unpack
from tests.helpers.stand_in_runtimes import zip_of


def nothing(*_: object) -> None:
    return


def unpacked(tmp_path: Path, *archives: bytes, nbytes: int) -> Path:
    paths = [tmp_path / f"{place}.zip" for place in range(len(archives))]
    for path, data in zip(paths, archives, strict=True):
        path.write_bytes(data)
    unpack(paths, tmp_path / "in" / "target", nbytes=nbytes, advanced=nothing, check=nothing)
    return tmp_path / "in" / "target"


def test_parts_are_laid_together_and_programs_stay_programs(tmp_path: Path) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        program = zipfile.ZipInfo("bin/tool")
        program.external_attr = 0o100755 << 16
        archive.writestr(program, b"#!")
        archive.mkdir("empty")
    target = unpacked(tmp_path, data.getvalue(), zip_of({"bin/text": b"abc"}), nbytes=5)
    assert (target / "bin" / "text").read_bytes() == b"abc"
    if os.name == "posix":
        assert (target / "bin" / "tool").stat().st_mode & stat.S_IXUSR
        assert not (target / "bin" / "text").stat().st_mode & stat.S_IXUSR
    assert (target / "empty").is_dir()


@pytest.mark.parametrize(
    "name",
    [
        "../escaped", "a/../../escaped", "/etc/escaped", "C:/escaped", "c:escaped", "a\\..\\escaped", "\\\\host\\share",
        "a//b", "./a", "a/./b", "a/..", "nul", "lib/CON.txt", "a/b ", "a/b.", "a\nb", "a:stream", "what?",
    ],
)  # fmt: skip
def test_a_name_that_leads_elsewhere_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadArchive):
        unpacked(tmp_path, zip_of({"good": b"1", name: b"2"}), nbytes=2)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["0.zip"]


def test_a_name_that_goes_on_behind_a_zero_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadArchive, match="no relative name"):
        unpacked(tmp_path, zip_of({"aZb": b"1"}).replace(b"aZb", b"a\x00b"), nbytes=1)


@pytest.mark.parametrize(
    "names", [("a/B", "A/b"), ("a", "A"), ("straße", "STRASSE"), ("é", "e\u0301"), ("a", "a/b"), ("A/b", "a")]
)
def test_names_that_some_file_system_takes_for_one_are_refused(tmp_path: Path, names: tuple[str, str]) -> None:
    first, second = names
    with pytest.raises(BadArchive):
        unpacked(tmp_path, zip_of({first: b"1"}), zip_of({second: b"2"}), nbytes=2)
    assert not (tmp_path / "in").exists()


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_a_link_or_a_device_is_refused(tmp_path: Path, kind: int) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        link = zipfile.ZipInfo("link")
        link.external_attr = (kind | 0o777) << 16
        archive.writestr(link, b"/etc/passwd")
    with pytest.raises(BadArchive, match="neither a file nor a folder"):
        unpacked(tmp_path, data.getvalue(), nbytes=11)


def test_more_or_less_than_the_list_says_is_refused_before_it_is_written(tmp_path: Path) -> None:
    for nbytes in (99, 101):
        with pytest.raises(BadArchive, match="the list"):
            unpacked(tmp_path, zip_of({"a": b"x" * 100}), nbytes=nbytes)
    assert not (tmp_path / "in").exists()


def test_a_damaged_or_cut_archive_is_refused(tmp_path: Path) -> None:
    sound = zip_of({"a": bytes(range(256)) * 20})
    for data in (sound[:-30], b"", b"no archive", sound.replace(sound[40:60], b"\x00" * 20)):
        with pytest.raises(BadArchive):
            unpacked(tmp_path, data, nbytes=5120)


def test_it_stops_when_it_is_told(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop() -> None:
        raise Stop

    (tmp_path / "0.zip").write_bytes(zip_of({"a": b"x"}))
    with pytest.raises(Stop):
        unpack([tmp_path / "0.zip"], tmp_path / "target", nbytes=1, advanced=nothing, check=stop)
