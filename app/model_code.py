"""The Python code a model brings, as the user is asked about it. Plain: no Qt, no engine process."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import CodeNotAllowed


@dataclass(frozen=True, slots=True)
class ModelCode:
    """``files`` are names with their sizes in bytes; ``digest`` is that of all of them. ``model`` is "owner/name"."""

    model: str
    revision: str
    files: tuple[tuple[str, int], ...]
    digest: str


def code_of(error: CodeNotAllowed) -> ModelCode:
    return ModelCode(error.model, error.revision, tuple(zip(error.files, error.sizes, strict=True)), error.digest)


def read_code(row: object) -> ModelCode | None:
    """From a record as ``dataclasses.asdict`` and JSON leave it; None for one of another shape."""
    match row:
        case {"model": str(model), "revision": str(revision), "files": list(files), "digest": str(digest)}:
            try:
                return ModelCode(model, revision, tuple((str(name), int(size)) for name, size in files), digest)
            except (TypeError, ValueError):
                return None
        case _:
            return None
