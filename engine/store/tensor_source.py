"""Where a split's tensors are read from: whole for a conversion, in small pieces for a plain copy.

Reads go past the page cache, so cutting a model never evicts what the user works with, and hold no more in
memory than the tensor or the piece that was asked for.
"""

from __future__ import annotations

import functools
import os
import queue
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from engine.errors import SourceError, UnsupportedModel
from engine.models.transformers_internals import LazyTensor, TensorShape
from engine.store.pickle_table import load_pickle
from engine.store.source import LOADED_WHOLE, Source
from engine.weights.direct_io import ALIGNMENT, ReadHandle, aligned_buffer, round_up
from engine.weights.dtypes import TORCH_DTYPES

PIECE_BYTES = 8 << 20
_PIECE_BUFFERS = 4


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes on their way into a block file. ``release`` gives their memory back once they are written."""

    data: memoryview
    release: Callable[[], None] | None = None


class TensorSource(Protocol):
    """A checkpoint's tensors by their checkpoint keys."""

    @property
    def shapes(self) -> Mapping[str, TensorShape]:
        """Shape and dtype of every tensor as ``load`` gives it."""
        ...

    @property
    def weight_mapping(self) -> list[Any] | None:
        """The conversion to use instead of the model's own, or None."""
        ...

    @property
    def quantizer(self) -> Any | None:
        """transformers' object for a packed format, which keeps the loader from casting packed bytes, or None."""
        ...

    def files_of(self, key: str) -> frozenset[str]:
        """The source files this tensor is in."""
        ...

    def load(self, key: str) -> LazyTensor:
        """The tensor, read when it is indexed."""
        ...

    def stream(self, key: str, dtype: torch.dtype, start: int = 0) -> Iterator[Piece]:
        """The tensor's bytes in ``dtype``, from byte ``start`` of them on. A piece must be released before long: memory
        is reused.
        """
        ...

    def close(self) -> None:
        """Closes the files; the next read opens them again."""
        ...


