"""The room a model takes that is cut while it arrives: now, at its peak, afterwards. Pure: numbers in, numbers out.

A shard arrives before the first block that needs it, and ``ahead`` more of them meanwhile; a block's file appears;
with delete a shard disappears after the last block that needs it. All of it on one drive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.store.disk_plan import BlockDemand, order_for_freeing


@dataclass(frozen=True, slots=True)
class SupplyPlan:
    """``order`` is that of the shards. Bytes count from an empty drive: what is there already is to be taken off.

    ``first_bytes`` are there when the first block is written, ``peak_bytes`` at the most, ``after_bytes`` in the end.
    """

    order: tuple[str, ...]
    first_bytes: int
    peak_bytes: int
    after_bytes: int


def plan_supply(
    blocks: Sequence[BlockDemand],
    shard_sizes: Mapping[str, int],
    *,
    deletes: bool,
    ahead: int,
    first: Iterable[str] = (),
    other_bytes: int = 0,
) -> SupplyPlan:
    """``blocks`` are those still to be cut; ``first`` are shards that are needed before any of them.

    Without ``deletes`` every shard stays, also those that no block needs.
    """
    ordered = order_for_freeing(blocks) if deletes else list(blocks)
    order = arrival_order(ordered, first)
    if not deletes:
        order += [name for name in sorted(shard_sizes) if name not in order]
    place = {name: index for index, name in enumerate(order)}
    last_use = {shard: number for number, block in enumerate(ordered) for shard in block.shards}
    arrived, here, written = 0, 0, other_bytes
    first_bytes = peak = written
    for number, block in enumerate(ordered):
        wanted = max((place[shard] + 1 for shard in block.shards), default=0) + ahead
        while arrived < min(wanted, len(order)):
            here += shard_sizes[order[arrived]]
            arrived += 1
        written += block.nbytes
        peak = max(peak, written + here)
        if number == 0:
            first_bytes = peak
        if deletes:
            here -= sum(shard_sizes[shard] for shard in block.shards if last_use[shard] == number)
    here += sum(shard_sizes[name] for name in order[arrived:])
    peak = max(peak, written + here)
    return SupplyPlan(tuple(order), first_bytes, peak, written if deletes else written + here)


def arrival_order(blocks: Sequence[BlockDemand], first: Iterable[str] = ()) -> list[str]:
    """The shards in the order in which cutting asks for them."""
    order = dict.fromkeys(sorted(first))
    for block in blocks:
        order |= dict.fromkeys(shard for shard in sorted(block.shards) if shard not in order)
    return list(order)
