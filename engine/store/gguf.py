"""GGUF files as checkpoints: the one place that touches transformers' GGUF internals.

transformers 5.24 has two loaders. The new one (``integrations/gguf``: Qwen3.5, LFM2) converts with the same
machinery as a safetensors checkpoint. The older one (``modeling_gguf_pytorch_utils``) dequantises a whole
file at once; here its name map and its per-architecture processors run on one tensor, or a few rows or
experts of it, at a time. ``tests/unit/engine/test_store_gguf.py`` compares both with a plain load.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from gguf import dequantize
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from transformers import (
    AutoConfig,
    AutoTokenizer,
    GgufConfig,
    PreTrainedConfig,
    PreTrainedModel,
    modeling_gguf_pytorch_utils,
)
from transformers.integrations.gguf.utils import is_gguf_arch_supported
from transformers.modeling_gguf_pytorch_utils import (
    TENSOR_PROCESSORS,
    TensorProcessor,
    get_gguf_hf_weights_map,
)
from transformers.quantizers.quantizer_gguf import GgufHfQuantizer

from engine.errors import UnsupportedModel
from engine.models.transformers_internals import LazyTensor, TensorShape
from engine.store.gguf_header import read_gguf_header
from engine.store.progress_journal import PROGRESS_FOLDER, write_durably
from engine.store.source import Source, SourceTensor
from engine.store.tensor_source import LazyRead, Piece, ShardReader, TensorSource, bytes_of, tensor_from
from engine.weights.dtypes import DTYPE_NAMES

log = logging.getLogger(__name__)

_FLOAT_TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
_PIECE_ELEMENTS = 4 << 20
"""Elements dequantised at a time: 16 MiB of float32 and as much again on the way."""
_TOKENIZER_PROBLEMS = (ValueError, TypeError, KeyError, AttributeError, IndexError, RuntimeError, ImportError, OSError)


def read_gguf_config(source: Source) -> PreTrainedConfig:
    """The config transformers derives from the file's metadata. Raises ``UnsupportedModel``."""
    path = _path(source)
    try:
        config = AutoConfig.from_pretrained(path.parent, gguf_file=path.name)
    except _TOKENIZER_PROBLEMS as error:
        raise UnsupportedModel(
            f"The metadata of {path.name} do not describe a model that transformers can build.",
            "Use another conversion of the model, or its version with safetensors files.",
            detail=repr(error),
        ) from error
    config.dtype = gguf_dtype(source)
    return config


def gguf_dtype(source: Source) -> torch.dtype:
    """bfloat16 for a file with quantised blocks, else the file's own float type.

    Dequantised blocks carry 8 bits of information at most: float32 would be twice the size for nothing.
    The float32 tensors beside half ones are norms, so the half type is the model's.
    """
    types = {tensor.dtype for tensor in source.tensors.values()}
    if not types <= set(_FLOAT_TYPES) or "BF16" in types:
        return torch.bfloat16
    return torch.float16 if "F16" in types else torch.float32


def open_gguf_tensors(source: Source, model: PreTrainedModel, dtype: torch.dtype) -> TensorSource:
    """The file's tensors under the keys that the right one of transformers' two loaders would convert."""
    architecture = read_gguf_header(_path(source)).text("general.architecture")
    if is_gguf_arch_supported(architecture):
        return PackedGgufTensors(source, model, dtype)
    return NamedGgufTensors(source, model, architecture)


def write_gguf_side_files(config: PreTrainedConfig, architecture: str, source: Source, folder: Path) -> list[str]:
    """config.json and the tokenizer with its chat template, as transformers derives them. Returns their names."""
    path = _path(source)
    workplace = folder / PROGRESS_FOLDER / "side"
    workplace.mkdir(parents=True, exist_ok=True)
    config.architectures = [architecture]
    config.save_pretrained(workplace)
    try:
        with _config_known(config):
            AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name).save_pretrained(workplace)
    except _TOKENIZER_PROBLEMS as error:
        raise UnsupportedModel(
            f"The tokenizer inside {path.name} is of a kind that transformers does not convert.",
            "Use another conversion of the model, or its version with safetensors files.",
            detail=repr(error),
        ) from error
    names = sorted(entry.name for entry in workplace.iterdir())
    for name in names:
        write_durably(folder / name, (workplace / name).read_bytes())
    return names


