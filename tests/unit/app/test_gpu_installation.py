"""A runtime from a server that cuts and spoils, onto a drive that is full: whole in its place, or not at all."""

from __future__ import annotations

import shutil
import socket
import threading
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.engine_trial import TrialFailed
from app.gpu import installation
from app.gpu.installation import Installation, Phase
from app.gpu.meter import Amount
from app.gpu.part_download import DAMAGED_TRIES, WAITS_S, Interrupted, PartDownload
from app.gpu.runtime_folders import Kept, RuntimeFolders
from app.signed_list import Part, RuntimeEntry, read_list
from app.web import open_client
from engine.api import DeviceCheck, TorchReport
from engine.errors import DamagedFile, DeviceUnavailable, DiskFull, EngineError, HubError, HubUnreachable
from tests.helpers.hub_server import Fault
from tests.helpers.stand_in_runtimes import KEYS, Publisher, publisher, runtime_files, zip_of

FILES = runtime_files()
FIRST, SECOND = zip_of(dict(list(FILES.items())[:2])), zip_of(dict(list(FILES.items())[2:]))
Usage = namedtuple("Usage", "total used free")


class Desk:
    """An installation with all it says. Waiting takes no time."""

    def __init__(self, there: Publisher, folder: Path) -> None:
        self.there = there
        self.folders = RuntimeFolders(folder)
        self.told: list[tuple[Phase, Amount]] = []
        self.said: list[str] = []
        self.waited: list[float] = []
        self.installation = self.new()

    def new(self) -> Installation:
        self.installation = Installation(
            self.folders,
            shipped=(),
            floor_bytes=1000,
            proxy="",
            told=lambda phase, amount: self.told.append((phase, amount)),
            said=self.said.append,
            wait=self.waited.append,
        )
        return self.installation

    @property
    def entry(self) -> RuntimeEntry:
        (entry,) = read_list(self.there.files["list.json"], KEYS).runtimes
        return entry

    def install(self) -> Path:
        self.new().install(self.entry)
        return self.folders.folder(self.entry.folder_name)

    def left(self) -> list[str]:
        """Files of the runtimes' folder, without what a runtime consists of."""
        root = self.folders.root
        return sorted(str(each.relative_to(root)) for each in root.rglob("*") if each.is_file())


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr(installation, "try_runtime", computes)
    with publisher() as there:
        there.publish(FIRST, SECOND)
        yield Desk(there, tmp_path / "runtimes")


def computes(runtimes: tuple[Path, ...], _data: Path, device: str, *, check: Callable[[], None]) -> DeviceCheck:
    check()
    return DeviceCheck(TorchReport("2.13.0+cu130", str(runtimes[0]), ()), device, "A card", 0.01, 0.05)


def assert_whole(folder: Path) -> None:
    found = {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}
    assert found == FILES


def test_a_runtime_in_two_parts_is_fetched_unpacked_and_tried(desk: Desk) -> None:
    folder = desk.install()
    assert_whole(folder)
    assert list(dict.fromkeys(phase for phase, _ in desk.told)) == [Phase.FETCHING, Phase.UNPACKING, Phase.TRYING]
    last = [amount for phase, amount in desk.told if phase is Phase.FETCHING][-1]
    assert last.done == last.total == len(FIRST) + len(SECOND)
    assert len(desk.left()) == len(FILES)


def test_a_download_that_is_cut_twice_goes_on_where_it_was(desk: Desk) -> None:
    cuts = [Fault("part-1", cut_after=100 << 10), Fault("part-1", cut_after=50 << 10)]
    desk.there.server.faults += cuts
    assert_whole(desk.install())
    ranges = [seen.range for seen in desk.there.server.seen if "part-1" in seen.path]
    assert ranges == [None, f"bytes={100 << 10}-", f"bytes={150 << 10}-"]
    assert desk.waited == [1.0, 1.0], "each time something had come"
    assert any("broke off" in said for said in desk.said)


