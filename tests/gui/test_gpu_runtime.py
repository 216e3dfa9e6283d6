"""Using an NVIDIA card, from the button to the engine that imports from the new runtime, and all the ways back."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.engine_host import EngineHost
from app.gpu import installation
from app.gpu.driver import Card, Driver
from app.gpu.panel import GpuPanel
from app.gpu.runtime_folders import Kept, RuntimeFolders
from app.gpu.service import GpuRuntime
from app.gpu.status import GpuState
from app.published_list import ListSource
from app.services import Services
from app.settings_page.page import SettingsPage
from app.settings_page.rows import SettingRow
from app.theme import Theme
from app.updates import UpdateCheck
from app.wizard.page import WizardPage
from engine.api import DeviceCheck, DeviceReport, MachineReport, TorchReport
from engine.errors import EngineFault
from tests.helpers.fake_engine import FakeEngineHost
from tests.helpers.hub_server import Fault
from tests.helpers.shell_services import shell_services
from tests.helpers.stand_in_runtimes import (
    BROKEN_TORCH,
    DRIVER,
    DYING_TORCH,
    KEYS,
    Publisher,
    publisher,
    runtime_files,
    stand_in_bundle,
    zip_of,
)

NAME = "cp311-torch2.13.0-cuda13-1"
REPORT = TorchReport("2.13.0+cu130", "", (DeviceReport("cuda", "A card", 1, 1),))
MACHINE = MachineReport("Linux", "A processor", 8, 32, 24, 1000, 500, 1.9e9, 25e9, ())
WAIT_MS = 60_000


@pytest.fixture(autouse=True)
def collected_here() -> Iterator[None]:
    """As in the program: the server's threads must not collect what belongs to Qt."""
    gc.disable()
    yield
    gc.collect()
    gc.enable()


@pytest.fixture(autouse=True)
def look(qapp: QApplication) -> Theme:
    theme = Theme()
    theme.apply(qapp)
    return theme


@pytest.fixture
def there() -> Iterator[Publisher]:
    with publisher() as found:
        files = runtime_files()
        found.publish(zip_of(dict(list(files.items())[:2])), zip_of(dict(list(files.items())[2:])))
        yield found


@pytest.fixture
def engine(qapp: QApplication, tmp_path: Path) -> FakeEngineHost:
    fake = FakeEngineHost()
    reports_from(fake, tmp_path)
    return fake


def reports_from(engine: FakeEngineHost, folder: Path, **changes: object) -> None:
    """Its torch is that of the runtime it was started with, or of the installed one where nobody started it."""

    def report(_: object) -> TorchReport:
        used = engine.runtimes[0] if engine.runtimes else folder / "runtimes" / NAME
        return replace(REPORT, folder=str(used), **changes)

    engine.reply("torch_report", report)


class Makers:
    """Services of one data folder, one after another, as starts of the program are."""

    def __init__(self, there: Publisher, folder: Path) -> None:
        self.there = there
        self.folders = RuntimeFolders(folder / "runtimes")
        self.bundle = stand_in_bundle(folder / "program")
        self.driver: Driver | None = DRIVER
        self.made: list[GpuRuntime] = []

    def make(self) -> GpuRuntime:
        source = ListSource(self.there.address, self.folders.root.parent / "list.json", keys=KEYS)
        self.made.append(GpuRuntime(self.folders, source, self.bundle, look=lambda: self.driver, device="cpu"))
        return self.made[-1]

    def start(self, engine: EngineHost) -> GpuRuntime:
        gpu = self.make()
        gpu.follow(engine)
        gpu.start()
        return gpu


@pytest.fixture
def makers(there: Publisher, tmp_path: Path) -> Iterator[Makers]:
    found = Makers(there, tmp_path)
    yield found
    for each in found.made:
        each.close()
    found.made.clear()


