"""The small files of a split: config, tokenizer, templates, licence. Copied as they are, or derived from a GGUF."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.store.file_digest import digest_small_file
from engine.store.manifest import Manifest, SourceKind
from engine.store.progress_journal import write_durably
from engine.store.source import Source

if TYPE_CHECKING:
    from engine.store.split_plan import SplitPlan


def write_side_files(plan: SplitPlan, folder: Path) -> dict[str, str]:
    """Writes them into the split and gives their sha256 by name. Raises ``OSError``, ``UnsupportedModel``."""
    source = plan.source
    if source.kind is SourceKind.GGUF:
        from engine.store.gguf import write_gguf_side_files

        names = write_gguf_side_files(plan.config, plan.architecture, source, folder)
    else:
        names = source.side_files
        for name in names:
            _copy(source, name, folder)
    return {name: digest_small_file(folder / name) for name in sorted(names)}


def refresh_side_files(source: Source, folder: Path, manifest: Manifest) -> Manifest | None:
    """Copies what is new beside unchanged weights (a corrected chat template) into a finished split.

    Returns the manifest to write, or None where nothing changed.
    """
    changed: dict[str, str] = {}
    for name in source.side_files:
        digest = digest_small_file(source.root / name)
        if manifest.side_files.get(name) != digest:
            _copy(source, name, folder)
            changed[name] = digest
    if not changed:
        return None
    return replace(manifest, side_files=dict(sorted((dict(manifest.side_files) | changed).items())))


def _copy(source: Source, name: str, folder: Path) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    write_durably(folder / name, (source.root / name).read_bytes())