def test_what_arrives_damaged_is_fetched_anew_and_that_is_said(desk: Desk) -> None:
    desk.there.server.faults.append(Fault("part-0", flip_at=len(FIRST) // 2))
    assert_whole(desk.install())
    assert [seen.range for seen in desk.there.server.seen if "part-0" in seen.path] == [None, None]
    assert "A part arrived damaged, so it is fetched again." in desk.said


def test_what_always_arrives_damaged_is_given_up(desk: Desk) -> None:
    desk.there.server.faults.append(Fault("part-0", flip_at=10, times=99))
    with pytest.raises(DamagedFile, match=f"damaged {DAMAGED_TRIES} times"):
        desk.install()
    assert desk.left() == []


def test_a_file_that_is_another_by_now_is_fetched_from_its_beginning(desk: Desk) -> None:
    desk.there.server.faults.append(Fault("part-1", cut_after=16 << 10, times=99))
    desk.there.server.on_request = lambda seen: desk.installation.stop() if "part-1" in seen.path else None
    with pytest.raises(Interrupted):
        desk.install()
    desk.there.server.faults.clear()
    desk.there.server.on_request = lambda seen: None
    part = desk.folders.archive(desk.entry.parts[1])
    part.with_name(f"{part.name}.part").write_bytes(b"x" * 1000)
    part.with_name(f"{part.name}.etag").write_text('"\\"of another file\\""')
    assert_whole(desk.install())
    last = desk.there.server.seen[-1]
    assert (last.range, last.sent) == ("bytes=1000-", len(SECOND))


def test_a_server_that_knows_no_ranges_sends_it_all_again(desk: Desk) -> None:
    desk.there.server.faults += [Fault("part-1", cut_after=100 << 10), Fault("part-1", ignores_range=True)]
    assert_whole(desk.install())


def test_patience_ends_where_nothing_comes_and_what_is_there_is_kept(desk: Desk) -> None:
    desk.there.server.faults.append(Fault("part-1", status=503, times=99))
    with pytest.raises(EngineError, match=r"answered with an error \(503\)"):
        desk.install()
    assert desk.waited == list(WAITS_S)
    assert desk.folders.downloaded_bytes() == len(FIRST)


def test_a_page_that_is_gone_is_not_asked_for_again(desk: Desk) -> None:
    desk.there.server.faults.append(Fault("part-0", status=404, times=99))
    with pytest.raises(HubError, match="404") as caught:
        desk.install()
    assert not isinstance(caught.value, HubUnreachable)
    assert desk.waited == []


def test_stopping_breaks_off_at_once_and_the_next_run_goes_on(desk: Desk) -> None:
    desk.there.server.faults.append(Fault("part-1", stall_after=64 << 10))

    def stop_when_it_stalls(phase: Phase, amount: Amount) -> None:
        if amount.done == len(FIRST) + (64 << 10):
            desk.installation.stop()

    installation = desk.new()
    installation._told = stop_when_it_stalls
    installation._tell = stop_when_it_stalls  # every one of them
    with pytest.raises(Interrupted):
        installation.install(desk.entry)
    assert desk.folders.downloaded_bytes() > len(FIRST)
    before = desk.there.server.sent("part-1")
    assert_whole(desk.install())
    assert desk.there.server.sent("part-1") - before == len(SECOND) - (64 << 10)


def test_room_is_looked_at_before_the_first_byte(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    need = len(FIRST) + len(SECOND) + desk.entry.unpacked_bytes
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**6, 0, need + 999))
    with pytest.raises(DiskFull) as caught:
        desk.install()
    assert (caught.value.need, caught.value.have) == (need + 1000, need + 999)
    assert desk.there.server.seen == []
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**6, 0, need + 1000))
    assert_whole(desk.install())