@pytest.fixture
def computing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every runtime passes its trial, at once."""

    def computes(runtimes: tuple[Path, ...], _data: Path, device: str, *, check: Callable[[], None]) -> DeviceCheck:
        return DeviceCheck(TorchReport("2.13.0+cu130", str(runtimes[0]), ()), device, "A card", 0.01, 0.05)

    monkeypatch.setattr(installation, "try_runtime", computes)


def wait_for(qtbot: QtBot, gpu: GpuRuntime, state: GpuState) -> None:
    def is_there() -> None:
        assert gpu.status.state is state, repr(gpu.status.problem) + repr(gpu.status)

    qtbot.waitUntil(is_there, timeout=WAIT_MS)


def accept_offer(qtbot: QtBot, gpu: GpuRuntime) -> None:
    wait_for(qtbot, gpu, GpuState.AVAILABLE)
    gpu.ask()
    wait_for(qtbot, gpu, GpuState.OFFERED)
    gpu.accept()


@pytest.mark.slow
def test_through_two_cuts_and_a_damaged_part_to_an_engine_that_imports_from_it(
    qtbot: QtBot, makers: Makers, engine: FakeEngineHost
) -> None:
    """The trial is real: a process of its own imports torch from the runtime, or the trial fails."""
    makers.there.server.faults += [
        Fault("part-1", cut_after=100 << 10), Fault("part-1", cut_after=50 << 10), Fault("part-0", flip_at=60),
    ]  # fmt: skip
    gpu = makers.start(engine)
    accept_offer(qtbot, gpu)
    with qtbot.waitSignal(gpu.switched, timeout=WAIT_MS):
        wait_for(qtbot, gpu, GpuState.IN_USE)
    folder = makers.folders.folder(NAME)
    assert engine.runtimes == (folder,)
    assert makers.folders.read() == Kept(in_use=NAME)
    assert sorted(each.name for each in makers.folders.root.iterdir()) == [NAME, "state.json"]
    with qtbot.waitSignal(gpu.switched, timeout=WAIT_MS):
        gpu.remove()
    assert gpu.status.state is GpuState.AVAILABLE
    assert not folder.exists()
    assert engine.runtimes == ()


@pytest.mark.parametrize(
    ("torch", "says"),
    [(BROKEN_TORCH, "Something went wrong inside the engine"), (DYING_TORCH, "stopped unexpectedly (exit code 7)")],
)
def test_a_runtime_that_fails_its_trial_changes_nothing_and_says_why(
    qtbot: QtBot, makers: Makers, engine: FakeEngineHost, torch: str, says: str
) -> None:
    makers.there.publish(zip_of(runtime_files(torch)))
    gpu = makers.start(engine)
    accept_offer(qtbot, gpu)
    qtbot.waitUntil(lambda: gpu.status.problem is not None, timeout=WAIT_MS)
    assert gpu.status.state is GpuState.AVAILABLE
    assert gpu.status.problem is not None
    assert gpu.status.problem.message.startswith("The trial on the card failed, so nothing has changed.")
    assert says in gpu.status.problem.message
    assert makers.folders.read() == Kept()
    assert engine.runtimes == ()
    assert not makers.folders.folder(NAME).exists()


def test_nothing_is_asked_of_the_network_before_the_user_wishes_it(
    qtbot: QtBot, makers: Makers, engine: FakeEngineHost
) -> None:
    gpu = makers.start(engine)
    wait_for(qtbot, gpu, GpuState.AVAILABLE)
    assert makers.there.server.seen == []
    gpu.ask()
    wait_for(qtbot, gpu, GpuState.OFFERED)
    assert [path.rpartition("/")[2] for path in makers.there.server.paths()] == ["list.json"]
    assert gpu.status.offer is not None
    assert gpu.status.offer.need == gpu.status.offer.download + gpu.status.offer.entry.unpacked_bytes
    gpu.decline()
    assert gpu.status.state is GpuState.AVAILABLE


@pytest.mark.parametrize("is_frozen", [True, False])
def test_nothing_is_offered_without_a_driver_or_in_a_checkout(
    qtbot: QtBot, makers: Makers, engine: FakeEngineHost, is_frozen: bool
) -> None:
    makers.driver = None if is_frozen else DRIVER
    source = ListSource(makers.there.address, makers.folders.root / "list.json", keys=KEYS)
    gpu = GpuRuntime(makers.folders, source, makers.bundle if is_frozen else None, look=lambda: makers.driver)
    makers.made.append(gpu)
    gpu.follow(engine)
    if is_frozen:
        with qtbot.waitSignal(gpu.changed):
            gpu.start()
    else:
        gpu.start()
    assert gpu.status.state is GpuState.HIDDEN
    assert gpu.overlay == ()


@pytest.mark.parametrize(
    ("driver", "says"),
    [
        (Driver((470, 256), (Card("Old", 0, (8, 6)),)), "The NVIDIA driver here is 470.256; 580 or newer is needed."),
        (Driver((590,), (Card("Older", 0, (3, 5)),)), "This card is older than those that can be computed with."),
    ],
)
def test_what_the_driver_or_the_card_lacks_is_said_before_any_download(
    qtbot: QtBot, makers: Makers, engine: FakeEngineHost, driver: Driver, says: str
) -> None:
    makers.driver = driver
    gpu = makers.start(engine)
    wait_for(qtbot, gpu, GpuState.AVAILABLE)
    gpu.ask()
    qtbot.waitUntil(lambda: gpu.status.problem is not None)
    assert gpu.status.problem is not None
    assert gpu.status.problem.message == says
    assert makers.there.server.sent("part") == 0


def test_cancelled_it_keeps_what_came_and_continues_from_there(
    qtbot: QtBot, makers: Makers, engine: FakeEngineHost, computing: None
) -> None:
    makers.there.server.faults.append(Fault("part-1", stall_after=64 << 10))
    gpu = makers.start(engine)
    accept_offer(qtbot, gpu)
    first = len(makers.there.files["part-0.zip"])
    qtbot.waitUntil(lambda: makers.folders.downloaded_bytes() > first)
    gpu.cancel()
    wait_for(qtbot, gpu, GpuState.AVAILABLE)
    there = gpu.status.downloaded - first
    assert there > 0
    assert makers.folders.read() == Kept()
    accept_offer(qtbot, gpu)
    wait_for(qtbot, gpu, GpuState.IN_USE)
    assert [seen.range for seen in makers.there.server.seen if "part-1" in seen.path] == [None, f"bytes={there}-"]


def test_cancelled_and_quit_at_once_it_does_not_go_on_by_itself(
    qtbot: QtBot, makers: Makers, engine: FakeEngineHost
) -> None:
    makers.there.server.faults.append(Fault("part-1", stall_after=64 << 10))
    gpu = makers.start(engine)
    accept_offer(qtbot, gpu)
    qtbot.waitUntil(lambda: makers.there.server.sent("part-1") > 0)
    gpu.cancel()
    gpu.close()
    assert makers.folders.read() == Kept()


def test_nothing_is_said_of_a_question_that_was_declined(qtbot: QtBot, makers: Makers, engine: FakeEngineHost) -> None:
    makers.there.files["list.json"] = b"<html>"
    gpu = makers.start(engine)
    wait_for(qtbot, gpu, GpuState.AVAILABLE)
    gpu.ask()
    gpu.decline()
    assert gpu._pool.waitForDone(WAIT_MS)
    QApplication.processEvents()
    assert (gpu.status.state, gpu.status.problem) == (GpuState.AVAILABLE, None)
    gpu.ask()
    qtbot.waitUntil(lambda: gpu.status.problem is not None)


def test_a_download_can_be_thrown_away(qtbot: QtBot, makers: Makers, engine: FakeEngineHost) -> None:
    (makers.folders.root / ".download").mkdir(parents=True)
    (makers.folders.root / ".download" / "a.zip.part").write_bytes(b"x" * 1000)
    gpu = makers.start(engine)
    wait_for(qtbot, gpu, GpuState.AVAILABLE)
    assert gpu.status.downloaded == 1000
    gpu.discard_download()
    qtbot.waitUntil(lambda: gpu.status.downloaded == 0)
    assert makers.folders.downloaded_bytes() == 0


def test_what_was_under_way_when_the_program_ended_goes_on_at_its_next_start(
    qtbot: QtBot, makers: Makers, engine: FakeEngineHost, computing: None
) -> None:
    makers.there.server.faults.append(Fault("part-1", stall_after=64 << 10))
    gpu = makers.start(engine)
    accept_offer(qtbot, gpu)
    qtbot.waitUntil(lambda: makers.there.server.sent("part-1") > 0)
    gpu.close()
    assert makers.folders.read().is_installing
    again = makers.start(engine)
    wait_for(qtbot, again, GpuState.IN_USE)
    assert engine.runtimes == (makers.folders.folder(NAME),)


def installed(makers: Makers) -> None:
    """As an earlier run left it."""
    folder = makers.folders.folder(NAME)
    for place, data in runtime_files().items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(data)
    makers.folders.write(Kept(in_use=NAME))


def test_an_installed_runtime_is_laid_before_the_engine_starts(
    qtbot: QtBot, makers: Makers, engine: FakeEngineHost
) -> None:
    installed(makers)
    gpu = makers.start(engine)
    assert gpu.overlay == (makers.folders.folder(NAME),)
    wait_for(qtbot, gpu, GpuState.IN_USE)
    assert gpu.status.installed > 300_000
    reports_from(engine, makers.folders.root.parent, devices=())
    engine.restart()
    qtbot.waitUntil(lambda: gpu.status.is_card_missing)


def test_a_runtime_that_lost_its_torch_is_not_told_as_a_missing_driver(
    qtbot: QtBot, makers: Makers, engine: FakeEngineHost
) -> None:
    """The engine then imports the processor's torch, which finds no card."""
    installed(makers)
    gpu = makers.start(engine)
    wait_for(qtbot, gpu, GpuState.IN_USE)
    engine.reply("torch_report", TorchReport("2.13.0+cpu", str(makers.bundle.runtimes[0]), ()))
    with qtbot.waitSignal(gpu.fell_back):
        engine.restart()
    wait_for(qtbot, gpu, GpuState.SET_ASIDE)
    assert gpu.status.reason.startswith("Parts of the software for the card are missing.")
    assert not gpu.status.is_card_missing


