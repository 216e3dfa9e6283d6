"""The Windows installer around a stand-in of the real layout, installed, upgraded and removed under Wine:

    python3 dev.py test -- -m packaged tests/packaged/test_windows.py

Needs Debian's nsis, wine and wine64; some minutes. The real payload is built on Windows; this is the same script.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.running_mark import NAME
from tests.helpers.desktop import wait_until
from tests.helpers.packaging_modules import packaging_module
from tests.packaged.wine import Wine, files_in, leads_to, missing_tools, wait_until_gone

HERE = Path(__file__).resolve().parent
nsis = packaging_module("windows/nsis.py")

UNINSTALL_KEY = r"Software\Microsoft\Windows\CurrentVersion\Uninstall\Strata"
STARTER = "models/SmolLM2-135M-Instruct@12345678"
CUT_SHORT, RUNNING, NO_SPACE, UNSUITABLE, IN_USE, INCOMPLETE, TOO_OLD = range(2, 9)
LONG_FILE = (
    "runtime-cpu/torch/_inductor/a_folder_with_a_long_name/__pycache__/a_module_with_a_long_name.cpython-311.pyc"
)
PAYLOAD = {
    "_internal/python311.dll": "python",
    "_internal/PySide6/plugins/platforms/qwindows.dll": "qt",
    "_internal/resources/app-icon/.hidden": "a name that begins with a dot",
    LONG_FILE: "compiled",
    "runtime-cpu/torch/lib/torch_python.dll": "torch",
    "licences/licences.json": "[]",
    "msvcp140_atomic_wait.dll": "microsoft",
    f"{STARTER}/split.json": "{}",
    f"{STARTER}/blocks/embed.safetensors": "weights",
}
DATA = {
    "conversations.sqlite3": "chats",
    "settings.json": "{}",
    "logs/strata.log": "log",
    "models/Owner--Model@00000000/split.json": "{}",
    "downloads/shard.part": "half",
}

pytestmark = [
    pytest.mark.packaged,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(missing_tools()), reason=f"not found: {', '.join(missing_tools())}"),
]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Wine:
    """A Windows nothing was installed in; tests get copies."""
    wine = Wine(tmp_path_factory.mktemp("wine") / "prefix")
    wine.make()
    return wine


@pytest.fixture
def wine(fresh: Wine, tmp_path: Path) -> Iterator[Wine]:
    copied = fresh.copy_to(tmp_path / "wine")
    yield copied
    copied.close()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in for Strata.exe."""
    made = tmp_path_factory.mktemp("program") / "Strata.exe"
    defines = {"OUTPUT": made, "ICON": nsis.ICON, "MARK": NAME}
    command = ["makensis", "-V1", *(f"-D{name}={value}" for name, value in defines.items())]
    subprocess.run([*command, str(HERE / "stand_in.nsi")], check=True)
    return made


@pytest.fixture(scope="module")
def bundle(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("bundle") / "Strata", program, PAYLOAD)


