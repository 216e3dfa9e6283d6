"""Splits of random weights at real dimensions: written as the splitter lays them out, without a checkpoint to cut.

A layer of the largest models has 6 GB; a checkpoint of it beside its split, and the time to cut it, would be wasted.
So would be writing all of it: a large tensor begins with random numbers and is a hole in its file, zeros, from there.
"""

from __future__ import annotations

from pathlib import Path

import torch

from engine.store.manifest import MANIFEST_NAME, TensorEntry
from engine.store.side_files import write_side_files
from engine.store.split_plan import BlockPlan, SplitPlan
from engine.store.splitter import make_manifest
from engine.store.tensor_source import bytes_of
from engine.weights.dtypes import TORCH_DTYPES

PIECE_NUMBERS = 1 << 22


def write_random_split(plan: SplitPlan, folder: Path) -> Path:
    """Writes every block of ``plan`` into ``folder``. Its digests are empty: nothing was cut to compare with."""
    done = {}
    for number, block in enumerate(plan.blocks):
        path = folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_block(block, path, torch.Generator().manual_seed(number))
        done[block.spec.name] = block.entry(path.stat().st_size, "")
    manifest = make_manifest(plan, folder.name, done, write_side_files(plan, folder))
    (folder / MANIFEST_NAME).write_text(manifest.to_json())
    return folder


def _write_block(block: BlockPlan, path: Path, generator: torch.Generator) -> None:
    pieces: dict[tuple[str, bool], torch.Tensor] = {}
    with path.open("wb") as file:
        file.write(block.layout.header)
        for tensor in block.layout.tensors:
            is_scales = "scale" in tensor.name.rpartition(".")[2]
            key = tensor.dtype, is_scales
            if key not in pieces:
                pieces[key] = _numbers(tensor, generator, is_scales=is_scales)
            file.seek(block.layout.data_offset + tensor.offset)
            file.write(bytes_of(pieces[key])[: tensor.nbytes])
        file.truncate(block.layout.size)


def _numbers(tensor: TensorEntry, generator: torch.Generator, *, is_scales: bool) -> torch.Tensor:
    """Numbers that stay finite through a few layers; packed values are any bytes but NaN, their scales small."""
    dtype = TORCH_DTYPES[tensor.dtype]
    if not dtype.is_floating_point:
        low, high = (112, 118) if is_scales else (0, 256)
        return torch.randint(low, high, (PIECE_NUMBERS,), generator=generator).to(dtype)
    if dtype.itemsize == 1:
        codes = torch.randint(0, 0x7F, (PIECE_NUMBERS,), generator=generator)
        signs = torch.randint(0, 2, (PIECE_NUMBERS,), generator=generator) << 7
        return (codes | signs).to(torch.uint8).view(dtype)
    numbers = torch.randn(PIECE_NUMBERS, generator=generator)
    return (numbers.abs() * 2e-4 if is_scales else numbers * 0.02).to(dtype)
