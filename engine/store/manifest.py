"""The manifest ``split.json``, format 1: what a split holds and where it came from. No torch, no weights.

Deterministic: the same source cut twice gives the same bytes, so it carries no time and no machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from engine.errors import DamagedFile

FORMAT = 1
MANIFEST_NAME = "split.json"
PROGRESS_FOLDER = ".progress"
WEIGHT_FOLDERS = ("blocks", "experts", "tables", "drafts")
FILE_ALIGNMENT = 4096
TENSOR_ALIGNMENT = 64


class SourceKind(StrEnum):
    """What was cut: safetensors shards, pickled shards, or a GGUF file."""

    SAFETENSORS = "safetensors"
    PICKLE = "pickle"
    GGUF = "gguf"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One weight file of the source as it was when it was cut. ``digest``: sha256 of its header or table."""

    name: str
    size: int
    mtime_ns: int
    digest: str


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """Where a split came from. ``revision`` is the hub's commit, or a digest of the local files."""

    kind: SourceKind
    path: str
    owner: str
    name: str
    revision: str
    files: tuple[SourceFile, ...]


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """One tensor of a block file: safetensors dtype name, shape, and its place in the file's data section."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class PackedTensor(TensorEntry):
    """An expert's parameter that its record holds packed: dtype, shape and place are those it has once it is expanded.

    ``offset`` is into the memory experts are expanded in. The record has its packed parts as NAME.values, NAME.scales.
    ``encoding`` is one of ``engine.weights.packed``.
    """

    encoding: str


@dataclass(frozen=True, slots=True)
class BlockEntry:
    """One block file. ``data_offset`` is a multiple of 4096; ``data_nbytes`` runs from there to the file's end.

    ``kind`` and ``module`` are those of ``engine.models.structure.BlockSpec``.
    """

    name: str
    kind: str
    module: str | None
    file: str
    size: int
    data_offset: int
    sha256: str
    tensors: tuple[TensorEntry, ...]

    @property
    def data_nbytes(self) -> int:
        return self.size - self.data_offset

    @property
    def weight_nbytes(self) -> int:
        return sum(tensor.nbytes for tensor in self.tensors)


@dataclass(frozen=True, slots=True)
class ExpertsEntry(BlockEntry):
    """One file of routed experts: ``count`` records of the same shape, ``stride`` bytes (whole pages) apart.

    ``module`` is the experts module; ``tensors`` are those of one record: the module's parameters by their own names
    ("gate_up_proj"), without their first dimension, at offsets into the record. ``routed`` of them serve one token.
    ``packed`` are the parameters that are stored packed: of those, ``tensors`` has the packed parts.
    """

    count: int
    stride: int
    routed: int
    packed: tuple[PackedTensor, ...] = ()

    @property
    def record_nbytes(self) -> int:
        """From a record's first byte to its last; up to ``stride`` there is padding."""
        return max(tensor.offset + tensor.nbytes for tensor in self.tensors)

    @property
    def weight_nbytes(self) -> int:
        return self.count * sum(tensor.nbytes for tensor in self.tensors)

    @property
    def expanded_nbytes(self) -> int:
        """Memory for one expert's packed parameters once they are expanded; 0 where nothing is packed."""
        return max((tensor.offset + tensor.nbytes for tensor in self.packed), default=0)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The experts module's own parameters, packed or not, by their own names."""
        plain = (tensor.name for tensor in self.tensors if "." not in tensor.name)
        return (*plain, *(tensor.name for tensor in self.packed))

    def parts_of(self, packed: PackedTensor) -> dict[str, str]:
        """A packed parameter's parts ("values", "scales"), each with its name in the record."""
        start = f"{packed.name}."
        return {t.name.removeprefix(start): t.name for t in self.tensors if t.name.startswith(start)}

    def record_offset(self, expert: int) -> int:
        """Where a record starts in the file."""
        return self.data_offset + expert * self.stride


@dataclass(frozen=True, slots=True)
class Manifest:
    """A whole split. ``dtype`` is torch's name for the model's main dtype ("bfloat16").

    ``aliases`` maps a tied tensor's other names to the stored one; ``untied`` are names the config ties
    but the checkpoint filled with other values; ``side_files`` (config, tokenizer…) map to their sha256.
    ``code`` is the digest of the Python files among the side files that the model runs with, "" for nearly all.
    ``experts`` are the files of routed experts, ``tables`` those of lookup matrices that stay on the disk, ``drafts``
    what the checkpoint has for proposing tokens, under its own names; their tensors are in no block. Splits made
    before have none.
    """

    model: str
    source: SourceRecord
    config_digest: str
    dtype: str
    quantisation: str | None
    architecture: str
    transformers_version: str
    layers_path: str
    embedding_path: str | None
    head_path: str | None
    aliases: Mapping[str, str]
    untied: tuple[str, ...]
    blocks: tuple[BlockEntry, ...]
    side_files: Mapping[str, str] = field(default_factory=dict[str, str])
    experts: tuple[ExpertsEntry, ...] = ()
    tables: tuple[BlockEntry, ...] = ()
    drafts: tuple[BlockEntry, ...] = ()
    code: str = ""
    format: int = FORMAT

    @property
    def files(self) -> tuple[BlockEntry, ...]:
        """Every weight file: the blocks, the experts, the tables, the drafts."""
        return (*self.blocks, *self.experts, *self.tables, *self.drafts)

    @property
    def weight_nbytes(self) -> int:
        return sum(entry.weight_nbytes for entry in self.files)

    def block(self, name: str) -> BlockEntry:
        return next(block for block in self.blocks if block.name == name)

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"


def manifest_from_json(text: str) -> Manifest:
    """Raises ``ValueError`` or ``KeyError`` on anything that is not a manifest of this format."""
    data: dict[str, Any] = json.loads(text)
    if data.get("format") != FORMAT:
        raise ValueError(f"manifest format {data.get('format')!r}, this engine reads {FORMAT}")
    source: dict[str, Any] = data["source"]
    source["kind"] = SourceKind(source["kind"])
    source["files"] = tuple(SourceFile(**entry) for entry in source["files"])
    data["source"] = SourceRecord(**source)
    data["blocks"] = tuple(block_from_dict(entry) for entry in data["blocks"])
    for name in ("experts", "tables", "drafts"):
        data[name] = tuple(block_from_dict(entry) for entry in data.get(name, ()))
    data["untied"] = tuple(data["untied"])
    return Manifest(**data)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a finished split. Raises ``DamagedFile`` where it is missing or unreadable."""
    path = folder / MANIFEST_NAME
    try:
        return manifest_from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedFile(
            f"The description of the model in {folder} cannot be read.",
            "Cut the model again from its original.",
            files=(MANIFEST_NAME,),
            detail=repr(error),
        ) from error


def block_from_dict(entry: dict[str, Any]) -> BlockEntry:
    """The inverse of ``asdict``, for blocks and experts. Raises ``KeyError`` or ``TypeError`` on anything else."""
    tensors: list[dict[str, Any]] = entry["tensors"]
    for tensor in tensors:
        tensor["shape"] = tuple(tensor["shape"])
    entry["tensors"] = tuple(TensorEntry(**tensor) for tensor in tensors)
    if "stride" not in entry:
        return BlockEntry(**entry)
    packed: list[dict[str, Any]] = entry.get("packed", [])
    for tensor in packed:
        tensor["shape"] = tuple(tensor["shape"])
    entry["packed"] = tuple(PackedTensor(**tensor) for tensor in packed)
    return ExpertsEntry(**entry)