def test_a_drive_that_fills_up_meanwhile_is_said_with_both_numbers(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(installation, "unpack", full)
    with pytest.raises(DiskFull, match=r"needs .* kept free; .* are free"):
        desk.install()
    monkeypatch.undo()
    monkeypatch.setattr(installation, "try_runtime", computes)
    asked = len(desk.there.server.seen)
    assert_whole(desk.install())
    assert len(desk.there.server.seen) == asked, "what was downloaded was kept"


def test_an_archive_that_writes_elsewhere_leaves_nothing_behind(desk: Desk) -> None:
    desk.there.publish(zip_of({**FILES, "../../escaped": b"x"}))
    with pytest.raises(DamagedFile, match="is not the software for the card") as caught:
        desk.install()
    assert "escaped" in caught.value.detail
    assert desk.left() == []
    assert not (desk.folders.root.parent / "escaped").exists()


@pytest.mark.parametrize("label", [{"abi": "cp312"}, {"torch": "2.12.0"}, {"platform": "win-amd64"}])
def test_what_is_not_the_runtime_the_list_says_is_refused(desk: Desk, label: dict[str, str]) -> None:
    desk.there.publish(zip_of(runtime_files(**label)))
    with pytest.raises(DamagedFile, match="is not the software for the card"):
        desk.install()
    assert desk.left() == []


def test_a_runtime_that_does_not_compute_goes_again_and_can_be_tried_without_a_download(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> Any:
        raise DeviceUnavailable("The graphics card does not compute.")

    monkeypatch.setattr(installation, "try_runtime", refuse)
    with pytest.raises(TrialFailed, match=r"so nothing has changed\. The graphics card does not compute"):
        desk.install()
    assert {Path(each).suffix for each in desk.left()} == {".zip"}
    monkeypatch.setattr(installation, "try_runtime", computes)
    asked = len(desk.there.server.seen)
    assert_whole(desk.install())
    assert len(desk.there.server.seen) == asked


def test_an_engine_that_imported_from_elsewhere_has_proved_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(runtimes: tuple[Path, ...], data: Path, device: str, *, check: Callable[[], None]) -> DeviceCheck:
        return computes((data,), data, device, check=check)

    monkeypatch.setattr(installation, "try_runtime", elsewhere)
    with pytest.raises(EngineError, match="did not use the software for the card"):
        desk.install()


def test_killed_while_it_was_unpacked_the_next_start_is_clean(desk: Desk) -> None:
    folders = desk.folders
    (folders.staging / "half" / "torch").mkdir(parents=True)
    (folders.staging / "half" / "torch" / "__init__.py").write_text("half")
    (folders.root / ".away-1" / "torch").mkdir(parents=True)
    (folders.root / "cp311-torch2.12.0-cuda12-1").mkdir()
    (folders.root / "cp311-torch2.13.0-cuda12-1").mkdir()
    (folders.root / "state.json.new").write_text("{")
    archive = folders.archive(desk.entry.parts[0])
    archive.parent.mkdir()
    archive.write_bytes(FIRST)
    folders.write(Kept(in_use="cp311-torch2.13.0-cuda12-1"))
    folders.sweep()
    assert sorted(each.name for each in folders.root.iterdir()) == [
        ".download", "cp311-torch2.13.0-cuda12-1", "state.json",
    ]  # fmt: skip
    assert folders.missing_bytes(desk.entry) == len(SECOND)
    assert_whole(desk.install())
    assert not any("part-0" in path for path in desk.there.server.paths())


def test_killed_before_it_was_tried_it_is_tried_at_the_next_start(desk: Desk) -> None:
    folder = desk.install()
    desk.folders.write(Kept(is_installing=True))
    desk.folders.sweep()
    assert_whole(folder)
    asked = len(desk.there.server.seen)
    desk.told.clear()
    desk.install()
    assert [phase for phase, _ in desk.told] == [Phase.TRYING]
    assert len(desk.there.server.seen) == asked


def test_a_state_that_cannot_be_read_uses_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folders = RuntimeFolders(tmp_path)
    assert folders.read() == Kept()
    folders.write(Kept(in_use="a", reason="b"))
    assert folders.read() == Kept(in_use="a", reason="b")
    (tmp_path / "state.json").write_text('{"in_use": 1')
    assert folders.read() == Kept()
    assert "cannot be read" in caplog.text
    (tmp_path / "a").mkdir()
    folders.sweep()
    assert (tmp_path / "a").is_dir(), "nobody can tell whether it is in use"


def test_removing_frees_it_all(desk: Desk) -> None:
    folder = desk.install()
    desk.folders.remove(folder.name)
    assert desk.left() == []
    desk.folders.remove(folder.name)


class Encrypted(socket.socket):
    """As ``ssl.SSLSocket``: its own shutdown forgets the keys, under the hands of the thread that reads."""

    def shutdown(self, how: int, /) -> None:
        raise AssertionError("the keys are gone")


def test_a_connection_is_broken_off_below_its_encryption(tmp_path: Path) -> None:
    here, there = socket.socketpair()
    with open_client() as client, there, Encrypted(fileno=here.detach()) as encrypted:
        part = Part("https://x.example/part.zip", 1, "0" * 64)
        stop = threading.Event()
        download = PartDownload(
            part, tmp_path / "part.zip", client, stop=stop, advanced=lambda _: None, said=lambda _: None
        )
        download._socket = encrypted
        download.interrupt()
        assert there.recv(1) == b""
