"""What the Windows installer is told before NSIS compiles it; tests/packaged installs it."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.running_mark import NAME, set_running_mark
from tests.helpers.packaging_modules import FOLDER, packaging_module

nsis = packaging_module("windows/nsis.py")
vc_runtime = packaging_module("windows/vc_runtime.py")

SCRIPT = (FOLDER / "windows" / "strata.nsi").read_text(encoding="utf-8")
TEXTS = (FOLDER / "windows" / "texts.nsh").read_text(encoding="utf-8").replace("\\\n", "")
CHINESE = re.compile("[\u4e00-\u9fff]")
_VARIABLE = re.compile(r"\$\{?\w+\}?")


def texts() -> dict[str, tuple[str, str]]:
    found = re.findall(r'^\$\{TEXT\} (\w+)\s+"(.*?)"\s+"(.*?)"\s*$', TEXTS, re.MULTILINE)
    return {name: (english, chinese) for name, english, chinese in found}


def test_every_text_is_there_in_both_languages_with_the_same_values() -> None:
    assert len(texts()) == TEXTS.count("\n${TEXT} ")
    for name, (english, chinese) in texts().items():
        assert english.strip(), name
        assert not CHINESE.search(english), name
        assert CHINESE.search(chinese), name
        assert set(_VARIABLE.findall(english)) == set(_VARIABLE.findall(chinese)), name


def test_the_script_says_nothing_but_these_texts() -> None:
    assert set(re.findall(r"\$\((\w+)\)", SCRIPT)) == set(texts())
    boxes = re.findall(r'MessageBox \S+ "(.*?)"', SCRIPT)
    assert boxes
    assert all(re.fullmatch(r"\$\(\w+\)|\$\{text\}|\$Problem", box) for box in boxes), boxes


def test_silent_runs_answer_every_question() -> None:
    """One that waits for an answer nobody sees would hang; the page of the folder is never shown then."""
    unanswered = [line for line in SCRIPT.splitlines() if "MessageBox" in line and "/SD" not in line]
    assert [line.strip() for line in unanswered] == ['MessageBox MB_OK|MB_ICONEXCLAMATION "$Problem"']


@pytest.fixture
def payload(tmp_path: Path) -> Any:
    for name in ("Strata.exe", "_internal/python311.dll", "models/one/split.json", "models/two/split.json"):
        path = tmp_path / "Strata" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(1000))
    return nsis.read_payload(tmp_path / "Strata")


def test_what_is_removed_is_named_one_by_one_and_of_the_models_only_ours(payload: Any) -> None:
    lines = nsis.installed_list(payload).split("\r\n")
    assert lines == [
        "[Installed]", "1=Strata.exe", "2=_internal", "3=models\\one", "4=models\\two", "5=uninstall.exe", "",
    ]  # fmt: skip


def test_a_payload_over_two_gibibytes_is_refused_with_both_numbers(payload: Any) -> None:
    nsis.require_fitting(replace(payload, size_bytes=2**31 - 1))
    with pytest.raises(nsis.SetupImpossible, match=r"is 2\.50 GiB; NSIS packs at most 2\.00 GiB"):
        nsis.require_fitting(replace(payload, size_bytes=5 * 2**29))


def test_a_file_too_deep_for_the_suggested_folder_is_refused(payload: Any) -> None:
    nsis.require_fitting(replace(payload, longest=195))
    with pytest.raises(
        nsis.SetupImpossible, match=r"196 characters long, so .* only 58; the suggested one has up to 59"
    ):
        nsis.require_fitting(replace(payload, longest=196))


def test_the_definitions_hold_whatever_a_path_or_command_has_in_it(
    payload: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(nsis.SIGN_COMMAND, 'sign "%1"')
    made = tmp_path / "$INSTDIR" / "setup.exe"
    text = nsis.definitions(payload, tmp_path, made, version="1.2rc1", machine="x86-unicode")
    assert f'!define OUTPUT "{tmp_path}/$$INSTDIR/setup.exe"' in text.replace("\\", "/")
    assert '!define VERSION_NUMBERS "1.2.0.0"' in text
    assert '!define SIGN_COMMAND "sign $\\"%1$\\""' in text
    assert set(re.findall(r"\$\{([A-Z][A-Z_]+)\}", SCRIPT)) - set(re.findall("!define ([A-Z_]+)", SCRIPT)) <= {
        *re.findall("!define ([A-Z_]+)", text),
        *("BST_CHECKED", "WM_SETTEXT"),
    }


def test_installer_and_program_mean_the_same_mark() -> None:
    assert nsis.RUNNING_MARK == NAME
    made: list[tuple[None, bool, str]] = []

    def create(attributes: None, is_owner: bool, name: str) -> int:
        made.append((attributes, is_owner, name))
        return 1

    set_running_mark(create)
    assert made == [(None, False, NAME)]


def test_a_mark_that_cannot_be_set_is_logged_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    set_running_mark(lambda *_: None)
    assert "will not see" in caplog.text


def windows_library(*imports: str) -> bytes:
    """As much of one (PE32+) as says which libraries it asks for: one section, at 0x200 in the file."""
    names = b"".join(name.encode("ascii") + b"\0" for name in imports)
    first_name = 0x1000 + 20 * (len(imports) + 1)
    table = b""
    for number in range(len(imports)):
        before = sum(len(name) + 1 for name in imports[:number])
        table += struct.pack("<12xI4x", first_name + before)
    section = table + bytes(20) + names
    optional = struct.pack("<H110x", 0x20B) + struct.pack("<8xI4x", 0x1000) + bytes(112)
    head = b"MZ" + bytes(0x3A) + struct.pack("<I", 0x40) + b"PE\0\0"
    head += struct.pack("<HH12xHH", 0x8664, 1, len(optional), 0x2000) + optional
    head += struct.pack("<8sIIII16x", b".rdata", len(section), 0x1000, len(section), 0x200)
    return head.ljust(0x200, b"\0") + section


def test_the_runtime_libraries_that_are_asked_for_lie_beside_the_program(tmp_path: Path) -> None:
    bundle, redistributables = tmp_path / "Strata", tmp_path / "x64"
    library = bundle / "runtime-cpu" / "torch.dll"
    library.parent.mkdir(parents=True)
    library.write_bytes(windows_library("KERNEL32.dll", "MSVCP140_ATOMIC_WAIT.dll"))
    (bundle / "readme.dll").write_text("no library at all, but as long as the head of one would have to be to be one")
    assert vc_runtime.imported_libraries(library) == {"kernel32.dll", "msvcp140_atomic_wait.dll"}
    with pytest.raises(vc_runtime.RuntimeLibraryMissing, match=r"torch\.dll asks for msvcp140_atomic_wait\.dll"):
        vc_runtime.ship_vc_runtime(bundle, redistributables)

    # What that asks for in turn comes along; what nobody asks for does not.
    folder = redistributables / "Microsoft.VC145.CRT"
    folder.mkdir(parents=True)
    (folder / "msvcp140_atomic_wait.dll").write_bytes(windows_library("VCRUNTIME140.dll", "KERNEL32.dll"))
    (folder / "vcruntime140.dll").write_bytes(windows_library("KERNEL32.dll"))
    (folder / "concrt140.dll").write_bytes(windows_library())
    assert vc_runtime.ship_vc_runtime(bundle, redistributables) == ["msvcp140_atomic_wait.dll", "vcruntime140.dll"]
    assert (bundle / "vcruntime140.dll").read_bytes() == windows_library("KERNEL32.dll")
    assert not (bundle / "concrt140.dll").exists()
