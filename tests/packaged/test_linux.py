"""The Linux bundle and its two installers, after ``python3 dev.py package``:  python3 dev.py test -- -m packaged

The installers are tried in a Debian 12 of their own, as root, some minutes. Pictures go to build/packaged/.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from app.conversations.records import AnswerState, StoredMessage
from app.conversations.store import ConversationStore
from tests.helpers.desktop import PATIENCE_S, screen, wait_until
from tests.packaged.debian import HOME, Debian, missing_tools

ROOT = Path(__file__).resolve().parents[2]
BUNDLE = ROOT / "build" / "Strata"
PICTURES = ROOT / "build" / "packaged"
QUESTION = "What is the capital of France?"
CHECKS = ["program", "window", "keyring", "engine", "llama", "qwen3", "qwen3_moe", "deepseek_v3", "starter"]

pytestmark = [
    pytest.mark.packaged,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(sys.platform != "linux", reason="these are Linux's installers"),
]


def built(pattern: str) -> Path:
    found = sorted((ROOT / "dist").glob(pattern))
    if not found:
        pytest.skip(f"no {pattern} in dist/: run python3 dev.py package")
    return found[-1]


@pytest.fixture
def debian(tmp_path: Path) -> Iterator[Debian]:
    if os.geteuid() != 0 or missing_tools():
        pytest.skip(f"needs root and {', '.join(missing_tools()) or 'nothing else'}")
    with screen() as display:
        system = Debian(tmp_path / "debian", display)
        system.root.mkdir()
        system.make()
        yield system
    shutil.rmtree(system.root)


def assert_all_passed(output: str) -> None:
    lines = [line for line in output.splitlines() if line.startswith(("ok ", "FAILED "))]
    assert [line.split()[1].rstrip(":") for line in lines] == CHECKS, output
    assert all(line.startswith("ok ") for line in lines), output


def libraries_of_the_engine(program: int) -> list[str]:
    """What the engine's process has loaded, once torch is among it."""
    for process in psutil.Process(program).children(recursive=True):
        with suppress(psutil.Error):
            if "--multiprocessing-fork" in process.cmdline():
                loaded = [Path(each.path).name for each in process.memory_maps()]
                return loaded if "libtorch_cpu.so" in loaded else []
    return []


def answer(system: Debian) -> StoredMessage | None:
    """The one answer, once it has ended; the program writes while this reads."""
    file = system.data_dir() / "conversations.sqlite3"
    if not file.exists():
        return None
    store = ConversationStore(file)
    try:
        chats = store.conversations()
        messages = store.messages(chats[0].id) if chats else []
        return next((each for each in messages if each.role == "assistant" and each.state is AnswerState.DONE), None)
    finally:
        store.close()


def test_the_bundle_passes_its_own_test_without_a_network_in_an_unusual_home(tmp_path: Path) -> None:
    if not (BUNDLE / "Strata").exists():
        pytest.skip("no bundle: run python3 dev.py package")
    home = tmp_path / "Zoë Müller 家"
    home.mkdir()
    alone = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "TMPDIR": str(home), "LANG": "C.UTF-8"}
    report = tmp_path / "report.txt"
    with subprocess.Popen(
        [*alone, str(BUNDLE / "Strata"), "--selftest", "--report", str(report)], env=environment
    ) as program:
        loaded = wait_until("the engine has torch", lambda: libraries_of_the_engine(program.pid))
        assert program.wait(PATIENCE_S) == 0
    assert_all_passed(report.read_text(encoding="utf-8"))
    # On Windows torch cannot be loaded where Qt is; the same program is frozen there.
    assert not [name for name in loaded if "Qt" in name]
    # torch makes an empty folder for its compiler where temporary files go (2.13).
    assert [each.name for each in home.iterdir() if not each.name.startswith("torchinductor_")] == []


def test_the_package_is_installed_chatted_with_and_removed_without_a_trace(debian: Debian) -> None:
    package = shutil.copy(built("strata_*.deb"), debian.root / "tmp" / "strata.deb")
    assert Path(package).stat().st_size > 50_000_000
    # What it depends on stays when it goes; to see what it leaves itself, that comes first.
    needs = debian.run("dpkg-deb", "--field", "/tmp/strata.deb", "Depends")
    debian.install("fonts-dejavu-core", *(each.split()[0] for each in needs.split(", ")))
    before = debian.files()
    debian.install("/tmp/strata.deb")
    assert_all_passed(debian.run_as_user("strata", "--selftest"))

    program = debian.start_as_user("strata")
    debian.wait_for_window()
    debian.focus_window()
    debian.press("Tab")
    debian.picture(PICTURES / "deb-1-wizard.png")
    choose_the_starter(debian)
    debian.type(QUESTION)
    debian.press("Return")
    found = wait_until("an answer", lambda: answer(debian))
    debian.picture(PICTURES / "deb-2-chat.png")
    assert "Paris" in found.text
    debian.press("ctrl+q")
    assert program.wait(60) == 0

    debian.run("apt-get", "-qq", "-y", "purge", "strata")
    assert debian.files() - before == set()
    assert not (debian.root / "opt" / "strata").exists()
    assert answer(debian) is not None


def choose_the_starter(debian: Debian) -> None:
    """By keyboard, as the focus goes: “Chat now with the small starter model” is before the first button."""
    debian.press("space")
    log = debian.data_dir() / "conversations.sqlite3"

    def is_chatting() -> bool:
        if not log.exists():
            return False
        store = ConversationStore(log)
        try:
            return bool(store.conversations())
        finally:
            store.close()

    wait_until("the chat with the starter", is_chatting)


def test_the_installer_without_root_installs_upgrades_and_leaves_what_it_is_told_to(debian: Debian) -> None:
    debian.install(
        "xz-utils", "fonts-dejavu-core", "libegl1", "libgl1", "libfontconfig1", "libdbus-1-3", "libglib2.0-0"
    )
    shutil.copy(built("strata-*.run"), debian.root / "tmp" / "strata.run")
    before = debian.files()
    assert "is installed" in debian.run_as_user("sh", "/tmp/strata.run")
    program = f"{HOME}/.local/bin/strata"
    assert_all_passed(debian.run_as_user(program, "--selftest"))
    entry = (debian.home() / ".local/share/applications/strata.desktop").read_text(encoding="utf-8")
    assert f'Exec="{HOME}/.local/opt/strata/Strata" %f' in entry

    running = debian.start_as_user(program)
    debian.wait_for_window()
    assert "is running" in debian.run_as_user("sh", "/tmp/strata.run", is_failing=True)
    debian.focus_window()
    debian.press("ctrl+q")
    assert running.wait(60) == 0
    assert "is installed" in debian.run_as_user("sh", "/tmp/strata.run")

    model = debian.data_dir() / "models" / "mine"
    debian.run_as_user("mkdir", "-p", f"{HOME}/.local/share/Strata/models/mine")
    uninstall = f"{HOME}/.local/opt/strata/uninstall.sh"
    said = debian.run_as_user(uninstall, typed="y\nn\ny\n")
    assert "Strata is removed." in said
    assert model.is_dir()
    assert sorted(each.name for each in debian.data_dir().iterdir()) == ["models"]
    left = {str(each.relative_to(debian.home())) for each in debian.home().rglob("*strata*")}
    assert left == set()
    assert debian.files() == before
