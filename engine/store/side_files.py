"""The small files of a split: config, tokenizer, templates, licence. Copied as they are, or derived from a GGUF."""

from __future__ import annotations

from pathlib import Path

from engine.store.file_digest import digest_small_file
from engine.store.manifest import SourceKind
from engine.store.progress_journal import write_durably
from engine.store.split_plan import SplitPlan


def write_side_files(plan: SplitPlan, folder: Path) -> dict[str, str]:
    """Writes them into the split and gives their sha256 by name. Raises ``OSError``."""
    source = plan.source
    if source.kind is SourceKind.GGUF:
        from engine.store.gguf import write_gguf_side_files

        names = write_gguf_side_files(plan.config, plan.architecture, source, folder)
    else:
        names = source.side_files
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            write_durably(folder / name, (source.root / name).read_bytes())
    return {name: digest_small_file(folder / name) for name in sorted(names)}
