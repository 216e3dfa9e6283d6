"""A block's file while it is written: whatever a thread dies of is told, and nobody waits for ever."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from engine.store.block_writer import MAX_PENDING_BYTES, BlockWriter
from engine.store.tensor_source import Piece
from engine.weights.direct_io import DirectWriter


def write_too_much(path: Path, caught: list[BaseException]) -> None:
    piece = memoryview(bytes(MAX_PENDING_BYTES // 4))
    try:
        with BlockWriter(path) as writer:
            for _ in range(12):
                writer.write(Piece(piece))
            writer.finish()
    except BaseException as error:
        caught.append(error)


@pytest.mark.parametrize("kind", [MemoryError, RuntimeError, OSError])
def test_a_writer_that_dies_of_anything_is_told_and_hangs_nobody(
    kind: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: DirectWriter, data: memoryview) -> None:
        raise kind("went wrong")

    monkeypatch.setattr(DirectWriter, "write", fail)
    caught: list[BaseException] = []
    thread = threading.Thread(target=write_too_much, args=(tmp_path / "block", caught), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert [type(error) for error in caught] == [kind]


def test_memory_that_cannot_be_released_is_told_too(tmp_path: Path) -> None:
    def fail() -> None:
        raise RuntimeError("not released")

    def write() -> None:
        with BlockWriter(tmp_path / "block") as writer:
            writer.write(Piece(memoryview(b"x" * 100), fail))
            writer.finish()

    with pytest.raises(RuntimeError, match="not released"):
        write()