class ShardReader:
    """Byte ranges of a source's files, read directly into page-aligned memory."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._handles: dict[str, ReadHandle] = {}
        self._buffers: queue.SimpleQueue[memoryview] = queue.SimpleQueue()
        self._buffers_made = 0

    def read(self, file: str, offset: int, nbytes: int) -> memoryview:
        """A range in memory of its own. Raises ``SourceError`` where the file cannot be read or became shorter."""
        start = offset - offset % ALIGNMENT
        buffer = aligned_buffer(round_up(offset + nbytes - start))
        return self._read_range(file, offset, nbytes, buffer)

    def pieces(self, file: str, offset: int, nbytes: int) -> Iterator[Piece]:
        """A range in pieces of at most ``PIECE_BYTES``. Blocks while every buffer is still being written out."""
        end = offset + nbytes
        while offset < end:
            count = min(PIECE_BYTES - offset % ALIGNMENT, end - offset)
            buffer = self._take_buffer()
            data = self._read_range(file, offset, count, buffer)
            yield Piece(data, functools.partial(self._buffers.put, buffer))
            offset += count

    def _read_range(self, file: str, offset: int, nbytes: int, buffer: memoryview) -> memoryview:
        skip = offset % ALIGNMENT
        # A direct read wants whole pages; the last page of a file comes back short.
        wanted = buffer[: round_up(skip + nbytes)]
        try:
            count = self._handle(file).read_into(offset - skip, wanted)
        except OSError as error:
            raise SourceError(
                f"{file} cannot be read: {os.strerror(error.errno or 0)}.",
                "Check the drive it is on, then try again.",
                detail=f"{self._root / file} at {offset}: {error!r}",
            ) from error
        if count < skip + nbytes:
            raise SourceError(
                f"{file} became shorter while it was read.", "Do not change a model while it is being cut; try again."
            )
        return buffer[skip : skip + nbytes]

    def _take_buffer(self) -> memoryview:
        if self._buffers_made < _PIECE_BUFFERS:
            self._buffers_made += 1
            return aligned_buffer(PIECE_BYTES)
        return self._buffers.get()

    def _handle(self, file: str) -> ReadHandle:
        if file not in self._handles:
            self._handles[file] = ReadHandle(self._root / file)
        return self._handles[file]

    def close(self) -> None:
        for handle in self._handles.values():
            handle.close()
        self._handles.clear()


class ShardTensors:
    """The tensors of safetensors shards, and of pickled shards whose table is known. A ``TensorSource``."""

    def __init__(self, source: Source) -> None:
        self._table = source.tensors
        self._root = source.root
        self._reader = ShardReader(source.root)
        self._old_pickle: tuple[str, dict[str, torch.Tensor]] = ("", {})
        for key, tensor in self._table.items():
            if tensor.dtype not in TORCH_DTYPES:
                raise UnsupportedModel(
                    f"{key} is stored as {tensor.dtype}, which Strata does not run.",
                    "Choose another version of the model.",
                )
        self._shapes = {
            key: TensorShape(tensor.shape, TORCH_DTYPES[tensor.dtype]) for key, tensor in self._table.items()
        }

    @property
    def shapes(self) -> Mapping[str, TensorShape]:
        return self._shapes

    @property
    def weight_mapping(self) -> None:
        return None

    @property
    def quantizer(self) -> None:
        return None

    def files_of(self, key: str) -> frozenset[str]:
        return frozenset((self._table[key].file,))

    def load(self, key: str) -> LazyTensor:
        return LazyRead(lambda: self._read(key), self._table[key].dtype)

    def stream(self, key: str, dtype: torch.dtype, start: int = 0) -> Iterator[Piece]:
        tensor = self._table[key]
        stored = TORCH_DTYPES[tensor.dtype]
        if tensor.strides is not None or tensor.offset == LOADED_WHOLE:
            yield Piece(bytes_of(self._read(key).to(dtype))[start:])
        elif stored is dtype:
            yield from self._reader.pieces(tensor.file, tensor.offset + start, tensor.nbytes - start)
        else:
            # Not the reader's pieces: in a file with an odd header they would end inside a number.
            for first in range(start // dtype.itemsize * stored.itemsize, tensor.nbytes, PIECE_BYTES):
                count = min(PIECE_BYTES, tensor.nbytes - first)
                yield cast_bytes(self._reader.read(tensor.file, tensor.offset + first, count), stored, dtype)

    def close(self) -> None:
        self._reader.close()
        self._old_pickle = ("", {})

    def _read(self, key: str) -> torch.Tensor:
        tensor = self._table[key]
        if tensor.offset == LOADED_WHOLE:
            return self._read_old_pickle(tensor.file)[key].contiguous()
        dtype = TORCH_DTYPES[tensor.dtype]
        memory = self._reader.read(tensor.file, tensor.offset, tensor.nbytes)
        if tensor.strides is None:
            return tensor_from(memory, dtype, tensor.shape)
        flat = tensor_from(memory, dtype, (len(memory) // dtype.itemsize,))
        return torch.as_strided(flat, tensor.shape, tensor.strides).contiguous()

    def _read_old_pickle(self, file: str) -> dict[str, torch.Tensor]:
        """Keeps the last one: blocks next to each other are mostly in the same shard."""
        if self._old_pickle[0] != file:
            self._old_pickle = ("", {})
            self._old_pickle = (file, load_pickle(self._root / file))
        return self._old_pickle[1]


class LazyRead:
    """A tensor that is read whenever it is indexed, as transformers indexes the slices of a safetensors file.

    ``dtype`` is safetensors' name for it.
    """

    def __init__(self, read: Callable[[], torch.Tensor], dtype: str) -> None:
        self._read = read
        self._dtype = dtype

    def __getitem__(self, index: object) -> torch.Tensor:
        return self._read()

    def get_dtype(self) -> str:
        return self._dtype


def cast_bytes(data: memoryview, stored: torch.dtype, wanted: torch.dtype) -> Piece:
    """The same numbers in another dtype, in memory of their own. Element by element: any part of a tensor will do."""
    return Piece(bytes_of(tensor_from(data, stored, (len(data) // stored.itemsize,)).to(wanted)))


def bytes_of(tensor: torch.Tensor) -> memoryview:
    """The memory of a contiguous CPU tensor, as bytes. Keeps the tensor alive."""
    return memoryview(tensor.detach().reshape(-1).view(torch.uint8).numpy().data)


def tensor_from(memory: memoryview, dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    """A tensor in ``memory`` itself, which it keeps alive; a copy where the address does not suit the dtype."""
    if len(memory) == 0:
        return torch.empty(shape, dtype=dtype)
    flat = torch.frombuffer(memory, dtype=torch.uint8)
    if flat.data_ptr() % dtype.itemsize:
        flat = flat.clone()
    return flat.view(dtype).reshape(shape)
