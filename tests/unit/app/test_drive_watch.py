"""Drives are listed at once, measured one after another, and remembered with the day they were measured."""

from __future__ import annotations

from pathlib import Path

from pytestqt.qtbot import QtBot

from app.drive_records import FRESH_S
from app.drive_texts import drive_title, measured_text, speed_words
from app.drive_watch import Drive, DriveWatch
from app.machine_record import MACHINE_FILE_NAME, write_machine
from app.paths import Paths
from engine.api import DriveReport, MachineReport
from engine.errors import TargetNotWritable
from tests.helpers.fake_engine import FakeEngineHost

GB = 10**9
MACHINE = MachineReport("Linux", "A processor", 8, 32 * GB, 24 * GB, 1000 * GB, 500 * GB, 1.9 * GB, 25 * GB, ())
MAIN = DriveReport("/data/models", "/data", 1000 * GB, 400 * GB, True, True)
FIRST = DriveReport("/media/a/Strata models", "/media/a", 500 * GB, 90 * GB, False, True)
SECOND = DriveReport("/media/b/Strata models", "/media/b", 4000 * GB, 900 * GB, False, True)
CLOSED = DriveReport("/mnt/c/Strata models", "/mnt/c", 100 * GB, 50 * GB, False, False)


def watch(folder: Path, engine: FakeEngineHost, now: float = 1000.0) -> DriveWatch:
    return DriveWatch(engine, Paths(folder), engine, now=lambda: now)


def test_drives_are_listed_at_once_and_measured_one_by_one(qtbot: QtBot, tmp_path: Path) -> None:
    engine = FakeEngineHost()
    engine.reply("list_drives", [MAIN, FIRST, SECOND, CLOSED])
    write_machine(tmp_path / MACHINE_FILE_NAME, MACHINE)
    drives = watch(tmp_path, engine)
    drives.look()
    qtbot.waitUntil(lambda: len(engine.asked("measure_drive")) == 1)
    assert engine.asked("measure_drive")[0].args == (Path(FIRST.folder),)
    assert [(each.bytes_per_second, each.is_measuring) for each in drives.drives] == [
        (1.9 * GB, False), (None, True), (None, False), (None, False)
    ]  # fmt: skip
    engine.give(engine.asked("measure_drive")[0].request_id, 0.5 * GB)
    qtbot.waitUntil(lambda: len(engine.asked("measure_drive")) == 2)
    engine.fail(engine.asked("measure_drive")[1].request_id, TargetNotWritable("No."))
    drives.look()
    qtbot.waitUntil(lambda: not engine.waiting)
    assert len(engine.asked("measure_drive")) == 2
    assert [each.bytes_per_second for each in drives.drives] == [1.9 * GB, 0.5 * GB, None, None]
    assert drives.drives[1].measured_at == 1000.0


def test_a_measurement_is_kept_for_a_month_and_for_that_very_drive(qtbot: QtBot, tmp_path: Path) -> None:
    engine = FakeEngineHost()
    engine.reply("list_drives", [FIRST])
    engine.reply("measure_drive", 0.5 * GB)
    watch(tmp_path, engine).look()
    qtbot.waitUntil((tmp_path / "drives.json").exists)
    later = watch(tmp_path, engine, 1000.0 + FRESH_S - 1)
    with qtbot.waitSignal(later.changed):
        later.look()
    assert later.drives[0].bytes_per_second == 0.5 * GB
    assert len(engine.asked("measure_drive")) == 1
    watch(tmp_path, engine, 1000.0 + FRESH_S + 1).look()
    qtbot.waitUntil(lambda: len(engine.asked("measure_drive")) == 2)
    other = DriveReport(FIRST.folder, FIRST.root, 64 * GB, 9 * GB, False, True)
    engine.reply("list_drives", [other])
    watch(tmp_path, engine).look()
    qtbot.waitUntil(lambda: len(engine.asked("measure_drive")) == 3)


def test_while_the_machine_is_measured_nothing_else_is(qtbot: QtBot, tmp_path: Path) -> None:
    engine = FakeEngineHost()
    engine.reply("list_drives", [FIRST])
    drives = watch(tmp_path, engine)
    with qtbot.waitSignal(drives.changed):
        drives.look(measures=False)
    assert engine.asked("measure_drive") == []
    drives.look()
    qtbot.waitUntil(lambda: len(engine.asked("measure_drive")) == 1)


def test_a_record_that_is_damaged_is_measured_anew(qtbot: QtBot, tmp_path: Path) -> None:
    for text in ("{", "[]", '{"x": 1}', '{"x": {"bytes_per_second": "fast", "measured_at": 1}}'):
        (tmp_path / "drives.json").write_text(text)
        assert watch(tmp_path, FakeEngineHost()).drives == []


def test_drives_are_named_and_their_speed_has_a_word() -> None:
    assert drive_title(MAIN) == "The drive that holds your models"
    assert drive_title(FIRST) == "Drive a"
    assert drive_title(DriveReport("D:\\Strata models", "D:\\", 1, 1, False, True)) == "Drive D:"
    said = [speed_words(Drive(FIRST, speed, 0.0)) for speed in (2.1 * GB, 0.5 * GB, 0.15 * GB, 0.03 * GB)]
    assert said == [
        "Reads 2.10 GB a second (fast)",
        "Reads 500 MB a second (good)",
        "Reads 150 MB a second (slow)",
        "Reads 30.0 MB a second (good for keeping models, too slow for answers)",
    ]
    assert speed_words(Drive(FIRST, None, None, is_measuring=True)) == "being measured…"
    assert speed_words(Drive(CLOSED, None, None)) == "nothing can be written to it as a whole"
    assert measured_text(Drive(FIRST, 1.0, 1_767_000_000.0)) == "Measured on 29 December 2025"
    assert measured_text(Drive(FIRST, None, None)) == ""