class PackedGgufTensors:
    """For the new loader: raw blocks under the file's own names; its conversion unpacks them. A ``TensorSource``."""

    def __init__(self, source: Source, model: PreTrainedModel, dtype: torch.dtype) -> None:
        self._table = source.tensors
        self._reader = ShardReader(source.root)
        quantizer = GgufHfQuantizer(GgufConfig(dequantize=True))
        quantizer.read_header(str(_path(source)))
        quantizer.update_dtype(dtype)
        quantizer.preprocess_model(model)
        self._quantizer = quantizer
        self._mapping: list[Any] = quantizer.update_weight_conversions([], model)

    @property
    def shapes(self) -> Mapping[str, TensorShape]:
        return {key: self._stored_shape(tensor) for key, tensor in self._table.items()}

    @property
    def weight_mapping(self) -> list[Any]:
        return self._mapping

    @property
    def quantizer(self) -> GgufHfQuantizer:
        return self._quantizer

    def files_of(self, key: str) -> frozenset[str]:
        return frozenset((self._table[key].file,))

    def load(self, key: str) -> LazyTensor:
        return LazyRead(lambda: self._read(key), DTYPE_NAMES[self._stored_shape(self._table[key]).dtype])

    def stream(self, key: str, dtype: torch.dtype, start: int = 0) -> Iterator[Piece]:
        yield Piece(bytes_of(self._read(key).to(dtype))[start:])

    def close(self) -> None:
        self._reader.close()

    def _read(self, key: str) -> torch.Tensor:
        tensor = self._table[key]
        shape = self._stored_shape(tensor)
        return tensor_from(self._reader.read(tensor.file, tensor.offset, tensor.nbytes), shape.dtype, shape.shape)

    def _stored_shape(self, tensor: SourceTensor) -> TensorShape:
        if tensor.dtype in _FLOAT_TYPES:
            return TensorShape(tensor.shape, _FLOAT_TYPES[tensor.dtype])
        return TensorShape((*tensor.shape[:-1], _row_bytes(tensor)), torch.uint8)


@dataclass(frozen=True, slots=True)
class _Recipe:
    """How one model tensor comes out of the file. ``by_rows``: a few rows or experts at a time give the same."""

    names: tuple[str, ...]
    shape: tuple[int, ...]
    by_rows: bool


