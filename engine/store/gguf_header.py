"""The header of a GGUF file: metadata and tensor table, with hard limits against garbage. No torch, no transformers.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3, little-endian).
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from engine.errors import SourceError, UnsupportedModel
from engine.store.file_format import DOWNLOAD_AGAIN, FileFormat, require_format

_VERSIONS = (2, 3)
_MAX_ENTRIES = 1 << 20
_MAX_KEPT_ARRAY = 4096
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """One tensor: ``type_name`` is ggml's ("Q4_1"), ``shape`` in torch's order, ``offset`` absolute in the file."""

    type_name: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """``metadata`` keeps scalars, strings and short arrays; a long array (the vocabulary) is only its length."""

    metadata: Mapping[str, Any]
    tensors: Mapping[str, GgufTensor]
    digest: str

    def text(self, key: str) -> str:
        value = self.metadata.get(key)
        return value if isinstance(value, str) else ""


def read_gguf_header(path: Path) -> GgufHeader:
    """Raises ``SourceError`` for a damaged or truncated file, ``UnsupportedModel`` for a foreign version or type."""
    require_format(path, FileFormat.GGUF)
    size = path.stat().st_size
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        parser = _Parser(view)
        try:
            header = parser.parse()
        except (struct.error, UnicodeDecodeError, ValueError, OverflowError) as error:
            raise SourceError(
                f"The header of {path.name} is damaged or cut off.", DOWNLOAD_AGAIN, detail=repr(error)
            ) from error
    end = max((tensor.offset + tensor.nbytes for tensor in header.tensors.values()), default=0)
    if end > size:
        raise SourceError(f"{path.name} is truncated: it should have {end:,} bytes and has {size:,}.", DOWNLOAD_AGAIN)
    return header


class _Parser:
    """A cursor over the mapped file. ``struct.error`` where the file ends too early."""

    def __init__(self, view: mmap.mmap) -> None:
        self._view = view
        self._at = 4

    def parse(self) -> GgufHeader:
        version = self._number("I")
        if version not in _VERSIONS:
            raise UnsupportedModel(
                f"This is GGUF version {version}; Strata reads versions 2 and 3.",
                "Use a newer conversion of the model.",
            )
        tensor_count, entry_count = self._count(), self._count()
        metadata: dict[str, Any] = {}
        for _ in range(entry_count):
            key = self._string()
            metadata[key] = self._value(self._number("I"))
        entries = [self._tensor() for _ in range(tensor_count)]
        digest = hashlib.sha256(self._view[: self._at]).hexdigest()
        alignment = metadata.get("general.alignment", 32)
        data_offset = -(-self._at // alignment) * alignment
        tensors = {name: _place(name, kind, shape, data_offset + offset) for name, kind, shape, offset in entries}
        return GgufHeader(metadata, tensors, digest)

    def _tensor(self) -> tuple[str, int, tuple[int, ...], int]:
        name = self._string()
        dims = [self._number("Q") for _ in range(self._limited(self._number("I"), 8))]
        kind, offset = self._number("I"), self._number("Q")
        return name, kind, tuple(reversed(dims)), offset

    def _value(self, kind: int) -> Any:
        if kind in _NUMBERS:
            return self._number(_NUMBERS[kind])
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            raise ValueError(f"metadata of type {kind}")
        element, count = self._number("I"), self._number("Q")
        if element in _NUMBERS:
            nbytes = count * struct.calcsize("<" + _NUMBERS[element])
            if self._at + nbytes > len(self._view):
                raise ValueError("array beyond the end of the file")
            values = None
            if count <= _MAX_KEPT_ARRAY:
                values = list(struct.unpack_from(f"<{count}{_NUMBERS[element]}", self._view, self._at))
            self._at += nbytes
            return count if values is None else values
        if element != _STRING:
            raise ValueError(f"array of type {element}")
        if count <= _MAX_KEPT_ARRAY:
            return [self._string() for _ in range(count)]
        for _ in range(count):
            (length,) = struct.unpack_from("<Q", self._view, self._at)
            self._at += 8 + length
        return count

    def _number(self, code: str) -> Any:
        (value,) = struct.unpack_from("<" + code, self._view, self._at)
        self._at += struct.calcsize("<" + code)
        return value

    def _count(self) -> int:
        return self._limited(self._number("Q"), _MAX_ENTRIES)

    def _limited(self, value: int, limit: int) -> int:
        if value > limit:
            raise ValueError(f"{value} where at most {limit} make sense")
        return value

    def _string(self) -> str:
        length = self._number("Q")
        if self._at + length > len(self._view):
            raise ValueError("string beyond the end of the file")
        text = self._view[self._at : self._at + length]
        self._at += length
        return text.decode("utf-8")


def _place(name: str, kind: int, shape: tuple[int, ...], offset: int) -> GgufTensor:
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    try:
        type_ = GGMLQuantizationType(kind)
        block_elements, block_bytes = GGML_QUANT_SIZES[type_]
    except (ValueError, KeyError):
        raise UnsupportedModel(
            f"{name} has a GGUF number format (type {kind}) that is not known to this version of Strata.",
            "Use another quantisation of the model.",
        ) from None
    return GgufTensor(type_.name, shape, offset, prod(shape) // block_elements * block_bytes)
