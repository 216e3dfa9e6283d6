"""What a repository on the hub would be as a source, learnt from its small files and the heads of its weights.

Everything that can be refused is refused here, from less than 1 MB where the config tells, before a weight is
fetched. No torch.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from engine.errors import EngineError, SourceError
from engine.store.checkpoint_config import CONFIG_NAME, read_config, require_supported, runs_with_code
from engine.store.checkpoint_folder import is_side_file
from engine.store.file_format import FileFormat, recognise
from engine.store.hub import HubClient, HubFile, HubRepo
from engine.store.manifest import SourceFile, SourceKind, SourceRecord
from engine.store.model_store import ModelStore
from engine.store.quantisation import find_quantisation
from engine.store.remote_code import NO_CODE, RemoteCode, find_code, require_code_allowed
from engine.store.safetensors_header import MAX_HEADER_BYTES, parse_safetensors_header
from engine.store.source import Source, SourceTensor
from engine.store.weight_files import choose_weight_files, require_unpacked

_READ_FIRST = (CONFIG_NAME, "adapter_config.json")
_TELLING_NAMES = ("model_index.json", "params.json", "quantize_config.json", "quant_config.json")
"""Files whose presence alone says something."""
_INDEXES = ("*.safetensors.index.json", "*.bin.index.json")
_HEAD_GUESS_BYTES = 256 << 10


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A model on the hub that can be downloaded and cut.

    ``source`` has its tensor table where the weights are safetensors; its path is the folder ``learn`` was given.
    ``heads`` are the first bytes of files, by name: those of the weights, and small files as a whole.
    """

    repo: HubRepo
    kind: SourceKind
    source: Source
    weights: tuple[HubFile, ...]
    small_files: tuple[HubFile, ...]
    heads: Mapping[str, bytes]

    @property
    def download_bytes(self) -> int:
        return sum(file.size for file in (*self.weights, *self.small_files))

    @property
    def files(self) -> dict[str, HubFile]:
        """The small ones first."""
        return {file.name: file for file in (*self.small_files, *self.weights)}

    def source_at(self, folder: Path) -> Source:
        """The source as it will be, downloaded into ``folder``."""
        return replace(self.source, record=replace(self.source.record, path=str(folder)))


def learn_model(
    hub: HubClient,
    repo: HubRepo,
    folder: Path,
    tell: Callable[[int, int, str], None] = lambda *_: None,
    *,
    store: ModelStore | None = None,
    known: dict[str, bytes] | None = None,
) -> RemoteModel:
    """Writes the telling small files into the empty ``folder``, and reads those and the heads of the weights.

    ``tell`` gets the number, the count and the name of each weight file whose head is about to be read. ``known`` is
    what an earlier call has read of this very commit; what is read now is added to it. A model that needs Python code
    of its own is refused with ``CodeNotAllowed`` unless the user has allowed that code in ``store``.

    Raises ``SourceError``, ``UnsupportedModel``, ``HubError``.
    """
    known = {} if known is None else known
    names = sorted(file.name for file in repo.files if _is_safe(file.name))
    config = _read_config(hub, repo, names, folder, known, allows_code=store is not None)
    code = _learn_code(hub, repo, names, config, folder, known, store)
    indexes = [name for name in names if _is_index(name)]
    _fetch(hub, repo, indexes, folder, known)
    with _named_for(repo, folder):
        top_level = [name for name in names if "/" not in name]
        kind, weight_names = choose_weight_files(folder, top_level, set(names).__contains__)
    weights = [repo.file(name) for name in weight_names]
    side_files = [name for name in names if is_side_file(name) or name in code.files]
    small_files = [repo.file(name) for name in names if name in side_files or _is_used_index(name, kind)]
    # What is here already is not asked for again.
    heads = {name: (folder / name).read_bytes() for name in (CONFIG_NAME, *indexes, *code.files)}
    if kind is SourceKind.SAFETENSORS:
        for number, file in enumerate(weights, start=1):
            if file.name not in known:
                tell(number, len(weights), file.name)
                known[file.name] = _read_head(hub, repo, file)
            heads[file.name] = known[file.name]
    return RemoteModel(
        repo=repo,
        kind=kind,
        source=replace(
            _describe_source(repo, kind, config, weights, heads, folder),
            side_files=tuple(side_files),
            code=code.digest,
        ),
        weights=tuple(weights),
        small_files=tuple(small_files),
        heads=heads,
    )