class NamedGgufTensors:
    """For the older loader: dequantised tensors under the model's names. A ``TensorSource``."""

    def __init__(self, source: Source, model: PreTrainedModel, architecture: str) -> None:
        self._table = source.tensors
        self._reader = ShardReader(source.root)
        self._processor = TENSOR_PROCESSORS.get(architecture, TensorProcessor)(config=model.config.to_dict())
        with _name_map_built_once():
            self._names: dict[str, str] = get_gguf_hf_weights_map(model, self._processor)
        self._recipes = self._find_recipes()

    @property
    def shapes(self) -> Mapping[str, TensorShape]:
        return {key: TensorShape(recipe.shape, torch.float32) for key, recipe in self._recipes.items()}

    @property
    def weight_mapping(self) -> None:
        return None

    @property
    def quantizer(self) -> None:
        return None

    def files_of(self, key: str) -> frozenset[str]:
        return frozenset(self._table[name].file for name in self._recipes[key].names)

    def load(self, key: str) -> LazyTensor:
        rows = self._recipes[key].shape[0]
        return LazyRead(lambda: self._make(key, 0, rows), "F32")

    def stream(self, key: str, dtype: torch.dtype, start: int = 0) -> Iterator[Piece]:
        recipe = self._recipes[key]
        rows = recipe.shape[0]
        row_elements = int(np.prod(recipe.shape[1:], dtype=np.int64))
        step = max(1, _PIECE_ELEMENTS // max(1, row_elements)) if recipe.by_rows else rows
        skipped = start // (step * row_elements * dtype.itemsize) if start else 0
        start -= skipped * step * row_elements * dtype.itemsize
        for first in range(skipped * step, rows, step):
            yield Piece(bytes_of(self._make(key, first, min(rows, first + step)).to(dtype).contiguous())[start:])
            start = 0

    def close(self) -> None:
        self._reader.close()

    def _make(self, key: str, start: int, stop: int) -> torch.Tensor:
        """Rows ``start`` to ``stop`` of a model tensor, in float32."""
        recipe = self._recipes[key]
        made: dict[str, torch.Tensor] = {}
        for name in recipe.names:
            tensor = self._table[name]
            whole = (0, tensor.shape[0]) if not recipe.by_rows else (start, stop)
            made |= self._process(name, self._dequantise(tensor, *whole), made)
        return made[key]

    def _dequantise(self, tensor: SourceTensor, start: int, stop: int) -> np.ndarray[Any, Any]:
        row_nbytes = tensor.nbytes // tensor.shape[0]
        data = self._reader.read(tensor.file, tensor.offset + start * row_nbytes, (stop - start) * row_nbytes)
        raw = np.frombuffer(data, dtype=np.uint8).reshape(stop - start, *tensor.shape[1:-1], -1)
        if len(tensor.shape) == 1:
            raw = raw.reshape(-1)
        return dequantize(raw, GGMLQuantizationType[tensor.dtype])

    def _process(
        self, name: str, weights: np.ndarray[Any, Any], made: Mapping[str, torch.Tensor]
    ) -> dict[str, torch.Tensor]:
        """What the architecture's processor makes of one tensor, by model name; ``made`` is what it may add to."""
        parsed: dict[str, Any] = {"tensors": dict(made)}
        result = self._processor.process(
            weights=weights, name=name, tensor_key_mapping=self._names, parsed_parameters=parsed
        )
        if result.name in self._names:
            parsed["tensors"][self._names[result.name]] = torch.from_numpy(np.ascontiguousarray(result.weights))
        return parsed["tensors"]

    def _find_recipes(self) -> dict[str, _Recipe]:
        """Runs the processors on stand-ins without memory, to see names, shapes and what is only a copy."""
        parts: dict[str, list[str]] = {}
        shapes: dict[str, tuple[int, ...]] = {}
        by_rows: dict[str, bool] = {}
        unused: list[str] = []
        for name, tensor in self._table.items():
            # Three dimensions: experts first. One of them shows what happens to all.
            experts = tensor.shape[:1] if len(tensor.shape) == 3 else ()
            stand_in = np.broadcast_to(np.float32(-1), (1, *tensor.shape[1:]) if experts else tensor.shape)
            parsed: dict[str, Any] = {"tensors": {}}
            result = self._processor.process(
                weights=stand_in, name=name, tensor_key_mapping=self._names, parsed_parameters=parsed
            )
            made: dict[str, tuple[int, ...]] = {key: tuple(part.shape) for key, part in parsed["tensors"].items()}
            is_copy = result.weights is stand_in and not made
            if result.name in self._names:
                made[self._names[result.name]] = tuple(map(int, result.weights.shape))
            if not made:
                unused.append(name)
            for key, made_shape in made.items():
                parts.setdefault(key, []).append(name)
                shapes[key] = (*experts, *made_shape[1:]) if experts else made_shape
                by_rows[key] = by_rows.get(key, True) and (is_copy or bool(experts)) and len(tensor.shape) > 1
        if unused:
            log.info("not used by the model: %s", ", ".join(unused))
        return {key: _Recipe(tuple(parts[key]), shapes[key], by_rows[key]) for key in parts}


@contextmanager
def _config_known(config: PreTrainedConfig) -> Generator[None]:
    """Spares the tokenizer a second reading of all metadata for the model's config.

    Reading takes 2 s for 49,000 tokens and 7 s for 150,000 (gguf 0.19, whose reader slices a memmap per string).
    """
    original = modeling_gguf_pytorch_utils.load_gguf_checkpoint
    modeling_gguf_pytorch_utils.load_gguf_checkpoint = lambda *_, **__: {"config": config.to_dict()}
    try:
        yield
    finally:
        modeling_gguf_pytorch_utils.load_gguf_checkpoint = original


@contextmanager
def _name_map_built_once() -> Generator[None]:
    """transformers 5.24 builds the same name map again for every module of the model: 2 s instead of 10 ms."""
    original = gguf.get_tensor_name_map
    gguf.get_tensor_name_map = functools.cache(original)
    try:
        yield
    finally:
        gguf.get_tensor_name_map = original


def _row_bytes(tensor: SourceTensor) -> int:
    elements, nbytes = GGML_QUANT_SIZES[GGMLQuantizationType[tensor.dtype]]
    return tensor.shape[-1] // elements * nbytes


def _path(source: Source) -> Path:
    return Path(source.record.path)
