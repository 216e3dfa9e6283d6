"""The table of a safetensors file: names, types, shapes and places, read without touching a weight. No torch."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import SourceError
from engine.quantities import format_size
from engine.store.file_format import DOWNLOAD_AGAIN, FileFormat, require_format
from engine.store.layout import DTYPE_BITS, tensor_nbytes

MAX_HEADER_BYTES = 100_000_000
"""The limit of the safetensors library itself."""


@dataclass(frozen=True, slots=True)
class HeaderTensor:
    """One tensor: ``offset`` is absolute in the file."""

    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class SafetensorsHeader:
    """``digest`` is the sha256 of the header's bytes; ``data_offset`` where the tensors start."""

    tensors: dict[str, HeaderTensor]
    digest: str
    data_offset: int


def read_safetensors_header(path: Path) -> SafetensorsHeader:
    """Raises ``SourceError`` that names the file: not weights, truncated, or with tensors that overlap."""
    require_format(path, FileFormat.SAFETENSORS)
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > MAX_HEADER_BYTES:
            raise SourceError(f"{path.name} claims a header of {format_size(length)}; it is damaged.", DOWNLOAD_AGAIN)
        text = file.read(length)
    if len(text) < length:
        raise _truncated(path.name, 8 + length, size)
    return parse_safetensors_header(path.name, text, size)


def parse_safetensors_header(file: str, text: bytes, size: int) -> SafetensorsHeader:
    """The table from a header's JSON, for a file of ``size`` bytes that need not be here. Raises ``SourceError``."""
    data_offset = 8 + len(text)
    try:
        entries: dict[str, Any] = json.loads(text)
        tensors = {name: _tensor(entry, data_offset) for name, entry in entries.items() if name != "__metadata__"}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SourceError(f"The header of {file} is damaged.", DOWNLOAD_AGAIN, detail=repr(error)) from error
    _check_places(file, tensors, data_offset, size)
    return SafetensorsHeader(tensors, hashlib.sha256(text).hexdigest(), data_offset)


def _tensor(entry: dict[str, Any], data_offset: int) -> HeaderTensor:
    begin, end = entry["data_offsets"]
    dtype, shape = entry["dtype"], tuple(int(dim) for dim in entry["shape"])
    if dtype not in DTYPE_BITS or min(shape, default=0) < 0:
        raise ValueError(f"tensor of type {dtype!r} and shape {shape}")
    if end - begin != tensor_nbytes(dtype, shape):
        raise ValueError(f"{end - begin} bytes for {dtype} {shape}")
    return HeaderTensor(dtype, shape, data_offset + begin, end - begin)


def _check_places(file: str, tensors: dict[str, HeaderTensor], data_offset: int, size: int) -> None:
    end, before = data_offset, "the header"
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].offset, item[1].nbytes)):
        if tensor.offset < end:
            raise SourceError(f"The header of {file} is damaged: {name} overlaps {before}.", DOWNLOAD_AGAIN)
        end, before = tensor.offset + tensor.nbytes, name
    if end > size:
        raise _truncated(file, end, size)


def _truncated(file: str, need: int, have: int) -> SourceError:
    return SourceError(f"{file} is truncated: it should have {need:,} bytes and has {have:,}.", DOWNLOAD_AGAIN)