NEWER = NAME.removesuffix("1") + "10"


def test_a_newer_runtime_takes_the_place_of_the_one_in_use(
    qtbot: QtBot, makers: Makers, engine: FakeEngineHost, computing: None
) -> None:
    installed(makers)
    gpu = makers.start(engine)
    wait_for(qtbot, gpu, GpuState.IN_USE)
    gpu.ask()
    qtbot.waitUntil(lambda: bool(gpu.status.said))
    assert gpu.status.said == "There is no newer software for the card."
    makers.there.publish(zip_of(runtime_files()), version="10")
    gpu.ask()
    wait_for(qtbot, gpu, GpuState.OFFERED)
    gpu.decline()
    assert gpu.status.state is GpuState.IN_USE
    gpu.close()
    fresh = FakeEngineHost()
    reports_from(fresh, makers.folders.root.parent)
    again = makers.start(fresh)
    qtbot.waitUntil(lambda: again.status.has_newer)  # the list that was seen is remembered
    again.ask()
    wait_for(qtbot, again, GpuState.OFFERED)
    again.accept()
    qtbot.waitUntil(lambda: fresh.runtimes == (makers.folders.folder(NEWER),), timeout=WAIT_MS)
    assert makers.folders.read() == Kept(in_use=NEWER)
    qtbot.waitUntil(lambda: not makers.folders.folder(NAME).exists())
    wait_for(qtbot, again, GpuState.IN_USE)
    assert not again.status.has_newer


