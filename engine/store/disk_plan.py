"""How much room a split takes: now, at its peak, afterwards. Pure: numbers in, numbers out.

Cutting is simulated in order: a block's file appears; with delete-original a shard disappears once every
block that needs it is there. Source and target may be on different drives; only what is freed on the
target's own drive makes room for the next block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

DEFAULT_FLOOR_BYTES = 2_000_000_000
"""Never fill a drive beyond this much free space: systems stop working before a drive is full."""


@dataclass(frozen=True, slots=True)
class BlockDemand:
    """A block's file size and the shards it is cut from."""

    name: str
    nbytes: int
    shards: frozenset[str]


@dataclass(frozen=True, slots=True)
class DiskPlan:
    """``order`` is that of cutting; ``last_use`` names the shards that are done with after each block.

    ``first_bytes`` must be free for the first block to be written; ``peak_bytes`` is the most the target's
    drive holds beyond today; ``after_bytes`` what it holds beyond today in the end (negative if less);
    ``written_bytes`` and ``freed_bytes`` are totals, wherever they are.
    """

    order: tuple[str, ...]
    last_use: Mapping[str, tuple[str, ...]]
    first_bytes: int
    peak_bytes: int
    after_bytes: int
    written_bytes: int
    freed_bytes: int


def plan_disk(
    blocks: Sequence[BlockDemand],
    shard_sizes: Mapping[str, int],
    *,
    delete_original: bool,
    is_same_drive: bool,
    other_bytes: int = 0,
) -> DiskPlan:
    """``blocks`` are those still to be cut, in the order of a pass; ``other_bytes`` the small files beside them.

    ``shard_sizes`` are the shards still there. Without delete-original nothing is freed and the order stays.
    """
    ordered = order_for_freeing(blocks) if delete_original else list(blocks)
    last_use = _last_use(ordered, shard_sizes) if delete_original else {}
    held = peak = other_bytes
    freed = 0
    for block in ordered:
        held += block.nbytes
        peak = max(peak, held)
        gone = sum(shard_sizes[shard] for shard in last_use.get(block.name, ()))
        freed += gone
        if is_same_drive:
            held -= gone
    return DiskPlan(
        order=tuple(block.name for block in ordered),
        last_use=last_use,
        first_bytes=other_bytes + (ordered[0].nbytes if ordered else 0),
        peak_bytes=peak,
        after_bytes=held,
        written_bytes=other_bytes + sum(block.nbytes for block in ordered),
        freed_bytes=freed,
    )


def order_for_freeing(blocks: Sequence[BlockDemand]) -> list[BlockDemand]:
    """The shard that the fewest bytes still wait for comes first, then its blocks in their given order."""
    left = list(blocks)
    ordered: list[BlockDemand] = []
    while left:
        waiting: dict[str, int] = {}
        for block in left:
            for shard in block.shards:
                waiting[shard] = waiting.get(shard, 0) + block.nbytes
        if not waiting:
            return ordered + left
        cheapest = min(waiting, key=lambda shard: (waiting[shard], shard))
        ordered += [block for block in left if cheapest in block.shards]
        left = [block for block in left if cheapest not in block.shards]
    return ordered


def _last_use(ordered: Sequence[BlockDemand], shard_sizes: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    last: dict[str, str] = {}
    for block in ordered:
        for shard in block.shards:
            last[shard] = block.name
    result: dict[str, tuple[str, ...]] = {}
    for shard in sorted(last):
        if shard in shard_sizes:
            result[last[shard]] = (*result.get(last[shard], ()), shard)
    return result