def _read_config(
    hub: HubClient, repo: HubRepo, names: list[str], folder: Path, known: dict[str, bytes], *, allows_code: bool
) -> dict[str, Any]:
    _fetch(hub, repo, [name for name in _READ_FIRST if name in names], folder, known)
    for name in _TELLING_NAMES:
        if name in names:
            (folder / name).touch()
    with _named_for(repo, folder):
        ggufs = [name for name in names if name.lower().endswith(".gguf")]
        if ggufs and not any(fnmatch(name, "*.safetensors") or fnmatch(name, "*.bin") for name in names):
            raise SourceError(
                f"{repo.title} holds its weights as GGUF files only.",
                "Choose the original of the model, with safetensors files; or download one of these files with your "
                "browser and give it.",
            )
        config, _ = read_config(folder)
        require_supported(config, folder, allows_code=allows_code)
    return config


def _learn_code(
    hub: HubClient,
    repo: HubRepo,
    names: list[str],
    config: dict[str, Any],
    folder: Path,
    known: dict[str, bytes],
    store: ModelStore | None,
) -> RemoteCode:
    """The Python files, for a model that only they know; none for every other. Raises ``CodeNotAllowed``."""
    if store is None or not runs_with_code(config):
        return NO_CODE
    _fetch(hub, repo, [name for name in names if name.endswith(".py") and "/" not in name], folder, known)
    with _named_for(repo, folder):
        code = find_code(folder, config)
    record = SourceRecord(SourceKind.SAFETENSORS, str(folder), repo.owner, repo.name, repo.commit, ())
    require_code_allowed(record, code, store, str(config["model_type"]))
    return code


def _fetch(hub: HubClient, repo: HubRepo, names: list[str], folder: Path, known: dict[str, bytes]) -> None:
    for name in names:
        if name not in known:
            known[name] = hub.read_small(repo, repo.file(name))
        (folder / name).write_bytes(known[name])


def _read_head(hub: HubClient, repo: HubRepo, file: HubFile) -> bytes:
    """A safetensors file up to the end of its header, sometimes a little more. Raises ``SourceError``."""
    # Nearly every header fits. What is read too much is the file's beginning, which is not fetched again.
    guess = min(file.size, max(8, min(_HEAD_GUESS_BYTES, file.size // 100)))
    head = hub.read_range(repo, file, 0, guess)
    length = int.from_bytes(head[:8], "little")
    found = recognise(head[:8] + b"{" if len(head) == 8 else head)
    if found is not FileFormat.SAFETENSORS or not 0 < length <= min(MAX_HEADER_BYTES, file.size - 8):
        raise SourceError(
            f"{file.name} of {repo.title} is not a safetensors file, although it is called one.",
            "Choose another revision of the model, or another model.",
            detail=f"first bytes {head[:32]!r}",
        )
    if len(head) < 8 + length:
        head += hub.read_range(repo, file, len(head), 8 + length)
    return head


def _describe_source(
    repo: HubRepo,
    kind: SourceKind,
    config: dict[str, Any],
    weights: list[HubFile],
    heads: Mapping[str, bytes],
    folder: Path,
) -> Source:
    files: list[SourceFile] = []
    tensors: dict[str, SourceTensor] = {}
    for file in weights if kind is SourceKind.SAFETENSORS else []:
        head = heads[file.name]
        header = parse_safetensors_header(file.name, head[8 : 8 + int.from_bytes(head[:8], "little")], file.size)
        files.append(SourceFile(file.name, file.size, repo.modified_ns, header.digest))
        for name, tensor in header.tensors.items():
            tensors[name] = SourceTensor(file.name, tensor.dtype, tensor.shape, tensor.offset, tensor.nbytes)
    if find_quantisation(config) is None:
        require_unpacked(tensors)
    record = SourceRecord(kind, str(folder), repo.owner, repo.name, repo.commit, tuple(files))
    return Source(record, config, tensors, ())


def _is_index(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in _INDEXES) and "/" not in name


def _is_used_index(name: str, kind: SourceKind) -> bool:
    ending = _INDEXES[0] if kind is SourceKind.SAFETENSORS else _INDEXES[1]
    return "/" not in name and fnmatch(name, ending) and not fnmatch(name, "consolidated*")


def _is_safe(name: str) -> bool:
    """Whether a name stays inside a folder on every system."""
    parts = name.split("/")
    return not any(part in ("", ".", "..") or part.startswith(".") or "\\" in part or ":" in part for part in parts)


@contextmanager
def _named_for(repo: HubRepo, folder: Path) -> Generator[None]:
    """The checks speak of the folder they look into; the user knows the repository."""
    try:
        yield
    except EngineError as error:
        error.message = error.message.replace(str(folder), repo.title)
        error.next_step = error.next_step.replace(str(folder), repo.title)
        raise