def test_an_update_that_fails_its_trial_leaves_the_one_in_use(
    qtbot: QtBot, makers: Makers, engine: FakeEngineHost
) -> None:
    installed(makers)
    gpu = makers.start(engine)
    wait_for(qtbot, gpu, GpuState.IN_USE)
    engine.runtimes = gpu.overlay
    makers.there.publish(zip_of(runtime_files(DYING_TORCH)), version="10")
    gpu.ask()
    wait_for(qtbot, gpu, GpuState.OFFERED)
    gpu.accept()
    qtbot.waitUntil(lambda: gpu.status.problem is not None, timeout=WAIT_MS)
    assert gpu.status.state is GpuState.IN_USE
    assert makers.folders.read() == Kept(in_use=NAME)
    assert engine.runtimes == (makers.folders.folder(NAME),)
    assert not makers.folders.folder(NEWER).exists()


def test_an_update_the_engine_does_not_start_with_goes_back_to_the_one_before(
    qtbot: QtBot, makers: Makers, engine: FakeEngineHost, computing: None
) -> None:
    installed(makers)
    gpu = makers.start(engine)
    wait_for(qtbot, gpu, GpuState.IN_USE)
    makers.there.publish(zip_of(runtime_files()), version="10")

    def report(_: object) -> TorchReport | EngineFault:
        if engine.runtimes == (makers.folders.folder(NEWER),):
            return EngineFault("Something went wrong inside the engine (torch_report: ImportError).")
        return replace(REPORT, folder=str(makers.folders.folder(NAME)))

    engine.reply("torch_report", report)
    gpu.ask()
    wait_for(qtbot, gpu, GpuState.OFFERED)
    gpu.accept()
    qtbot.waitUntil(lambda: gpu.status.problem is not None, timeout=WAIT_MS)
    assert gpu.status.problem is not None
    assert gpu.status.problem.message.startswith("The newer software failed, so the one before it is used again.")
    assert gpu.status.state is GpuState.IN_USE
    assert engine.runtimes == (makers.folders.folder(NAME),)
    assert makers.folders.read() == Kept(in_use=NAME)


