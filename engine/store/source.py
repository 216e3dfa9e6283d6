"""A model as it came: what it is called, where its weights are, which tensors they hold. No torch, no weights read."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.store.manifest import SourceFile, SourceKind, SourceRecord

STARTER = "starter"
LOCAL_OWNER = "local"
LOADED_WHOLE = -1
"""The ``offset`` of a tensor whose place in its file only torch knows (pickles from before torch 1.6)."""
_NAME_LIMIT = 96


@dataclass(frozen=True, slots=True)
class SourceTensor:
    """One tensor of a checkpoint. ``dtype`` is safetensors' name for it, or ggml's in a GGUF ("Q4_1").

    ``file`` is relative to the source's root; ``offset`` absolute in that file; ``shape`` in torch's order.
    ``strides`` (in elements) is None for a contiguous tensor, as all but a few pickled ones are.
    """

    file: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int
    strides: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A checkpoint that was recognised and found complete.

    ``config`` is the parsed config.json (empty for a GGUF, whose config transformers derives).
    ``tensors`` is empty for pickled weights: reading their table takes torch, see ``tensor_source``.
    ``side_files`` go into the split as they are. ``code`` is the digest of the Python files among them that the user
    allowed the model to run with, "" where none runs. ``is_deletable`` is False for files that are not the
    user's to delete (the starter's package).
    """

    record: SourceRecord
    config: Mapping[str, Any]
    tensors: Mapping[str, SourceTensor]
    side_files: tuple[str, ...]
    is_deletable: bool = True
    code: str = ""

    @property
    def kind(self) -> SourceKind:
        return self.record.kind

    @property
    def root(self) -> Path:
        """The folder that ``file`` names are relative to."""
        return root_of(self.record)

    @property
    def weight_nbytes(self) -> int:
        return sum(file.size for file in self.record.files)

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"


def source_from_json(text: str) -> Source:
    """Raises ``ValueError``, ``KeyError`` or ``TypeError`` on anything ``Source.to_json`` did not write."""
    data: dict[str, Any] = json.loads(text)
    record: dict[str, Any] = data["record"]
    record["kind"] = SourceKind(record["kind"])
    record["files"] = tuple(SourceFile(**file) for file in record["files"])
    tensors: dict[str, dict[str, Any]] = data["tensors"]
    for tensor in tensors.values():
        tensor["shape"] = tuple(tensor["shape"])
        tensor["strides"] = None if tensor["strides"] is None else tuple(tensor["strides"])
    return Source(
        record=SourceRecord(**record),
        config=data["config"],
        tensors={name: SourceTensor(**tensor) for name, tensor in tensors.items()},
        side_files=tuple(data["side_files"]),
        is_deletable=data["is_deletable"],
        code=data.get("code", ""),
    )


def root_of(record: SourceRecord) -> Path:
    """The folder that the names of a record's files are relative to."""
    path = Path(record.path)
    return path.parent if record.kind is SourceKind.GGUF else path


def describe_file(root: Path, name: str, digest: str) -> SourceFile:
    """``digest`` is the sha256 of the file's table. Follows links. Raises ``OSError``."""
    status = (root / name).stat()
    return SourceFile(name, status.st_size, status.st_mtime_ns, digest)


def digest_revision(config: bytes, files: Iterable[SourceFile], *, with_times: bool = True) -> str:
    """The revision of a checkpoint that has no commit: any change to its config or weight files changes it."""
    digest = hashlib.sha256(config)
    for file in files:
        entry = [file.name, file.size, file.mtime_ns if with_times else 0, file.digest]
        digest.update(json.dumps(entry).encode())
    return digest.hexdigest()[:40]


def is_from_hub(record: SourceRecord) -> bool:
    """Whether a hub has these weights under this revision, so that they can be had again."""
    is_named = record.owner != LOCAL_OWNER and re.fullmatch(r"[0-9a-f]{40}", record.revision) is not None
    return is_named and record.kind is SourceKind.SAFETENSORS


def is_same_source(old: SourceRecord, new: SourceRecord) -> bool:
    """Whether two readings describe the same weights. A commit names its contents, so times do not count there."""

    def identity(record: SourceRecord) -> Sequence[object]:
        return [record.kind, record.revision, *((file.name, file.size, file.digest) for file in record.files)]

    return identity(old) == identity(new)


def safe_name(text: str) -> str:
    """A part of a folder name that every file system takes: no separators, no ``--``, no trailing dot."""
    name = re.sub(r"[^A-Za-z0-9._]+", "-", text)
    name = re.sub(r"-{2,}", "-", name).strip("-. ")[:_NAME_LIMIT].rstrip("-. ")
    return name or "model"


def split_folder_name(record: SourceRecord) -> str:
    """``<owner>--<name>@<8 hex digits of the revision>``."""
    return f"{safe_name(record.owner)}--{safe_name(record.name)}@{record.revision[:8]}"
