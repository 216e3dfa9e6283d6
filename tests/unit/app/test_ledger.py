"""The ledger: what is counted, once, and what a restart finds."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.ledger import Ledger
from app.ledger_file import Tally, read_ledger, write_ledger
from engine.errors import EngineDied
from engine.events import (
    BytesMoved,
    Finished,
    GenerationResult,
    JobProgress,
    LayerProgress,
    LoadProgress,
    MoveResult,
    Outcome,
    PassKind,
    SplitResult,
    StopReason,
    VerifyResult,
)
from tests.helpers.fake_engine import FakeEngineHost

TODAY = date(2026, 3, 15)


class Book:
    def __init__(self, file: Path) -> None:
        self.file = file
        self.day = TODAY
        self.engine = FakeEngineHost()
        self.ledger = Ledger(self.engine, file, today=lambda: self.day)


@pytest.fixture
def book(tmp_path: Path, qtbot: QtBot) -> Iterator[Book]:
    made = Book(tmp_path / "ledger.json")
    yield made
    made.ledger.close()
    # Here, in the GUI thread: a writing thread that collected it would delete its timers there.
    del made
    gc.collect()


def test_a_move_reads_each_byte_twice_and_writes_it_once(book: Book) -> None:
    """Half of a byte counts when it is copied, half when it is read back."""
    for phase, done in (("copying", 0), ("copying", 250), ("comparing", 500)):
        book.engine.event_arrived.emit(1, job(phase, done))
    assert book.ledger.today == Tally(1000, 500)
    result = MoveResult("tiny", "/big/tiny", 4, 600, 600, 1.0)
    book.engine.event_arrived.emit(1, Finished(Outcome.DONE, result))
    assert book.ledger.today == Tally(1200, 600)


def layer(bytes_read: int) -> LayerProgress:
    return LayerProgress(PassKind.DECODE, 0, 1, 4, "layer-000", False, bytes_read, 1.0, None)


def job(phase: str, bytes_done: int) -> JobProgress:
    return JobProgress(phase, 1, 4, "layer-000", bytes_done, 1000, 1.0, None)


def answer(disk: int) -> GenerationResult:
    return GenerationResult("", (), StopReason.STOP_TOKEN, 1, 0, None, None, 1.0, BytesMoved(7, 7, disk))


def test_an_answer_counts_what_it_read_from_the_disk_and_no_byte_twice(book: Book) -> None:
    request = book.engine.ask("answer")
    for nbytes in (100, 400, 100, 300):  # two passes
        book.engine.send(request, layer(nbytes))
    assert book.ledger.today == Tally(700, 0)
    book.engine.finish(request, answer(800))
    assert book.ledger.today == Tally(800, 0)


def test_an_answer_that_the_engine_died_in_is_counted_as_far_as_it_came(book: Book) -> None:
    request = book.engine.ask("answer")
    book.engine.send(request, layer(400))
    book.engine.fail(request, EngineDied("It died."))
    assert book.ledger.today == Tally(400, 0)


def test_loading_reads(book: Book) -> None:
    request = book.engine.ask("load")
    book.engine.send(request, LoadProgress(1, 2, 40, 90))
    book.engine.send(request, LoadProgress(2, 2, 90, 90))
    book.engine.finish(request)
    assert book.ledger.today == Tally(90, 0)


def test_a_split_that_goes_on_counts_only_what_this_run_wrote(book: Book) -> None:
    request = book.engine.ask("split")
    for event in (job("planning", 0), job("cutting", 600), job("cutting", 900), job("deleting", 900)):
        book.engine.send(request, event)
    assert book.ledger.today == Tally(300, 300)
    book.engine.finish(request, SplitResult("m", "/m", 4, 400, 0, 1.0))
    assert book.ledger.today == Tally(400, 400)


def test_a_download_is_written_once_as_it_arrives_and_once_as_it_is_cut(book: Book) -> None:
    request = book.engine.ask("download")
    for event in (
        job("downloading", 0), job("downloading", 500), job("cutting", 0),
        job("cutting", 400), job("waiting", 500), job("downloading", 1000),
    ):  # fmt: skip
        book.engine.send(request, event)
    book.engine.finish(request, SplitResult("m", "/m", 4, 400, 0, 1.0))
    assert book.ledger.today == Tally(400, 1400)


def test_verifying_only_reads(book: Book) -> None:
    request = book.engine.ask("verify")
    book.engine.send(request, job("verifying", 0))
    book.engine.send(request, job("verifying", 700))
    book.engine.finish(request, VerifyResult("m", 4, 1000, (), ()))
    assert book.ledger.today == Tally(1000, 0)


def test_days_are_kept_apart_and_summed_and_survive_a_restart(book: Book, qtbot: QtBot) -> None:
    book.engine.finish(book.engine.ask("answer"), answer(800))
    book.day = date(2026, 3, 16)
    book.engine.finish(book.engine.ask("answer"), answer(50))
    book.ledger.close()
    again = Ledger(FakeEngineHost(), book.file, today=lambda: book.day)
    assert (again.today, again.total, again.since) == (Tally(50, 0), Tally(850, 0), TODAY)
    again.close()


def test_it_is_saved_and_told_at_most_once_a_second(book: Book, qtbot: QtBot) -> None:
    told: list[int] = []
    book.ledger.changed.connect(lambda: told.append(1))
    request = book.engine.ask("answer")
    for nbytes in range(1, 100):
        book.engine.send(request, layer(nbytes))
    assert told == []
    qtbot.waitUntil(lambda: told == [1])
    qtbot.waitUntil(lambda: read_ledger(book.file) == {TODAY: Tally(99, 0)})


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"days": {"no day": {"read": 1, "written": 1}}}', '{"days": {"2026-03-15": 1}}']
)
def test_a_damaged_file_is_set_aside(tmp_path: Path, text: str) -> None:
    file = tmp_path / "ledger.json"
    file.write_text(text)
    assert read_ledger(file) == {}
    assert (tmp_path / "ledger.damaged.json").read_text() == text
    write_ledger(file, {TODAY: Tally(1, 2)})
    assert read_ledger(file) == {TODAY: Tally(1, 2)}
