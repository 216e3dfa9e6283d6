"""Cuts one block: reads its checkpoint tensors, converts them group by group, writes and hashes its file."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import torch

from engine.cancel import CancelToken
from engine.events import JobProgress
from engine.models.transformers_internals import CheckpointConversion, ConversionGroup
from engine.store.block_writer import MAX_PENDING_BYTES, BlockWriter
from engine.store.job_meter import JobMeter
from engine.store.manifest import TensorEntry
from engine.store.part_file import Digest
from engine.store.progress_journal import BegunPart
from engine.store.split_plan import BlockPlan, RecordPlan
from engine.store.tensor_source import PIECE_BYTES, Piece, TensorSource, bytes_of, tensor_from
from engine.weights.direct_io import ReadHandle, aligned_buffer
from engine.weights.dtypes import TORCH_DTYPES
from engine.weights.packed import SCALES, transposed

log = logging.getLogger(__name__)

PART_BYTES = 4 << 30
"""What a cut that is killed repeats at the most of a block that is only copied (a table may have 100 GB)."""


def cut_block(
    block: BlockPlan,
    path: Path,
    *,
    conversion: CheckpointConversion,
    tensors: TensorSource,
    meter: JobMeter,
    cancel: CancelToken,
    begun: BegunPart | None = None,
    note_begun: Callable[[BegunPart], None] = lambda part: None,
) -> Generator[JobProgress, None, tuple[int, str]]:
    """Writes the block's file to ``path``, flushed to the disk; returns its size and sha256.

    A block that is only copied goes on behind what is ``begun`` of it, unless that is damaged. ``note_begun`` is told
    every ``PART_BYTES`` what is on the disk, and nothing where a large block is begun.

    In memory at any time: one conversion group and ``MAX_PENDING_BYTES``; for experts that have to be converted,
    all groups of their layer. Raises ``OSError`` where it cannot be
    written, ``SourceError`` where the source cannot be read, ``Cancelled`` within one group.
    """
    digest = hashlib.sha256()
    if begun is not None:
        digest = yield from _digest_part(path, begun, meter, cancel)
        begun = begun if digest.hexdigest() == begun.sha256 else None
    is_large = block.is_copied and block.layout.size > PART_BYTES
    if begun is None:
        path.unlink(missing_ok=True)
        digest = hashlib.sha256()
        if is_large:
            note_begun(BegunPart(0, digest.hexdigest()))
    with BlockWriter(path, begun, digest) as writer:
        pieces = _file_pieces(block, conversion, tensors, writer)
        if block.is_copied:
            pieces = _ending_at_parts(_copied_pieces(block, tensors, writer.nbytes), writer.nbytes)
        for piece in pieces:
            cancel.raise_if_cancelled()
            writer.write(piece)
            meter.advance(len(piece.data))
            if is_large and writer.nbytes % PART_BYTES == 0:
                note_begun(writer.sync())
            yield from meter.due()
        return writer.finish()


def _digest_part(
    path: Path, begun: BegunPart, meter: JobMeter, cancel: CancelToken
) -> Generator[JobProgress, None, Digest]:
    """Of the bytes that are begun, as they are on the disk; of fewer where they cannot be read."""
    digest = hashlib.sha256()
    buffer = aligned_buffer(PIECE_BYTES)
    done = 0
    with ReadHandle(path) as handle:
        while done < begun.nbytes:
            cancel.raise_if_cancelled()
            piece = buffer[: min(PIECE_BYTES, begun.nbytes - done)]
            try:
                count = handle.read_into(done, piece)
            except OSError as error:
                log.warning("%s is cut from its beginning: %r", path, error)
                break
            if count < len(piece):
                break
            digest.update(piece)
            done += count
            meter.advance(count)
            yield from meter.due()
    if digest.hexdigest() != begun.sha256:
        meter.advance(-done)
    return digest


def _ending_at_parts(pieces: Iterator[Piece], position: int) -> Iterator[Piece]:
    """The same bytes, which begin at ``position`` of a file, in pieces that end wherever a part does."""
    for piece in pieces:
        data = piece.data
        while len(data) > (left := PART_BYTES - position % PART_BYTES):
            yield Piece(data[:left])
            data = data[left:]
            position += left
        yield Piece(data, piece.release)
        position += len(data)


def _copied_pieces(block: BlockPlan, tensors: TensorSource, start: int) -> Iterator[Piece]:
    """The file of a block that is only copied, from byte ``start`` on."""
    header = memoryview(block.layout.header)
    position = len(header)
    if start < position:
        yield Piece(header[start:])
    for index, group in enumerate(block.groups):
        dtype = TORCH_DTYPES[block.layout.tensors[index].dtype]
        for key in group.copies:
            nbytes = tensors.shapes[key].nbytes // tensors.shapes[key].dtype.itemsize * dtype.itemsize
            if start < position + nbytes:
                yield from tensors.stream(key, dtype, max(start - position, 0))
            position += nbytes
        end = position + block.layout.padding_after(index)
        if max(start, position) < end:
            yield Piece(memoryview(bytes(end - max(start, position))))
        position = end


def _file_pieces(
    block: BlockPlan, conversion: CheckpointConversion, tensors: TensorSource, writer: BlockWriter
) -> Iterator[Piece]:
    yield Piece(memoryview(block.layout.header))
    if block.records is not None:
        yield from _record_pieces(block, block.records, conversion, tensors, writer)
        return
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


def _record_pieces(
    block: BlockPlan, records: RecordPlan, conversion: CheckpointConversion, tensors: TensorSource, writer: BlockWriter
) -> Iterator[Piece]:
    """Expert after expert, each with its part of every stacked tensor.

    A stacked tensor holds its experts one after the other, so each is read front to back beside the others. What
    has to be converted is converted whole and kept until the last expert is written.
    """
    entries = dict(zip(records.names, records.tensors, strict=True))
    streams: dict[str, _ByteStream] = {}
    for group in block.groups:
        if group.copies:
            name = group.targets[0]
            stream = _ByteStream(_copied(group, tensors, TORCH_DTYPES[entries[name].dtype]))
            streams[name] = _ByteStream(_transposed(stream, entries[name])) if name in records.transposed else stream
            continue
        writer.wait_until_pending(_room_beside(group, tensors))
        for name, tensor in conversion.convert(group, tensors.load).items():
            if name in block.names:
                streams[name] = _ByteStream(iter([Piece(bytes_of(tensor))]))
    for index in range(len(block.layout.tensors)):
        part = index % len(records.names)
        yield from streams[records.names[part]].take(records.tensors[part].nbytes)
        yield from _padding(block, index)


def _copied(group: ConversionGroup, tensors: TensorSource, dtype: torch.dtype) -> Iterator[Piece]:
    for key in group.copies:
        yield from tensors.stream(key, dtype)


def _transposed(stream: _ByteStream, entry: TensorEntry) -> Iterator[Piece]:
    """The packed matrices of one expert after the other as ``entry`` wants them; in the stream they are transposed."""
    rows, width = entry.shape
    is_scales = entry.name.endswith(f".{SCALES}")
    shape = (width, rows) if is_scales else (2 * width, rows // 2)
    while True:
        matrix = tensor_from(stream.take_whole(entry.nbytes), TORCH_DTYPES[entry.dtype], shape)
        yield Piece(bytes_of(matrix.T.contiguous() if is_scales else transposed(matrix)))


class _ByteStream:
    """Pieces of a tensor, taken by the number of bytes."""

    def __init__(self, pieces: Iterator[Piece]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def take(self, nbytes: int) -> Iterator[Piece]:
        while nbytes:
            if self._rest:
                data = self._rest[:nbytes]
                self._rest = self._rest[len(data) :]
                nbytes -= len(data)
                yield Piece(data)
                continue
            piece = next(self._pieces)
            if len(piece.data) <= nbytes:
                nbytes -= len(piece.data)
                yield piece
            elif piece.release is None:
                self._rest = piece.data
            else:
                # Its memory is one of a few buffers, and the other tensors of the record need them meanwhile.
                self._rest = memoryview(bytes(piece.data))
                piece.release()

    def take_whole(self, nbytes: int) -> memoryview:
        """The same in memory of its own."""
        whole = bytearray()
        for piece in self.take(nbytes):
            whole += piece.data
            if piece.release is not None:
                piece.release()
        return memoryview(whole)


def _room_beside(group: ConversionGroup, tensors: TensorSource) -> int:
    """Bytes that may be waiting while this group is converted: none beside a large one."""
    size = sum(tensors.shapes[key].nbytes for key in group.sources)
    return max(0, MAX_PENDING_BYTES - 2 * size)


def _padding(block: BlockPlan, index: int) -> Iterator[Piece]:
    count = block.layout.padding_after(index)
    if count:
        yield Piece(memoryview(bytes(count)))