@pytest.fixture(scope="module")
def setup(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installer of version 0.2.0."""
    return compiled(nsis.read_payload(bundle), tmp_path_factory.mktemp("setup"), "0.2.0")


@pytest.fixture(scope="module")
def old_setup(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installer of a version 0.1.0 that had more files."""
    more = {"_internal/stale.dll": "old", "stale/folder/file": "old", "models/Old@1/split.json": "{}", "stale.txt": ""}
    bundle = write_bundle(tmp_path_factory.mktemp("old") / "Strata", program, {**PAYLOAD, **more})
    return compiled(nsis.read_payload(bundle), tmp_path_factory.mktemp("old-setup"), "0.1.0")


def write_bundle(folder: Path, program: Path, files: dict[str, str]) -> Path:
    write_files(folder, files)
    (folder / "Strata.exe").write_bytes(program.read_bytes())
    return folder


def write_files(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def compiled(payload: object, folder: Path, version: str) -> Path:
    return nsis.compile_setup(payload, folder, version=version, machine="amd64-unicode")


def program_folder(wine: Wine) -> Path:
    return wine.local_data / "Programs" / "Strata"


def data_folder(wine: Wine) -> Path:
    return wine.local_data / "Strata"


def remove(wine: Wine, folder: Path, *options: str) -> None:
    """It goes on in a copy of itself, so that its own end says nothing."""
    wine.run(wine.windows_path(folder / "uninstall.exe"), "/S", *options)
    wine.settle()


def assert_installed(wine: Wine, folder: Path, bundle: Path, version: str, own: frozenset[str] = frozenset()) -> None:
    wine.settle()
    assert files_in(folder) == files_in(bundle) | {"installed.ini", "uninstall.exe"} | own
    assert all((folder / name).read_bytes() == (bundle / name).read_bytes() for name in files_in(bundle))
    assert [each.name for each in folder.parent.iterdir()] == [folder.name]
    place = wine.windows_path(folder)
    shown = wine.registry(UNINSTALL_KEY)
    assert shown == {
        "DisplayName": "Strata",
        "DisplayVersion": version,
        "Publisher": "The Strata authors",
        "DisplayIcon": f"{place}\\Strata.exe",
        "InstallLocation": place,
        "UninstallString": f'"{place}\\uninstall.exe"',
        "QuietUninstallString": f'"{place}\\uninstall.exe" /S',
        "EstimatedSize": f"dword:{nsis.read_payload(bundle).size_bytes // 1024:08x}",
        "NoModify": "dword:00000001",
        "NoRepair": "dword:00000001",
    }
    assert wine.registry(r"Software\Classes\Strata.gguf\shell\open\command") == {"": f'"{place}\\Strata.exe" "%1"'}
    assert wine.registry(r"Software\Classes\.gguf\OpenWithProgids") == {"Strata.gguf": ""}
    assert leads_to(wine.start_menu / "Strata.lnk", f"{place}\\Strata.exe")


def assert_nothing_left(wine: Wine, folder: Path) -> None:
    assert not folder.exists()
    assert not list(folder.parent.iterdir())
    assert wine.registry(UNINSTALL_KEY) is None
    assert wine.registry(r"Software\Classes\Strata.gguf") is None
    assert wine.registry(r"Software\Classes\.gguf") is None
    assert not (wine.start_menu / "Strata.lnk").exists()
    assert not (wine.desktop / "Strata.lnk").exists()


def test_it_is_installed_for_the_user_and_removed_without_a_trace(wine: Wine, setup: Path, bundle: Path) -> None:
    assert wine.run(str(setup), "/S") == 0
    folder = program_folder(wine)
    assert_installed(wine, folder, bundle, "0.2.0")
    assert not (wine.desktop / "Strata.lnk").exists()
    assert not data_folder(wine).exists()
    remove(wine, folder)
    assert_nothing_left(wine, folder)


def test_the_uninstaller_is_signed_before_it_is_packed(
    wine: Wine, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands in for a signature is a few bytes behind the program, where a real one is too."""
    signer = tmp_path / "sign.sh"
    signer.write_text('printf signed >> "$1"\n')
    monkeypatch.setenv(nsis.SIGN_COMMAND, f'sh "{signer}" "%1"')
    assert wine.run(str(compiled(nsis.read_payload(bundle), tmp_path, "0.2.0")), "/S") == 0
    assert (program_folder(wine) / "uninstall.exe").read_bytes().endswith(b"signed")
    monkeypatch.setenv(nsis.SIGN_COMMAND, "false")
    with pytest.raises(nsis.SetupImpossible, match="makensis failed"):
        compiled(nsis.read_payload(bundle), tmp_path, "0.2.0")


def test_an_uninstaller_that_stays_where_it_is_can_be_waited_for(wine: Wine, setup: Path, bundle: Path) -> None:
    """And leaves itself, over which Strata can be installed again."""
    assert wine.run(str(setup), "/S") == 0
    folder = program_folder(wine)
    assert wine.run(wine.windows_path(folder / "uninstall.exe"), "/S", f"_?={wine.windows_path(folder)}") == 0
    assert files_in(folder) == {"uninstall.exe", "installed.ini"}
    wine.settle()
    assert wine.registry(UNINSTALL_KEY) is None
    assert wine.run(str(setup), "/S") == 0
    assert_installed(wine, folder, bundle, "0.2.0")


def test_an_upgrade_keeps_what_is_the_users_and_leaves_nothing_stale(
    wine: Wine, old_setup: Path, setup: Path, bundle: Path
) -> None:
    write_files(data_folder(wine), DATA)
    assert wine.run(str(old_setup), "/S") == 0
    folder = program_folder(wine)
    assert (folder / "_internal" / "stale.dll").exists()
    (wine.desktop / "Strata.lnk").write_bytes(b"somebody wanted one")
    own = {"notes.txt": "my own", "models/mine/split.json": "{}", "mine/deep/file": "my own"}
    write_files(folder, own)

    assert wine.run(str(setup), "/S") == 0
    assert_installed(wine, folder, bundle, "0.2.0", frozenset(own))
    assert leads_to(wine.desktop / "Strata.lnk", f"{wine.windows_path(folder)}\\Strata.exe")

    remove(wine, folder)
    assert files_in(folder) == set(own)
    assert files_in(data_folder(wine)) == set(DATA)
    assert wine.registry(UNINSTALL_KEY) is None
    assert not (wine.desktop / "Strata.lnk").exists()


def test_it_is_also_made_by_an_nsis_for_32_bits_without_a_warning(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As that of nsis.org on Windows is."""
    made = nsis.compile_setup(nsis.read_payload(bundle), tmp_path, version="0.2.0", machine="x86-unicode")
    assert made.name == "Strata-0.2.0-windows-x64-setup.exe"
    assert capsys.readouterr().err == ""
    head = made.read_bytes()[:1024]
    assert head[head.index(b"PE\0\0") + 4 :][:2] == b"\x4c\x01"


def test_an_old_windows_is_told_what_is_needed(wine: Wine, setup: Path) -> None:
    wine.be_windows("win81")
    assert wine.run(str(setup), "/S") == TOO_OLD
    assert not (wine.local_data / "Programs").exists()


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ([], set(DATA)),
        (["/DELETE-MODELS"], {"conversations.sqlite3", "settings.json", "logs/strata.log"}),
        (["/DELETE-CHATS"], {"models/Owner--Model@00000000/split.json", "downloads/shard.part"}),
        (["/DELETE-MODELS", "/DELETE-CHATS"], set[str]()),
    ],
)
def test_models_and_chats_go_only_when_they_are_named(
    wine: Wine, setup: Path, options: list[str], kept: set[str]
) -> None:
    write_files(data_folder(wine), {**DATA, "runtimes/cuda/torch/torch.dll": "for a card"})
    assert wine.run(str(setup), "/S") == 0
    remove(wine, program_folder(wine), *options)
    assert_nothing_left(wine, program_folder(wine))
    assert files_in(data_folder(wine)) == kept
    assert data_folder(wine).exists() == bool(kept)


@pytest.mark.parametrize(("mark", "code"), [("--marked", RUNNING), ("", IN_USE)])
def test_nothing_is_changed_while_strata_runs(
    wine: Wine, old_setup: Path, setup: Path, bundle: Path, mark: str, code: int
) -> None:
    assert wine.run(str(old_setup), "/S") == 0
    folder = program_folder(wine)
    before = files_in(folder)
    running = wine.start(wine.windows_path(folder / "Strata.exe"), *([mark] if mark else []))
    wait_until("the stand-in", (wine.temporary / "started").exists)

    assert wine.run(str(setup), "/S") == code
    # In place, so that its exit code can be seen.
    uninstall = wine.windows_path(folder / "uninstall.exe")
    assert wine.run(uninstall, "/S", f"_?={wine.windows_path(folder)}") == code
    assert files_in(folder) == before
    assert [each.name for each in folder.parent.iterdir()] == [folder.name]

    (wine.temporary / "stop").touch()
    assert running.wait(60) == 0
    assert wine.run(str(setup), "/S") == 0
    assert_installed(wine, folder, bundle, "0.2.0")


def test_a_folder_may_be_long_and_in_any_script_but_not_too_long(wine: Wine, setup: Path, bundle: Path) -> None:
    longest = nsis.longest_folder(nsis.read_payload(bundle))
    fitting = "C:\\Zoë Müller 家\\"
    fitting += ("é" * 40 + "\\") * 5
    fitting = fitting[: longest - 1] + "家"
    # Split, since Wine would put quotation marks around it.
    assert wine.run(str(setup), "/S", *f"/D={fitting}é".split(" ")) == UNSUITABLE
    assert not (wine.drive / "Zoë Müller 家").exists()
    assert wine.run(str(setup), "/S", *f"/D={fitting}".split(" ")) == 0
    folder = wine.drive / fitting.removeprefix("C:\\").replace("\\", "/")
    assert_installed(wine, folder, bundle, "0.2.0")
    remove(wine, folder)
    assert_nothing_left(wine, folder)


def test_a_folder_with_something_else_in_it_is_refused(wine: Wine, setup: Path) -> None:
    write_files(wine.drive, {"taken/thesis.txt": "years of work"})
    write_files(data_folder(wine), DATA)
    data = wine.windows_path(data_folder(wine))
    for place in ("C:\\taken", data, f"{data}\\program", wine.windows_path(wine.local_data)):
        assert wine.run(str(setup), "/S", f"/D={place}") == UNSUITABLE, place
    assert files_in(wine.drive / "taken") == {"thesis.txt"}
    assert files_in(data_folder(wine)) == set(DATA)
    shutil.rmtree(data_folder(wine))
    assert wine.run(str(setup), "/S", f"/D={data.upper()}") == UNSUITABLE
    assert not data_folder(wine).exists()
    assert wine.run(str(setup), "/S", f"/D={data}2") == 0


def test_a_full_drive_is_said_before_anything_is_written(wine: Wine, bundle: Path, tmp_path: Path) -> None:
    huge = replace(nsis.read_payload(bundle), size_bytes=10**15)
    assert wine.run(str(compiled(huge, tmp_path, "0.2.0")), "/S") == NO_SPACE
    assert not (wine.local_data / "Programs").exists()


@pytest.fixture
def small_drive(wine: Wine) -> Iterator[Path]:
    """70 MB, as C:\\small."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a drive")
    folder = wine.drive / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=70M", "tmpfs", str(folder)], check=True)
    yield folder
    wine.close()
    subprocess.run(["umount", str(folder)], check=True)


def test_a_drive_that_fills_up_on_the_way_leaves_the_old_version(
    wine: Wine, small_drive: Path, old_setup: Path, program: Path, tmp_path: Path
) -> None:
    assert wine.run(str(old_setup), "/S", "/D=C:\\small\\Strata") == 0
    before = files_in(small_drive)
    grown = write_bundle(tmp_path / "Strata", program, {**PAYLOAD, "runtime-cpu/huge.bin": "0" * 80_000_000})
    # It believes to be small, as if the room went while it is unpacked.
    setup = compiled(replace(nsis.read_payload(grown), size_bytes=0), tmp_path, "0.2.0")
    assert wine.run(str(setup), "/S") == CUT_SHORT
    wine.settle()
    assert files_in(small_drive) == before
    assert [each.name for each in small_drive.iterdir()] == ["Strata"]
    shown = wine.registry(UNINSTALL_KEY)
    assert shown is not None
    assert shown["DisplayVersion"] == "0.1.0"


def test_files_that_do_not_arrive_leave_the_old_version(
    wine: Wine, old_setup: Path, bundle: Path, tmp_path: Path
) -> None:
    assert wine.run(str(old_setup), "/S") == 0
    folder = program_folder(wine)
    before = files_in(folder)
    payload = nsis.read_payload(bundle)
    one_more = replace(payload, files=payload.files + 1)
    assert wine.run(str(compiled(one_more, tmp_path, "0.2.0")), "/S") == INCOMPLETE
    assert files_in(folder) == before
    assert [each.name for each in folder.parent.iterdir()] == [folder.name]


def test_what_an_installation_that_was_cut_short_left_is_finished(
    wine: Wine, old_setup: Path, setup: Path, bundle: Path
) -> None:
    assert wine.run(str(old_setup), "/S") == 0
    folder = program_folder(wine)
    wine.settle()
    # The power went between the two renamings: the old version lies aside, the new one is unpacked beside.
    folder.rename(folder.with_name("Strata.old"))
    write_files(folder.with_name("Strata.new"), {"Strata.exe": "", "_internal/half.dll": ""})
    write_files(folder.with_name("Strata.new"), {"installed.ini": "[Installed]\r\n1=_internal\r\n2=Strata.exe\r\n"})
    assert wine.run(str(setup), "/S") == 0
    assert_installed(wine, folder, bundle, "0.2.0")


def test_another_folder_is_a_move(wine: Wine, old_setup: Path, setup: Path, bundle: Path) -> None:
    assert wine.run(str(old_setup), "/S") == 0
    assert wine.run(str(setup), "/S", "/D=C:\\Programs\\Strata") == 0
    assert_installed(wine, wine.drive / "Programs" / "Strata", bundle, "0.2.0")
    wait_until_gone(program_folder(wine))
