"""Models that other programs left on this computer: the hub's cache and LM Studio's folder. No Qt, no network.

Reads names and sizes only, a few levels deep. Whether the engine can run what is found is for ``Engine.plan`` to say.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_MOST_FOUND = 60
_REPO_PREFIX = "models--"
_WEIGHT_SUFFIXES = (".safetensors", ".bin", ".pth")


@dataclass(frozen=True, slots=True)
class FoundModel:
    """``source`` is what ``Engine.plan`` takes; ``place`` is the folder or file itself."""

    source: str
    title: str
    nbytes: int
    place: Path


def find_models(environment: Mapping[str, str], home: Path) -> list[FoundModel]:
    """By title. Folders that cannot be read are passed over."""
    found = {model.source: model for folder in hub_folders(environment, home) for model in _in_hub_cache(folder)}
    found |= {model.source: model for folder in gguf_folders(home) for model in _gguf_files(folder)}
    return sorted(found.values(), key=lambda model: model.title.casefold())[:_MOST_FOUND]


def hub_folders(environment: Mapping[str, str], home: Path) -> list[Path]:
    """Where huggingface_hub keeps what it downloads: its variables first, then its default."""
    if given := environment.get("HF_HUB_CACHE"):
        return [Path(given).expanduser()]
    if given := environment.get("HF_HOME"):
        return [Path(given).expanduser() / "hub"]
    cache = environment.get("XDG_CACHE_HOME")
    return [(Path(cache) if cache else home / ".cache") / "huggingface" / "hub"]


def gguf_folders(home: Path) -> list[Path]:
    """LM Studio's folder, now and before 2025."""
    return [home / ".lmstudio" / "models", home / ".cache" / "lm-studio" / "models"]


def _in_hub_cache(folder: Path) -> Iterator[FoundModel]:
    for repo in _entries(folder):
        if not repo.name.startswith(_REPO_PREFIX) or not repo.is_dir():
            continue
        nbytes = max((_weights_in(snapshot) for snapshot in _entries(repo / "snapshots")), default=0)
        if nbytes:
            title = repo.name.removeprefix(_REPO_PREFIX).replace("--", "/")
            yield FoundModel(str(repo), title, nbytes, repo)


def _weights_in(snapshot: Path) -> int:
    """Bytes of the weights of one cached revision; 0 unless it has a config and whole weight files."""
    files = _entries(snapshot)
    if not any(file.name == "config.json" for file in files):
        return 0
    weights = [file for file in files if file.suffix == ".safetensors"]
    weights = weights or [file for file in files if file.suffix in _WEIGHT_SUFFIXES]
    return sum(_size(file) for file in weights)


def _gguf_files(folder: Path) -> Iterator[FoundModel]:
    """``publisher/model/file.gguf``. Projectors of vision models and parts of a model are no models."""
    for publisher in _entries(folder):
        for model in _entries(publisher):
            for file in _entries(model):
                is_part = "-of-0" in file.name or file.name.startswith("mmproj")
                if file.suffix == ".gguf" and not is_part and (nbytes := _size(file)):
                    yield FoundModel(str(file), file.stem, nbytes, file)


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(Path(entry.path) for entry in os.scandir(folder))
    except OSError:
        return []


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
