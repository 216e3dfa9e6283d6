"""Reader threads and direct files: the right bytes, short files and errors reported, nothing left hanging."""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path

import pytest

from engine.weights.direct_io import ALIGNMENT, DirectWriter, ReadHandle, aligned_buffer, round_up
from engine.weights.reader import Reader, ShortRead


@pytest.fixture
def reader():
    made = Reader(3, chunk_bytes=64 << 10)
    yield made
    made.close()


def write_file(path: Path, nbytes: int, seed: int = 0) -> bytes:
    data = random.Random(seed).randbytes(nbytes)
    with DirectWriter(path, chunk_bytes=1 << 16) as writer:
        for start in range(0, nbytes, 50_001):
            writer.write(memoryview(data)[start : start + 50_001])
        assert writer.finish() == nbytes
    return data


@pytest.mark.parametrize("nbytes", [0, 1, 4095, 4096, 4097, 65536, 65537, 1_000_003])
def test_a_written_file_holds_exactly_what_was_written(tmp_path: Path, nbytes: int) -> None:
    data = write_file(tmp_path / "file", nbytes)
    assert (tmp_path / "file").read_bytes() == data


def test_a_writer_never_overwrites_a_file(tmp_path: Path) -> None:
    write_file(tmp_path / "file", 10)
    with pytest.raises(FileExistsError):
        DirectWriter(tmp_path / "file")


@pytest.mark.parametrize("nbytes", [1, 4096, 65536, 300_001])
def test_any_aligned_range_arrives_whole(tmp_path: Path, reader: Reader, nbytes: int) -> None:
    data = write_file(tmp_path / "file", 900_000)
    with ReadHandle(tmp_path / "file") as handle:
        for offset in (0, ALIGNMENT, 16 * ALIGNMENT):
            memory = aligned_buffer(nbytes)
            assert reader.submit(handle, offset, nbytes, memory).wait(10)
            assert bytes(memory[:nbytes]) == data[offset : offset + nbytes]


def test_a_file_that_ends_early_is_an_error_not_zeros(tmp_path: Path, reader: Reader) -> None:
    write_file(tmp_path / "file", 100_000)
    with ReadHandle(tmp_path / "file") as handle:
        ticket = reader.submit(handle, 0, 200_000, aligned_buffer(200_000))
        with pytest.raises(ShortRead):
            ticket.wait(10)


def test_an_error_in_a_reader_reaches_the_one_who_waits(tmp_path: Path, reader: Reader) -> None:
    write_file(tmp_path / "file", 100_000)
    handle = ReadHandle(tmp_path / "file")
    handle.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        reader.submit(handle, 0, 100_000, aligned_buffer(100_000)).wait(10)


def test_reads_are_served_in_the_order_they_were_asked_for(tmp_path: Path) -> None:
    write_file(tmp_path / "file", 1 << 20)
    reader = Reader(1, chunk_bytes=64 << 10)
    order: list[int] = []
    with ReadHandle(tmp_path / "file") as handle:
        tickets = [
            reader.submit(handle, 0, 1 << 20, aligned_buffer(1 << 20), on_done=lambda i=i: order.append(i))
            for i in range(8)
        ]
        for ticket in tickets:
            ticket.wait(10)
        reader.close()
    assert order == list(range(8))


def test_the_first_bytes_can_be_used_while_the_rest_arrives(
    tmp_path: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_file(tmp_path / "file", 300_000)
    may_go_on = threading.Event()
    read_into = ReadHandle.read_into

    def read_late(self: ReadHandle, offset: int, destination: memoryview) -> int:
        if offset >= 128 << 10:
            may_go_on.wait(10)
        return read_into(self, offset, destination)

    monkeypatch.setattr(ReadHandle, "read_into", read_late)
    with ReadHandle(tmp_path / "file") as handle:
        memory = aligned_buffer(300_000)
        ticket = reader.submit(handle, 0, 300_000, memory)
        assert ticket.wait(10, first_nbytes=128 << 10)
        assert bytes(memory[: 128 << 10]) == data[: 128 << 10]
        assert not ticket.is_done
        assert not ticket.wait(0, first_nbytes=(128 << 10) + 1)
        may_go_on.set()
        assert ticket.wait(10, first_nbytes=300_000)
        assert ticket.is_done
        assert bytes(memory[:300_000]) == data


def test_an_abandoned_read_settles_without_touching_memory_again(tmp_path: Path, reader: Reader) -> None:
    write_file(tmp_path / "file", 1 << 20)
    with ReadHandle(tmp_path / "file") as handle:
        memory = aligned_buffer(1 << 20)
        ticket = reader.submit(handle, 0, 1 << 20, memory)
        ticket.is_abandoned = True
        ticket.settle()
        before = bytes(memory)
        os.sched_yield()
        assert bytes(memory) == before


def test_reading_past_the_cache_falls_back_where_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_file(tmp_path / "file", 10_000)
    real = os.preadv

    def refusing(descriptor: int, buffers: list[memoryview], offset: int) -> int:
        if handle.is_direct:
            raise OSError(22, "refused")
        return real(descriptor, buffers, offset)

    with ReadHandle(tmp_path / "file") as handle:
        monkeypatch.setattr(os, "preadv", refusing)
        memory = aligned_buffer(10_000)
        assert handle.read_into(0, memory) == 10_000
        assert bytes(memory[:10_000]) == data


def test_buffers_are_aligned_and_rounded_up() -> None:
    for nbytes in (1, 4096, 5000, 3 << 20):
        assert len(aligned_buffer(nbytes)) == round_up(nbytes)