@pytest.mark.parametrize("how", ["fails", "dies"])
def test_a_runtime_that_no_longer_starts_is_set_aside_and_can_be_tried_again(
    qtbot: QtBot, makers: Makers, engine: FakeEngineHost, computing: None, how: str
) -> None:
    installed(makers)
    gpu = makers.start(engine)
    wait_for(qtbot, gpu, GpuState.IN_USE)
    engine.runtimes = gpu.overlay
    fault = EngineFault("Something went wrong inside the engine (torch_report: ImportError).")
    engine.reply("torch_report", fault) if how == "fails" else engine.reply_nothing("torch_report")
    with qtbot.waitSignal(gpu.fell_back) as fell:
        engine.restart()
        if how == "dies":
            qtbot.waitUntil(lambda: bool(engine.waiting))
            engine.die("The engine stopped unexpectedly (crashed, signal 11).")
    assert fell.args is not None
    assert ("ImportError" if how == "fails" else "signal 11") in fell.args[0]
    wait_for(qtbot, gpu, GpuState.SET_ASIDE)
    assert engine.runtimes == ()
    qtbot.waitUntil(lambda: makers.folders.read().set_aside == NAME)
    assert makers.make().overlay == ()
    reports_from(engine, makers.folders.root.parent)
    gpu.try_again()
    wait_for(qtbot, gpu, GpuState.IN_USE)
    assert engine.runtimes == (makers.folders.folder(NAME),)


