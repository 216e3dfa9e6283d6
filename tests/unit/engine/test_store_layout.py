"""The byte layout of block files: valid safetensors, aligned, without holes, the same every time."""

from __future__ import annotations

import json

import pytest
from safetensors import deserialize, safe_open

from engine.store.layout import PADDING_PREFIX, FileLayout, PlannedTensor, lay_out
from engine.store.manifest import FILE_ALIGNMENT, TENSOR_ALIGNMENT

TENSORS = [
    PlannedTensor("a", "BF16", (3, 5)),
    PlannedTensor("scalar", "F32", ()),
    PlannedTensor("empty", "F32", (0, 4)),
    PlannedTensor("packed", "U8", (127,)),
    PlannedTensor("even", "F32", (16, 4)),
    PlannedTensor("flags", "BOOL", (3,)),
]


def file_of(layout: FileLayout) -> bytes:
    return layout.header + bytes(layout.size - layout.data_offset)


def test_the_data_section_and_every_tensor_are_aligned() -> None:
    layout = lay_out(TENSORS)
    assert layout.data_offset % FILE_ALIGNMENT == 0
    assert [tensor.name for tensor in layout.tensors] == [tensor.name for tensor in TENSORS]
    assert all(tensor.offset % TENSOR_ALIGNMENT == 0 for tensor in layout.tensors)


def test_safetensors_reads_the_file_and_finds_only_named_padding_beside_the_tensors() -> None:
    layout = lay_out(TENSORS)
    entries = dict(deserialize(file_of(layout)))
    padding = [name for name in entries if name.startswith(PADDING_PREFIX)]
    assert set(entries) - set(padding) == {tensor.name for tensor in TENSORS}
    assert all(entries[name]["dtype"] == "U8" and len(entries[name]["data"]) < TENSOR_ALIGNMENT for name in padding)
    for tensor in TENSORS:
        assert tuple(entries[tensor.name]["shape"]) == tensor.shape
        assert len(entries[tensor.name]["data"]) == tensor.nbytes


def test_the_padding_between_tensors_fills_the_file_exactly() -> None:
    layout = lay_out(TENSORS)
    paddings = [layout.padding_after(index) for index in range(len(layout.tensors))]
    assert layout.data_offset + sum(t.nbytes for t in layout.tensors) + sum(paddings) == layout.size


def test_the_same_tensors_give_the_same_bytes() -> None:
    assert lay_out(TENSORS) == lay_out(list(TENSORS))


@pytest.mark.parametrize("count", [1, 60, 700])
def test_a_header_of_any_length_ends_on_a_page(count: int, tmp_path) -> None:
    layout = lay_out([PlannedTensor(f"model.layers.{n}.weight", "F16", (n, 7)) for n in range(count)])
    assert layout.data_offset % FILE_ALIGNMENT == 0
    assert json.loads(layout.header[8:])["__metadata__"] == {"format": "pt"}
    path = tmp_path / "block.safetensors"
    path.write_bytes(file_of(layout))
    with safe_open(path, "pt") as file:
        assert len([name for name in file.keys() if not name.startswith(PADDING_PREFIX)]) == count  # noqa: SIM118
