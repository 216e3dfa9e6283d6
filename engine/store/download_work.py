"""What is still to do of a download, decided before a weight is fetched: which files, in which order, how much room.

Knows no network. Imports torch: the blocks of a model are known once it is built, empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.store.hub_model import RemoteModel
from engine.store.progress_journal import BegunPart, ProgressJournal
from engine.store.source_plan import plan_source
from engine.store.split_plan import BlockPlan, SplitPlan
from engine.store.split_progress import can_resume, demand_of, find_begun_parts, find_done_blocks
from engine.store.supply_plan import SupplyPlan, arrival_order, plan_supply

WHOLE = 1 << 30
"""So far ahead that nothing waits."""


@dataclass(frozen=True, slots=True)
class Work:
    """Names of files: ``small`` come before all others, ``first`` are weights that planning the split reads, ``order``
    is that of the weights still needed, ``past`` are those an earlier run has cut and deleted.

    ``plans`` has the room by how many files may arrive ahead, the most comfortable first.
    """

    small: tuple[str, ...]
    first: tuple[str, ...]
    order: tuple[str, ...]
    past: tuple[str, ...]
    plans: Mapping[int, SupplyPlan]


def plan_work(model: RemoteModel, split: Path, *, deletes: bool) -> Work:
    """For safetensors, cut while they arrive. Raises ``SourceError`` or ``UnsupportedModel``."""
    journal = ProgressJournal(split)
    is_resumed = can_resume(journal, model.source)
    plan = plan_source(model.source, untied=journal.untied() if is_resumed else frozenset())
    try:
        done = find_done_blocks(plan, split)
        left = [block for block in plan.blocks if block.spec.name not in done]
        first = frozenset[str]() if is_resumed else _files_of_ties(plan)
        begun = find_begun_parts(plan, split)
        plans = {
            ahead: plan_room(model, plan, left, deletes=deletes, ahead=ahead, first=first, begun=begun)
            for ahead in ((1, 0) if deletes else (WHOLE,))
        }
    finally:
        plan.tensors.close()
    order = next(iter(plans.values())).order
    needed = arrival_order([demand_of(block, {}) for block in plan.blocks])
    return Work(
        small=tuple(file.name for file in model.small_files),
        first=tuple(sorted(first)),
        order=order,
        past=tuple(name for name in needed if name not in order),
        plans=plans,
    )


def plan_whole_work(model: RemoteModel) -> Work:
    """For pickles, whose tables only whole files tell: all of them first, then the split about as big beside them."""
    names = tuple(file.name for file in model.weights)
    size = model.download_bytes
    return Work(
        small=tuple(file.name for file in model.small_files),
        first=names,
        order=names,
        past=(),
        plans={WHOLE: SupplyPlan(names, size, 2 * size, size)},
    )


def plan_room(
    model: RemoteModel,
    plan: SplitPlan,
    blocks: Iterable[BlockPlan],
    *,
    deletes: bool,
    ahead: int,
    first: Iterable[str] = (),
    begun: Mapping[str, BegunPart] | None = None,
) -> SupplyPlan:
    """The room that ``blocks`` and the weights they are cut from take; ``begun`` are there in part."""
    small = sum(file.size for file in model.small_files)
    tensors = sum(len(block.layout.tensors) for block in plan.blocks)
    return plan_supply(
        [demand_of(block, begun or {}) for block in blocks],
        {file.name: file.size for file in model.weights},
        deletes=deletes,
        ahead=ahead,
        first=first,
        # The small files twice, beside the weights and in the split; the manifest as in ``splitter.plan_space``.
        other_bytes=2 * small + 512 * tensors,
    )


def _files_of_ties(plan: SplitPlan) -> frozenset[str]:
    """Where the checkpoint has both names of a tied pair: whether they are equal is read before anything is cut."""
    converted = plan.conversion.plan(plan.tensors.shapes)
    groups = {target: group for group in converted.groups for target in group.targets}
    names = [
        name
        for alias, stored in plan.structure.aliases.items()
        if alias in converted.tensors and stored in converted.tensors
        for name in (alias, stored)
    ]
    return frozenset(file for name in names for key in groups[name].sources for file in plan.tensors.files_of(key))
