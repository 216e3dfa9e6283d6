"""The tensor table of pickled weights (``.bin``, ``.pth``), read by torch with ``weights_only=True`` and no data.

A checkpoint that torch saved since 1.6 is a zip of plain storages: once the table says where each one starts,
its tensors are read like those of any other shard. Older files have to be loaded whole, shard by shard.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from engine.errors import SourceError, UnsupportedModel
from engine.store.file_format import DOWNLOAD_AGAIN
from engine.store.source import LOADED_WHOLE, Source, SourceTensor
from engine.weights.dtypes import DTYPE_NAMES


def with_pickle_table(source: Source) -> Source:
    """The same source with ``tensors`` filled. Raises ``SourceError`` naming a file that is damaged or wants code."""
    tensors: dict[str, SourceTensor] = {}
    for file in source.record.files:
        tensors |= _read_table(source.root / file.name, file.name)
    return replace(source, tensors=tensors)


def load_pickle(path: Path) -> dict[str, torch.Tensor]:
    """Everything in one file, in memory. For files older than torch 1.6 only. Raises ``SourceError``."""
    return _load(path)


def _read_table(path: Path, name: str) -> dict[str, SourceTensor]:
    # torch gives fake tensors whose storages know their place in the file (torch 2.13, torch.serialization).
    with FakeTensorMode():
        loaded = _load(path)
    table: dict[str, SourceTensor] = {}
    for key, tensor in loaded.items():
        if tensor.dtype not in DTYPE_NAMES:
            raise UnsupportedModel(
                f"{key} in {name} is stored as {tensor.dtype}, which Strata does not run.",
                "Choose another version of the model.",
            )
        start: int | None = getattr(tensor.untyped_storage(), "_checkpoint_offset", None)
        shape, strides = tuple(tensor.shape), tuple(tensor.stride())
        table[key] = SourceTensor(
            file=name,
            dtype=DTYPE_NAMES[tensor.dtype],
            shape=shape,
            offset=LOADED_WHOLE if start is None else start + int(tensor.storage_offset()) * tensor.dtype.itemsize,
            nbytes=_extent(shape, strides) * tensor.dtype.itemsize,
            strides=None if tensor.is_contiguous() else strides,
        )
    return table


def _extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Elements from the first to the last, however they are laid out."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def _load(path: Path) -> dict[str, torch.Tensor]:
    try:
        loaded: Any = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        # torch says only in words whether a pickle is broken or asks for something it must not have.
        if "GLOBAL" not in str(error) and "allowlisted" not in str(error):
            raise SourceError(f"{path.name} is damaged.", DOWNLOAD_AGAIN, detail=str(error)) from error
        raise SourceError(
            f"{path.name} wants to run code when it is opened, so it was not opened.",
            "Use a version of the model with safetensors files.",
            detail=str(error),
        ) from error
    except (RuntimeError, EOFError, ValueError, OSError) as error:
        raise SourceError(f"{path.name} is damaged.", DOWNLOAD_AGAIN, detail=repr(error)) from error
    if not isinstance(loaded, Mapping):
        raise SourceError(f"{path.name} holds no named tensors.", "Use a version with safetensors files.")
    tensors = {str(key): value for key, value in loaded.items() if isinstance(value, torch.Tensor)}
    if not tensors:
        raise SourceError(f"{path.name} holds no named tensors.", "Use a version with safetensors files.")
    return tensors
