"""Where every byte of a block file goes: a valid safetensors header, aligned data, named padding. Pure.

The header is padded with spaces so that the data section starts at a multiple of ``FILE_ALIGNMENT``, and
every tensor starts at a multiple of ``TENSOR_ALIGNMENT`` (an expert's first one at a whole page). safetensors
allows no holes, so a gap is filled by a small ``U8`` tensor of zeros. The same tensors in the same order always
give the same bytes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from engine.store.manifest import FILE_ALIGNMENT, TENSOR_ALIGNMENT, TensorEntry

PADDING_PREFIX = "__padding__."
DTYPE_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32,
    "I64": 64, "U64": 64, "F64": 64, "C64": 64,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip
"""Bits of one element by safetensors dtype name."""


@dataclass(frozen=True, slots=True)
class PlannedTensor:
    """A tensor still to be written: safetensors dtype name and shape; it starts at a multiple of ``alignment``."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    alignment: int = TENSOR_ALIGNMENT

    @property
    def nbytes(self) -> int:
        return tensor_nbytes(self.dtype, self.shape)


@dataclass(frozen=True, slots=True)
class FileLayout:
    """A whole block file before it is written. ``tensors`` are in file order, their offsets into the data section."""

    header: bytes
    tensors: tuple[TensorEntry, ...]
    size: int

    @property
    def data_offset(self) -> int:
        return len(self.header)

    def padding_after(self, index: int) -> int:
        """Zero bytes between tensor ``index`` and the next one."""
        end = self.tensors[index].offset + self.tensors[index].nbytes
        is_last = index + 1 == len(self.tensors)
        return 0 if is_last else self.tensors[index + 1].offset - end


def tensor_nbytes(dtype: str, shape: Sequence[int]) -> int:
    """Raises ``KeyError`` for a dtype safetensors does not know."""
    count = 1
    for size in shape:
        count *= size
    return count * DTYPE_BITS[dtype] // 8


def lay_out(tensors: Sequence[PlannedTensor]) -> FileLayout:
    """The file that holds ``tensors`` in this order, so that writing it is one pass from front to back."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    entries: list[TensorEntry] = []
    offset = 0
    paddings = 0
    for tensor in tensors:
        gap = -offset % tensor.alignment
        if gap:
            header[f"{PADDING_PREFIX}{paddings}"] = _header_entry("U8", (gap,), offset, gap)
            paddings += 1
            offset += gap
        entry = TensorEntry(tensor.name, tensor.dtype, tensor.shape, offset, tensor.nbytes)
        header[tensor.name] = _header_entry(tensor.dtype, tensor.shape, offset, tensor.nbytes)
        entries.append(entry)
        offset += tensor.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % FILE_ALIGNMENT)
    data = struct.pack("<Q", len(text)) + text
    return FileLayout(data, tuple(entries), len(data) + offset)


def _header_entry(dtype: str, shape: tuple[int, ...], offset: int, nbytes: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + nbytes]}
