"""Which files of a checkpoint folder are its weights, and what tensors they hold. No torch.

Follows transformers' order (safetensors before pickle, single before sharded) and leaves every copy alone:
``original/``, ``consolidated*``, adapters, ONNX, TensorFlow and GGUF files beside the weights.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

from engine.errors import SourceError, UnsupportedModel
from engine.store.checkpoint_config import adapter_error
from engine.store.file_format import DOWNLOAD_AGAIN, FileFormat, require_format
from engine.store.manifest import SourceFile, SourceKind
from engine.store.quantisation import unsupported_quantisation
from engine.store.safetensors_header import read_safetensors_header
from engine.store.source import SourceTensor, describe_file

_SHARD_NAME = re.compile(r"(.+)-(\d{1,6})-of-(\d{1,6})\.(safetensors|bin|pth|pt)")
_NOT_WEIGHTS = (
    "consolidated*", "adapter_model*", "training_args.bin", "optimizer*", "scheduler*", "rng_state*", "scaler*",
    "random_states*",
)  # fmt: skip
_FOREIGN_WEIGHTS = ("*.h5", "*.msgpack", "*.onnx", "*.ot", "*.tflite", "*.mlmodel", "*.npz")
_QUANTISED_SUFFIXES = {".qweight": "gptq or awq", ".weight_packed": "compressed-tensors", ".absmax": "bitsandbytes"}


@dataclass(frozen=True, slots=True)
class WeightFiles:
    """The weights of a folder. ``tensors`` is empty for pickles, whose table only torch can read."""

    kind: SourceKind
    files: tuple[SourceFile, ...]
    tensors: dict[str, SourceTensor]


def find_weights(root: Path) -> WeightFiles:
    """Raises ``SourceError`` naming what is missing or damaged, ``UnsupportedModel`` for foreign formats."""
    names = sorted(entry.name for entry in root.iterdir())
    kind, files = choose_weight_files(root, names, lambda name: (root / name).is_file())
    return _read_safetensors(root, files) if kind is SourceKind.SAFETENSORS else _read_pickles(root, files)


def choose_weight_files(
    root: Path, names: Sequence[str], is_there: Callable[[str], bool]
) -> tuple[SourceKind, list[str]]:
    """Which files are the weights, judged by ``names`` and by the indexes in ``root``; the weights may be elsewhere.

    Raises ``SourceError`` naming what is missing, ``UnsupportedModel`` for foreign formats.
    """
    safetensors = _choose(root, names, "model.safetensors", ("*.safetensors",), is_there)
    if safetensors:
        return SourceKind.SAFETENSORS, safetensors
    pickles = _choose(root, names, "pytorch_model.bin", ("*.bin", "*.pth", "*.pt"), is_there)
    if pickles:
        return SourceKind.PICKLE, pickles
    raise _no_weights(root, names)


def _choose(
    root: Path, names: Sequence[str], single: str, patterns: Sequence[str], is_there: Callable[[str], bool]
) -> list[str]:
    """The weight files of one format: the usual single file, those of an index, or one unambiguous series."""
    if single in names:
        return [single]
    indexes = [name for name in names if any(fnmatch(name, f"{pattern}.index.json") for pattern in patterns)]
    indexes = [name for name in indexes if not fnmatch(name, "consolidated*")]
    if indexes:
        usual = f"{single}.index.json"
        return _shards_of_index(root, usual if usual in indexes else indexes[0], is_there)
    found = [
        name
        for name in names
        if any(fnmatch(name, pattern) for pattern in patterns)
        and not any(fnmatch(name, pattern) for pattern in _NOT_WEIGHTS)
    ]
    return _complete_series(root, found, is_there)


def _shards_of_index(root: Path, index: str, is_there: Callable[[str], bool]) -> list[str]:
    try:
        data: Any = json.loads((root / index).read_bytes())
        shards = sorted({str(shard) for shard in data["weight_map"].values()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError(f"{index} is damaged.", DOWNLOAD_AGAIN, detail=repr(error)) from error
    if not shards:
        raise SourceError(f"{index} names no weight files.", DOWNLOAD_AGAIN)
    for shard in shards:
        if PurePosixPath(shard).is_absolute() or ".." in PurePosixPath(shard).parts or "\\" in shard:
            raise SourceError(f"{index} points outside of its folder ({shard}).", "Do not use this model.")
    _require_all(root, shards, index, is_there)
    return shards


def _complete_series(root: Path, found: Sequence[str], is_there: Callable[[str], bool]) -> list[str]:
    """Files named ``x-00001-of-00003``, or the one file there is, where no index says which belong together."""
    matches = [match for name in found if (match := _SHARD_NAME.fullmatch(name))]
    if matches:
        stem, last, ending = matches[0][1], matches[0][3], matches[0][4]
        first = 0 if any(int(match[2]) == 0 for match in matches) else 1
        width = len(matches[0][2])
        series = [f"{stem}-{number:0{width}d}-of-{last}.{ending}" for number in range(first, int(last) + first)]
        _require_all(root, series, "their numbering", is_there)
        return series
    if len(found) > 1:
        raise SourceError(
            f"{root} holds several weight files ({', '.join(found[:3])}) and no index that says which belong together.",
            "Download the model again with its “.index.json” file, or keep only the files of one model.",
        )
    return list(found)


def _require_all(root: Path, shards: Sequence[str], known_from: str, is_there: Callable[[str], bool]) -> None:
    missing = [shard for shard in shards if not is_there(shard)]
    if missing:
        listed = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
        raise SourceError(
            f"{len(missing)} of {len(shards)} weight files are missing in {root}: {listed} (known from {known_from}).",
            "Download the missing files, then try again.",
        )


def _read_safetensors(root: Path, shards: Sequence[str]) -> WeightFiles:
    files: list[SourceFile] = []
    tensors: dict[str, SourceTensor] = {}
    for shard in shards:
        header = read_safetensors_header(root / shard)
        files.append(describe_file(root, shard, header.digest))
        for name, tensor in header.tensors.items():
            tensors[name] = SourceTensor(shard, tensor.dtype, tensor.shape, tensor.offset, tensor.nbytes)
    return WeightFiles(SourceKind.SAFETENSORS, tuple(files), tensors)


def require_unpacked(tensors: Mapping[str, SourceTensor]) -> None:
    """Raises ``UnsupportedModel`` for weights that are packed although their config says nothing of it."""
    for name, tensor in tensors.items():
        method = next((m for suffix, m in _QUANTISED_SUFFIXES.items() if name.endswith(suffix)), None)
        if method or tensor.dtype.startswith("F8_") or tensor.dtype == "F4":
            raise unsupported_quantisation(f"{method or tensor.dtype}, {name}")


def _read_pickles(root: Path, shards: Sequence[str]) -> WeightFiles:
    files: list[SourceFile] = []
    for shard in shards:
        require_format(root / shard, FileFormat.PICKLE)
        files.append(describe_file(root, shard, _digest_ends(root / shard)))
    return WeightFiles(SourceKind.PICKLE, tuple(files), {})


def _digest_ends(path: Path) -> str:
    """sha256 of a pickle's first and last 64 KiB: its object table and, in a zip, the checksums of all parts."""
    with path.open("rb") as file:
        digest = hashlib.sha256(file.read(1 << 16))
        file.seek(max(0, path.stat().st_size - (1 << 16)))
        digest.update(file.read(1 << 16))
    return digest.hexdigest()


def _no_weights(root: Path, names: Sequence[str]) -> SourceError | UnsupportedModel:
    if "adapter_config.json" in names:
        return adapter_error(root)
    foreign = [name for name in names if any(fnmatch(name, pattern) for pattern in _FOREIGN_WEIGHTS)]
    if foreign:
        return UnsupportedModel(
            f"The weights in {root} are in a format Strata does not read ({foreign[0]}).",
            "Use a version of the model with safetensors files.",
        )
    ggufs = [name for name in names if name.lower().endswith(".gguf")]
    if ggufs:
        return SourceError(
            f"The weights in {root} are GGUF files ({', '.join(ggufs[:3])}).", f"Give one of them: {root / ggufs[0]}"
        )
    if any(fnmatch(name, "consolidated*") for name in names):
        return SourceError(
            f"{root} holds its weights only in their maker's own format (consolidated…).",
            "Use the version of the model that was made for transformers.",
        )
    return SourceError(f"{root} holds no weight files.", "Download the model's .safetensors files into it.")
