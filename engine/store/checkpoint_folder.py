"""A folder as a hub ships it, recognised by its contents: config, weights, the small files beside them. No torch."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

from engine.collection import collection_paused
from engine.errors import SourceError
from engine.store.checkpoint_config import read_config, require_supported, runs_with_code
from engine.store.download_folder import read_download_mark
from engine.store.hub_cache import snapshot_of
from engine.store.manifest import MANIFEST_NAME, SourceRecord
from engine.store.model_store import ModelStore
from engine.store.quantisation import find_quantisation
from engine.store.remote_code import allow_code, find_code, require_code_allowed
from engine.store.source import LOCAL_OWNER, Source, digest_revision
from engine.store.weight_files import find_weights, require_unpacked

_SIDE_FILES = (
    "config.json", "generation_config.json", "tokenizer*", "vocab*", "merges*", "special_tokens_map.json",
    "added_tokens.json", "chat_template*", "*preprocessor_config.json", "*processor_config.json",
    "*.model", "*.tiktoken", "LICENSE*", "LICENCE*", "NOTICE*", "USE_POLICY*",
)  # fmt: skip
_NEVER_SIDE_FILES = (
    "*.py", "*.pyc", "*.safetensors", "*.bin", "*.pt", "*.pth", "*.gguf", "*.onnx", "*.h5", "*.msgpack",
)  # fmt: skip
_EXTRA_TEMPLATES = "additional_chat_templates"


@collection_paused()
def open_folder(folder: Path, store: ModelStore | None = None, *, allows_code: bool = False) -> Source:
    """Raises ``SourceError`` or ``UnsupportedModel``; reads the config and the tables of the weight files only.

    Where the model needs Python code of its own: ``CodeNotAllowed``, unless the user has allowed it in ``store``.
    ``allows_code`` is the user's yes, which is remembered there.
    """
    if not any(folder.iterdir()):
        raise SourceError(f"{folder} is empty.", "Give the folder that holds config.json and the weight files.")
    if (folder / MANIFEST_NAME).is_file():
        raise SourceError(f"{folder} is a model that Strata has already cut.", "Use it as it is.")
    config, config_bytes = read_config(folder)
    code = find_code(folder, config) if store is not None and runs_with_code(config) else None
    require_supported(config, folder, allows_code=code is not None)
    weights = find_weights(folder)
    if find_quantisation(config) is None:
        require_unpacked(weights.tensors)
    snapshot = snapshot_of(folder) or read_download_mark(folder)
    record = SourceRecord(
        kind=weights.kind,
        path=str(folder),
        owner=snapshot.owner if snapshot else LOCAL_OWNER,
        name=snapshot.name if snapshot else folder.name,
        revision=snapshot.commit if snapshot else digest_revision(config_bytes, weights.files),
        files=weights.files,
    )
    if code is None:
        return Source(record, config, weights.tensors, find_side_files(folder))
    if allows_code and store is not None:
        allow_code(record, code, store)
    require_code_allowed(record, code, store, str(config["model_type"]))
    side_files = tuple(sorted((*find_side_files(folder), *code.files)))
    return Source(record, config, weights.tensors, side_files, code=code.digest)


def find_side_files(folder: Path) -> tuple[str, ...]:
    """Everything small that belongs to the model: config, tokenizer, templates, licence. Never code, never weights."""
    names = [entry.name for entry in folder.iterdir() if entry.is_file() and is_side_file(entry.name)]
    templates = folder / _EXTRA_TEMPLATES
    if templates.is_dir():
        names += [f"{_EXTRA_TEMPLATES}/{entry.name}" for entry in templates.glob("*.jinja") if entry.is_file()]
    return tuple(sorted(names))


def is_side_file(name: str) -> bool:
    """Whether a file of this name (with ``/`` between folder and file) goes into the split as it is."""
    if name.startswith(f"{_EXTRA_TEMPLATES}/"):
        return name.count("/") == 1 and name.endswith(".jinja")
    return (
        "/" not in name
        and any(fnmatch(name, pattern) for pattern in _SIDE_FILES)
        and not any(fnmatch(name, pattern) for pattern in _NEVER_SIDE_FILES)
    )