def test_an_engine_that_fails_while_the_driver_is_looked_for_is_not_forgotten(
    qtbot: QtBot, makers: Makers, engine: FakeEngineHost
) -> None:
    installed(makers)
    is_found = threading.Event()
    source = ListSource(makers.there.address, makers.folders.root.parent / "list.json", keys=KEYS)
    gpu = GpuRuntime(makers.folders, source, makers.bundle, look=lambda: DRIVER if is_found.wait(10) else None)
    makers.made.append(gpu)
    engine.reply("torch_report", EngineFault("Something went wrong inside the engine (torch_report: ImportError)."))
    gpu.follow(engine)
    gpu.start()
    with qtbot.waitSignal(gpu.fell_back):
        engine.restart()
    is_found.set()
    wait_for(qtbot, gpu, GpuState.SET_ASIDE)
    qtbot.waitUntil(lambda: makers.folders.read().set_aside == NAME)
    assert "ImportError" in gpu.status.reason
    assert gpu.status.installed > 300_000


def test_it_is_removed_also_where_no_engine_starts_any_more(
    qtbot: QtBot, makers: Makers, engine: FakeEngineHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(makers)
    gpu = makers.start(engine)
    wait_for(qtbot, gpu, GpuState.IN_USE)
    monkeypatch.setattr(engine, "start", lambda: None)
    gpu.remove()
    assert gpu.status.state is GpuState.REMOVING
    engine.die(restarts=False)
    wait_for(qtbot, gpu, GpuState.AVAILABLE)
    assert not makers.folders.folder(NAME).exists()


def test_after_an_update_of_strata_the_old_runtime_is_not_used_and_goes(
    qtbot: QtBot, makers: Makers, engine: FakeEngineHost
) -> None:
    installed(makers)
    label = makers.bundle.runtimes[0] / "runtime.json"
    label.write_text(label.read_text().replace("2.13.0", "2.14.0"))
    gpu = makers.start(engine)
    assert gpu.overlay == ()
    wait_for(qtbot, gpu, GpuState.AVAILABLE)
    assert not makers.folders.folder(NAME).exists()
    assert makers.folders.read() == Kept()


def test_in_an_installed_program_the_new_runtime_lies_before_the_shipped_one(
    makers: Makers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qapp: QApplication
) -> None:
    monkeypatch.setattr("app.engine_host.bundle", lambda: makers.bundle)
    (shipped,) = makers.bundle.runtimes
    installed(makers)
    host = EngineHost(tmp_path / "data", runtimes=makers.make().overlay)
    assert host._options.runtimes == (makers.folders.folder(NAME), shipped)
    host.shutdown()
    host.restart(runtimes=())
    assert host._options.runtimes == (shipped,)


def shown(page: QWidget, text: str) -> bool:
    return any(each.isVisible() and each.text() == text for each in page.findChildren(QLabel))


def buttons(panel: GpuPanel) -> list[str]:
    return [each.text() for each in panel.findChildren(QPushButton) if each.isVisibleTo(panel) and each.text()]


def press(panel: GpuPanel, text: str) -> None:
    next(each for each in panel.buttons if each.text() == text and each.isVisibleTo(panel)).click()


@pytest.fixture
def services(tmp_path: Path, qapp: QApplication, makers: Makers) -> Iterator[Services]:
    with shell_services(tmp_path / "shell", qapp) as found:
        found.engine.reply("list_models", [])  # pyright: ignore[reportAttributeAccessIssue]
        assert isinstance(found.engine, FakeEngineHost)
        reports_from(found.engine, tmp_path)
        source = ListSource(makers.there.address, tmp_path / "list.json", keys=KEYS)
        updates = UpdateCheck(source, found.settings, version="0.0.9")
        yield replace(found, gpu=makers.start(found.engine), updates=updates)
        makers.made[0].close()


def test_the_row_in_the_settings_leads_from_the_offer_to_the_removal(
    qtbot: QtBot, services: Services, makers: Makers, computing: None
) -> None:
    page = SettingsPage(services)
    qtbot.addWidget(page)
    page.resize(1000, 800)
    page.show()
    panel = page.findChild(GpuPanel)
    assert panel is not None
    qtbot.waitUntil(panel.isVisible)
    assert buttons(panel) == ["Use my NVIDIA graphics card"]
    assert panel.card.text() == "NVIDIA GeForce RTX 4070"
    press(panel, "Use my NVIDIA graphics card")
    wait_for(qtbot, services.gpu, GpuState.OFFERED)
    assert "to download" in panel.sentence.text()
    assert buttons(panel) == ["Download", "Not now"]
    press(panel, "Download")
    wait_for(qtbot, services.gpu, GpuState.IN_USE)
    look, remove = buttons(panel)
    assert look == "Look for newer software"
    assert remove.startswith("Remove, frees ")
    press(panel, remove)
    qtbot.waitUntil(lambda: buttons(panel) == ["Use my NVIDIA graphics card"])
    page.search.setText("nvidia")
    shown = [row for row in page.findChildren(SettingRow) if row.isVisible()]
    assert [row.findChildren(QLabel)[0].text() for row in shown] == ["NVIDIA graphics card"]


def test_the_wizard_offers_it_with_the_computer_and_measures_anew_once_it_is_used(
    qtbot: QtBot, services: Services, computing: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.wizard.found_search.find_models", lambda _environment, _home: [])
    engine = services.engine
    assert isinstance(engine, FakeEngineHost)
    engine.reply("probe", MACHINE)
    page = WizardPage(services)
    qtbot.addWidget(page)
    page.resize(920, 760)
    page.show()
    page.open()
    page.welcome.forward.click()
    panel = page.machine.findChild(GpuPanel)
    assert panel is not None
    qtbot.waitUntil(panel.isVisible)
    accept_offer(qtbot, services.gpu)
    assert not shown(page, "No graphics card that can compute")
    with qtbot.waitSignal(services.gpu.switched):
        engine.reply("probe", replace(MACHINE, devices=REPORT.devices))
    qtbot.waitUntil(lambda: shown(page, "A card"))
    assert len(engine.asked("probe")) == 2


def test_a_problem_is_shown_below_with_its_details(qtbot: QtBot, services: Services, makers: Makers) -> None:
    makers.there.files["list.json"] = makers.there.files["list.json"].replace(b"2.13.0", b"2.14.0")
    panel = GpuPanel(services.gpu)
    qtbot.addWidget(panel)
    panel.show()
    wait_for(qtbot, services.gpu, GpuState.AVAILABLE)
    press(panel, "Use my NVIDIA graphics card")
    qtbot.waitUntil(panel.problem.isVisible)
    assert "is not signed by the makers of Strata" in panel.problem.message()


class Windows(QObject):
    """Everything that was shown as a window of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[QWidget] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.shown.append(watched)
        return False


def test_nothing_of_the_settings_shows_up_as_a_window_while_they_are_made(
    qtbot: QtBot, services: Services, qapp: QApplication, tmp_path: Path
) -> None:
    windows = Windows()
    qapp.installEventFilter(windows)
    updates = UpdateCheck(ListSource("", tmp_path / "list.json"), services.settings)
    page = SettingsPage(replace(services, updates=updates))
    qtbot.addWidget(page)
    qapp.removeEventFilter(windows)
    assert windows.shown == []


def test_looking_for_a_newer_version_says_what_is_new_as_plain_text(
    qtbot: QtBot, services: Services, makers: Makers
) -> None:
    makers.there.release["notes"] = {"en": "<b>Bold</b> claims."}
    makers.there.publish()
    page = SettingsPage(services)
    qtbot.addWidget(page)
    page.show()
    look = next(each for each in page.findChildren(QPushButton) if each.accessibleName() == "Check for a newer version")
    look.click()
    qtbot.waitUntil(lambda: any(each.text() == "Strata 0.1.0 is available." for each in page.findChildren(QLabel)))
    (notes,) = (each for each in page.findChildren(QLabel) if each.text() == "<b>Bold</b> claims.")
    assert notes.textFormat().name == "PlainText"
