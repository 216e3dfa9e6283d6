"""Cuts one block: reads its checkpoint tensors, converts them group by group, writes and hashes its file."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

from engine.cancel import CancelToken
from engine.events import JobProgress
from engine.models.transformers_internals import CheckpointConversion, ConversionGroup
from engine.store.block_writer import MAX_PENDING_BYTES, BlockWriter
from engine.store.job_meter import JobMeter
from engine.store.split_plan import BlockPlan
from engine.store.tensor_source import Piece, TensorSource, bytes_of
from engine.weights.dtypes import TORCH_DTYPES


def cut_block(
    block: BlockPlan,
    path: Path,
    *,
    conversion: CheckpointConversion,
    tensors: TensorSource,
    meter: JobMeter,
    cancel: CancelToken,
) -> Generator[JobProgress, None, tuple[int, str]]:
    """Writes the block's file to ``path``, flushed to the disk; returns its size and sha256.

    In memory at any time: one conversion group and ``MAX_PENDING_BYTES``. Raises ``OSError`` where it cannot be
    written, ``SourceError`` where the source cannot be read, ``Cancelled`` within one group.
    """
    with BlockWriter(path) as writer:
        for piece in _file_pieces(block, conversion, tensors, writer):
            cancel.raise_if_cancelled()
            writer.write(piece)
            meter.advance(len(piece.data))
            yield from meter.due()
        return writer.finish()


def _file_pieces(
    block: BlockPlan, conversion: CheckpointConversion, tensors: TensorSource, writer: BlockWriter
) -> Iterator[Piece]:
    yield Piece(memoryview(block.layout.header))
    index = 0
    for group in block.groups:
        if group.copies:
            dtype = TORCH_DTYPES[block.layout.tensors[index].dtype]
            for key in group.copies:
                yield from tensors.stream(key, dtype)
            yield from _padding(block, index)
            index += 1
            continue
        writer.wait_until_pending(_room_beside(group, tensors))
        produced = conversion.convert(group, tensors.load)
        for name in group.targets:
            if name in block.names:
                # Popped: a tensor's memory is free as soon as its bytes are written.
                yield Piece(bytes_of(produced.pop(name)))
                yield from _padding(block, index)
                index += 1


def _room_beside(group: ConversionGroup, tensors: TensorSource) -> int:
    """Bytes that may be waiting while this group is converted: none beside a large one."""
    size = sum(tensors.shapes[key].nbytes for key in group.sources)
    return max(0, MAX_PENDING_BYTES - 2 * size)


def _padding(block: BlockPlan, index: int) -> Iterator[Piece]:
    count = block.layout.padding_after(index)
    if count:
        yield Piece(memoryview(bytes(count)))
