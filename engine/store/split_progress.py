"""What an earlier run left of a split, as far as it can be gone on with. No torch."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from engine import __version__
from engine.store.disk_plan import BlockDemand
from engine.store.manifest import BlockEntry
from engine.store.progress_journal import BegunPart, ProgressJournal
from engine.store.source import Source, is_same_source

if TYPE_CHECKING:
    from engine.store.split_plan import BlockPlan, SplitPlan


def engine_id() -> str:
    """What a half-made split must have been made by to be gone on with: another version may convert differently."""
    return f"strata {__version__} transformers {importlib.metadata.version('transformers')}"


def can_resume(journal: ProgressJournal, source: Source) -> bool:
    """Whether what the journal tells of was cut from these very files by this very conversion.

    Once shards were deleted the blocks cut from them are the only copy, and are gone on with whoever cut them.
    """
    begun = journal.source()
    if begun is None or not is_same_source(begun.record, source.record):
        return False
    return journal.engine() == engine_id() or bool(journal.deleted())


def find_done_blocks(plan: SplitPlan, folder: Path) -> dict[str, BlockEntry]:
    """The blocks of an earlier run in ``folder`` that are exactly what the plan would cut."""
    journal = ProgressJournal(folder)
    plans = {block.spec.name: block for block in plan.blocks}
    return {
        name: entry
        for name, entry in (journal.done() if can_resume(journal, plan.source) else {}).items()
        if name in plans and entry.size == plans[name].layout.size and entry.tensors == plans[name].stored_tensors
    }


def find_begun_parts(plan: SplitPlan, folder: Path) -> dict[str, BegunPart]:
    """Of the blocks an earlier run in ``folder`` did not finish, what need not be cut again, by name.

    Its weight files are still there, so nothing is lost where another version begins them anew.
    """
    journal = ProgressJournal(folder)
    is_same = can_resume(journal, plan.source) and journal.engine() == engine_id()
    begun = journal.begun() if is_same else {}
    sizes = {block.spec.name: block.layout.size for block in plan.blocks if block.is_copied}
    return {name: part for name, part in begun.items() if part.nbytes < sizes.get(name, 0)}


def demand_of(block: BlockPlan, begun: Mapping[str, BegunPart]) -> BlockDemand:
    """What a block still takes on the drive, where part of its file may be there."""
    there = begun[block.spec.name].nbytes if block.spec.name in begun else 0
    return BlockDemand(block.spec.name, block.layout.size - there, block.source_files)
