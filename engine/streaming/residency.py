"""Which block lives in which tier, under budgets in bytes. Pure: sizes in, a frozen plan out.

A dense model is read in a cycle, so a least-recently-used cache of it never hits: a fixed set stays and the
rest streams. Streamed layers are spread evenly between resident ones, so that reading hides behind
computing. Embeddings that are only looked up cost a few rows a pass wherever they are, so they come last.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from engine.errors import BudgetTooSmall
from engine.quantities import format_size
from engine.streaming.hit_rate import expected_hit_rate
from engine.streaming.row_ranges import RowRange, divide_rows, round_to_page

SLOTS_WANTED = 3
"""One block in use and two being read: enough to keep a disk busy through one slow block."""

OUTLIER_RATIO = 1.1
"""A streamed block this much larger than the median layer gets slots of its own size."""


class Tier(StrEnum):
    DEVICE = "device"
    HOST = "host"
    DISK = "disk"


class Role(StrEnum):
    """ALWAYS: needed all the time. LOOKUP: rows only. ONCE: used whole, once in a pass, in order.

    TOWER: as ONCE, but only in passes with an image.
    """

    ALWAYS = "always"
    LOOKUP = "lookup"
    ONCE = "once"
    TOWER = "tower"

    @property
    def is_whole(self) -> bool:
        """Whether it has to pass through a slot where it does not stay."""
        return self in (Role.ONCE, Role.TOWER)


@dataclass(frozen=True, slots=True)
class BlockSize:
    """``is_layer`` blocks are spread evenly; the others (head, tower) are kept before them.

    ``rows`` of ``row_nbytes``: the block's one matrix, where it may be used in ranges of rows; 0 where not.
    """

    name: str
    role: Role
    nbytes: int
    is_layer: bool = False
    rows: int = 0
    row_nbytes: int = 0


@dataclass(frozen=True, slots=True)
class ExpertSizes:
    """All routed experts of a model: ``count`` records, each read into a slot of ``slot_nbytes``.

    ``floor_slots``: the most a single layer uses for one token. ``routed_slots``: what all layers together use.
    ``scratch_nbytes``: memory beside the slots, where packed experts are expanded one after the other; one of them
    takes ``expanded_nbytes`` then.
    """

    slot_nbytes: int
    count: int
    floor_slots: int
    routed_slots: int
    scratch_nbytes: int = 0
    expanded_nbytes: int = 0

    @property
    def floor_nbytes(self) -> int:
        """What one token needs of the device, however few experts are cached."""
        return self.floor_slots * self.slot_nbytes + self.scratch_nbytes


@dataclass(frozen=True, slots=True)
class ExpertSlots:
    """The expert caches: ``count`` slots on the device, ``host`` in main memory (none on a unified device).

    Everything read goes through those in main memory. ``floor``, ``total`` and ``routed`` count experts as
    ``ExpertSizes`` does, and ``expanded_nbytes`` is the same; ``scratch_nbytes`` is on the device too.
    """

    nbytes: int
    count: int
    host: int
    floor: int
    total: int
    routed: int
    scratch_nbytes: int = 0
    expanded_nbytes: int = 0

    @property
    def device_bytes(self) -> int:
        return self.nbytes * self.count + self.scratch_nbytes

    @property
    def cached(self) -> int:
        """Experts that are not read again. What is on the device is in main memory too, if there is room for it."""
        return max(self.count, self.host)

    @property
    def missed_bytes(self) -> float:
        """Bytes one token is expected to read."""
        return self.nbytes * self.routed * (1 - expected_hit_rate(self.cached / self.total))


@dataclass(frozen=True, slots=True)
class Budgets:
    """Bytes for weights and slots. On a unified device ``host_bytes`` is 0: there is one memory.

    ``cache_bytes`` were already taken off ``device_bytes`` for the KV cache; errors name the whole.
    """

    device_bytes: int
    host_bytes: int
    cache_bytes: int = 0


@dataclass(frozen=True, slots=True)
class SlotClass:
    """``count`` slots of ``nbytes`` each, and the streamed blocks that pass through them."""

    nbytes: int
    count: int
    blocks: frozenset[str]


@dataclass(frozen=True, slots=True)
class ResidencyPlan:
    """The tier of every block, the device slots, and how many host slots of each class read ahead.

    A token uses ``layers`` and other blocks, together ``used_bytes``. ``ranges`` are blocks too, in place of those they
    are ranges of.
    """

    tiers: tuple[tuple[str, Tier], ...]
    device_slots: tuple[SlotClass, ...]
    host_slot_counts: tuple[int, ...]
    device_bytes: int
    host_bytes: int
    streamed_bytes: int
    copied_bytes: int
    used_bytes: int
    layers: int
    experts: ExpertSlots | None = None
    ranges: tuple[RowRange, ...] = ()

    @property
    def fewest_slots(self) -> float:
        """Blocks that can be under way at once, at the least; without limit where none is streamed."""
        return min((slots.count for slots in self.device_slots), default=math.inf)

    def tier(self, name: str) -> Tier:
        return dict(self.tiers)[name]

    @property
    def slot_bytes(self) -> int:
        """Bytes of all slots on the device, those of the expert cache with them."""
        blocks = sum(slots.nbytes * slots.count for slots in self.device_slots)
        return blocks + (self.experts.device_bytes if self.experts else 0)

    @property
    def read_bytes(self) -> int:
        """What one token is expected to read from the disk: streamed blocks, and experts that are not cached."""
        return self.streamed_bytes + (round(self.experts.missed_bytes) if self.experts else 0)


def plan_residency(
    blocks: Sequence[BlockSize],
    budgets: Budgets,
    *,
    is_unified: bool,
    experts: ExpertSizes | None = None,
    lookahead: int = SLOTS_WANTED,
) -> ResidencyPlan:
    """Raises ``BudgetTooSmall`` when not even one block at a time fits. ``blocks`` are in pass order.

    With ``experts`` the blocks come first, since every pass uses all of them; then the expert cache gets what is
    left, which is never less than the experts one layer uses for one token. On a discrete device a head that is larger
    than every layer is divided, if more blocks can be under way at once then. The processor gets it whole: there the
    bits are those of the whole product.
    """
    divided, ranges = ([], ()) if is_unified else divide_head(blocks)
    if not ranges:
        return _plan_undivided(blocks, budgets, is_unified, experts, lookahead)
    whole: ResidencyPlan | None = None
    with contextlib.suppress(BudgetTooSmall):
        whole = _plan_undivided(blocks, budgets, is_unified, experts, lookahead)
        if whole.fewest_slots >= lookahead:
            return whole
    plan = replace(_plan_undivided(divided, budgets, is_unified, experts, lookahead), ranges=ranges)
    return plan if whole is None or plan.fewest_slots > whole.fewest_slots else whole


def divide_head(blocks: Sequence[BlockSize]) -> tuple[list[BlockSize], tuple[RowRange, ...]]:
    """The blocks with the head in ranges of rows no larger than a layer, if it is larger than every one of them."""
    layer = max((block.nbytes for block in blocks if block.role.is_whole and not block.rows), default=0)
    divided: list[BlockSize] = []
    ranges: tuple[RowRange, ...] = ()
    for block in blocks:
        is_large = block.rows > 0 and block.role is Role.ONCE and block.nbytes > layer
        parts = divide_rows(block.name, block.rows, block.row_nbytes, layer) if is_large else ()
        divided += [BlockSize(part.name, block.role, round_to_page(part.nbytes)) for part in parts] or [block]
        ranges += parts
    return divided, ranges


def _plan_undivided(
    blocks: Sequence[BlockSize], budgets: Budgets, is_unified: bool, experts: ExpertSizes | None, lookahead: int
) -> ResidencyPlan:
    _require_room(blocks, budgets, experts)
    if experts is not None:
        return _plan_beside_experts(blocks, budgets, is_unified, experts, lookahead)
    return _plan_blocks(blocks, budgets, is_unified, lookahead)


def _plan_beside_experts(
    blocks: Sequence[BlockSize], budgets: Budgets, is_unified: bool, experts: ExpertSizes, lookahead: int
) -> ResidencyPlan:
    if is_unified:
        return _plan_with_staging(blocks, budgets, is_unified, experts, 0, lookahead)
    if budgets.host_bytes < experts.slot_nbytes:
        raise _too_little_staging(budgets, experts)
    for staging in range(min(experts.floor_slots, budgets.host_bytes // experts.slot_nbytes), 1, -1):
        with contextlib.suppress(BudgetTooSmall):
            return _plan_with_staging(blocks, budgets, is_unified, experts, staging, lookahead)
    return _plan_with_staging(blocks, budgets, is_unified, experts, 1, lookahead)


def _plan_with_staging(
    blocks: Sequence[BlockSize],
    budgets: Budgets,
    is_unified: bool,
    experts: ExpertSizes,
    staging: int,
    lookahead: int,
) -> ResidencyPlan:
    """``staging`` host slots are for experts on their way to the device, taken off what blocks may use.

    What blocks leave of either memory is for experts that stay; where the device has room for all of them, none has to
    stay in main memory too.
    """
    rest = Budgets(
        budgets.device_bytes - experts.floor_nbytes,
        budgets.host_bytes - staging * experts.slot_nbytes,
        budgets.cache_bytes,
    )
    everything = sum(block.nbytes for block in blocks) + (experts.count - experts.floor_slots) * experts.slot_nbytes
    plan = _plan_for_tokens(blocks, rest, is_unified) if rest.device_bytes < everything else None
    plan = plan or _plan_blocks(blocks, rest, is_unified, lookahead)
    spare = rest.device_bytes - plan.device_bytes - plan.slot_bytes
    count = min(experts.floor_slots + spare // experts.slot_nbytes, experts.count)
    host_slots = sum(slots.nbytes * held for slots, held in zip(plan.device_slots, plan.host_slot_counts, strict=True))
    host_spare = rest.host_bytes - plan.host_bytes - host_slots
    host = staging
    if not is_unified and count < experts.count:
        host = min(staging + host_spare // experts.slot_nbytes, experts.count)
    slots = ExpertSlots(
        experts.slot_nbytes,
        count,
        host,
        experts.floor_slots,
        experts.count,
        experts.routed_slots,
        experts.scratch_nbytes,
        experts.expanded_nbytes,
    )
    return replace(plan, experts=slots)


def _plan_for_tokens(blocks: Sequence[BlockSize], budgets: Budgets, is_unified: bool) -> ResidencyPlan | None:
    """All that every token uses stays, and nothing else; None where that does not fit.

    An embedding that is only looked up costs a few rows a pass from anywhere, and a tower is read once for an image:
    a cached expert saves more than either.
    """
    kept = {block.name for block in blocks if block.role in (Role.ALWAYS, Role.ONCE)}
    towers = [block for block in blocks if block.role is Role.TOWER]
    slots = _assign_slots(towers, _slot_sizes(towers, 2, OUTLIER_RATIO)) or ()
    used = sum(block.nbytes for block in blocks if block.name in kept) + sum(s.nbytes * s.count for s in slots)
    if used > budgets.device_bytes:
        return None
    on_host, host_count = _choose_host(blocks, kept, slots, budgets.host_bytes, is_unified)
    return None if on_host is None else _plan_with(blocks, kept, on_host, slots, is_unified, host_count)


def _too_little_staging(budgets: Budgets, experts: ExpertSizes) -> BudgetTooSmall:
    return BudgetTooSmall(
        f"Reading the experts of this model needs {format_size(experts.slot_nbytes)} of main memory, and"
        f" {format_size(budgets.host_bytes)} are allowed.",
        "Allow more memory (--ram).",
        need=experts.slot_nbytes,
        have=budgets.host_bytes,
    )


def _plan_blocks(blocks: Sequence[BlockSize], budgets: Budgets, is_unified: bool, lookahead: int) -> ResidencyPlan:
    if sum(block.nbytes for block in blocks) <= budgets.device_bytes:
        return _plan_with(blocks, {block.name for block in blocks}, set(), (), is_unified, 0)
    one_size = float("inf")
    attempts = [(count, OUTLIER_RATIO) for count in range(lookahead, 1, -1)]
    attempts += [(2, one_size), (1, OUTLIER_RATIO), (1, one_size)]
    for count, outlier_ratio in attempts:
        plan = _plan_with_slots(blocks, budgets, is_unified, count, outlier_ratio)
        if plan is not None:
            return plan
    raise _too_small(blocks, budgets)


def _plan_with_slots(
    blocks: Sequence[BlockSize], budgets: Budgets, is_unified: bool, count: int, outlier_ratio: float
) -> ResidencyPlan | None:
    """Fills the device with ``count`` slots set aside, or None where they do not fit beside what must stay.

    Slots are sized for what streams, and what streams depends on the room the slots leave: a few rounds,
    starting from everything streaming, which always fits its own slots.
    """
    once = [block for block in blocks if block.role.is_whole]
    streamed = once
    found: tuple[set[str], tuple[SlotClass, ...]] | None = None
    for _ in range(6):
        sizes = _slot_sizes(streamed, count, outlier_ratio)
        room = budgets.device_bytes - sum(nbytes * slots for nbytes, slots in sizes)
        resident = _choose_resident(blocks, room)
        if resident is None:
            break
        now_streamed = [block for block in once if block.name not in resident]
        classes = _assign_slots(now_streamed, sizes)
        if classes is not None:
            found = _keep_instead_of_slots(resident, classes)
        if now_streamed == streamed:
            break
        streamed = now_streamed
    if found is None:
        return None
    resident, slots = _fill_what_is_left(blocks, *found, budgets.device_bytes)
    on_host, host_count = _choose_host(blocks, resident, slots, budgets.host_bytes, is_unified)
    if on_host is None:
        return None
    return _plan_with(blocks, resident, on_host, slots, is_unified, host_count)


def _choose_resident(blocks: Sequence[BlockSize], room: int) -> set[str] | None:
    """What must stay, then blocks used once (head before layers, layers evenly spread), then towers, then lookups."""
    kept: set[str] = set()
    for block in blocks:
        if block.role is Role.ALWAYS:
            room -= block.nbytes
            kept.add(block.name)
    if room < 0:
        return None
    for block in (b for b in blocks if b.role is Role.ONCE and not b.is_layer):
        if block.nbytes <= room:
            room -= block.nbytes
            kept.add(block.name)
    spread = _spread_evenly([b for b in blocks if b.is_layer], room)
    kept |= {block.name for block in spread}
    room -= sum(block.nbytes for block in spread)
    for role in (Role.TOWER, Role.LOOKUP):
        for block in (b for b in blocks if b.role is role):
            if block.nbytes <= room:
                room -= block.nbytes
                kept.add(block.name)
    return kept


def _spread_evenly(layers: Sequence[BlockSize], room: int) -> list[BlockSize]:
    """Layers for ``room`` bytes, evenly spread over the depth; what is left is filled where the gaps are widest."""
    total = sum(layer.nbytes for layer in layers)
    if not layers or room >= total:
        return list(layers)
    kept: set[int] = set()
    left = room
    # Error diffusion: every layer earns its share of the room, and stays once it has earned its size.
    credit = total / len(layers) / 2
    for index, layer in enumerate(layers):
        credit += layer.nbytes * room / total
        if credit >= layer.nbytes <= left:
            kept.add(index)
            credit -= layer.nbytes
            left -= layer.nbytes
    while fitting := [i for i, layer in enumerate(layers) if i not in kept and layer.nbytes <= left]:
        widest = max(fitting, key=lambda index: min((abs(index - other) for other in kept), default=0))
        kept.add(widest)
        left -= layers[widest].nbytes
    return [layers[index] for index in sorted(kept)]


def _slot_sizes(streamed: Sequence[BlockSize], count: int, outlier_ratio: float) -> tuple[tuple[int, int], ...]:
    """(bytes, number) of slots: for the usual size, and for the few blocks far above it."""
    if not streamed:
        return ()
    sizes = sorted(block.nbytes for block in streamed)
    usual = [size for size in sizes if size <= sizes[(len(sizes) - 1) // 2] * outlier_ratio]
    outliers = sizes[len(usual) :]
    return tuple((max(group), min(count, len(group))) for group in (usual, outliers) if group)


def _assign_slots(streamed: Sequence[BlockSize], sizes: Sequence[tuple[int, int]]) -> tuple[SlotClass, ...] | None:
    """Each block to the smallest slots it fits into; None where one fits into none."""
    blocks: dict[int, set[str]] = {}
    for block in streamed:
        fitting = [nbytes for nbytes, _ in sizes if block.nbytes <= nbytes]
        if not fitting:
            return None
        blocks.setdefault(min(fitting), set()).add(block.name)
    return tuple(SlotClass(nbytes, count, frozenset(blocks[nbytes])) for nbytes, count in sizes if nbytes in blocks)


def _keep_instead_of_slots(resident: set[str], classes: Sequence[SlotClass]) -> tuple[set[str], tuple[SlotClass, ...]]:
    """As many slots as blocks is the memory of those blocks, and keeping them needs no reading."""
    spare = [slots for slots in classes if slots.count >= len(slots.blocks)]
    kept = {name for slots in spare for name in slots.blocks}
    return resident | kept, tuple(slots for slots in classes if slots not in spare)


def _fill_what_is_left(
    blocks: Sequence[BlockSize], resident: set[str], classes: tuple[SlotClass, ...], device_bytes: int
) -> tuple[set[str], tuple[SlotClass, ...]]:
    """Keeps further streamed blocks while one fits beside what stays and the slots."""
    sizes = {block.name: block.nbytes for block in blocks}
    towers = {block.name for block in blocks if block.role is Role.TOWER}
    while True:
        left = device_bytes - sum(sizes[name] for name in resident)
        left -= sum(slots.nbytes * slots.count for slots in classes)
        fitting = [name for slots in classes for name in slots.blocks if sizes[name] <= left]
        if not fitting:
            return resident, classes
        kept = min(fitting, key=lambda name: (name in towers, -sizes[name], name))
        resident = resident | {kept}
        classes = tuple(replace(slots, blocks=slots.blocks - {kept}) for slots in classes if slots.blocks - {kept})
        resident, classes = _keep_instead_of_slots(resident, classes)


def _choose_host(
    blocks: Sequence[BlockSize],
    resident: set[str],
    slots: Sequence[SlotClass],
    host_bytes: int,
    is_unified: bool,
) -> tuple[set[str] | None, int]:
    """Blocks kept in host memory, and the host slots a class gets to read the rest into."""
    if is_unified:
        return set(), 0
    rest = [block for block in blocks if block.name not in resident]
    if sum(block.nbytes for block in rest) <= host_bytes:
        return {block.name for block in rest}, 0
    for count in range(SLOTS_WANTED, 0, -1):
        room = host_bytes - sum(slot.nbytes * min(count, len(slot.blocks)) for slot in slots)
        if room >= 0:
            kept = _choose_resident([b for b in rest if b.role is not Role.ALWAYS], room)
            return kept, count
    return None, 0


def _plan_with(
    blocks: Sequence[BlockSize],
    resident: set[str],
    on_host: set[str],
    slots: tuple[SlotClass, ...],
    is_unified: bool,
    host_count: int,
) -> ResidencyPlan:
    def tier(block: BlockSize) -> Tier:
        return Tier.DEVICE if block.name in resident else Tier.HOST if block.name in on_host else Tier.DISK

    tiers = tuple((block.name, tier(block)) for block in blocks)
    # A tower counts where it lies; what it moves and computes is an image's cost, not a token's.
    once = [block for block in blocks if block.role is Role.ONCE]
    away = [block for block in once if block.name not in resident]
    return ResidencyPlan(
        tiers=tiers,
        device_slots=slots,
        host_slot_counts=tuple(min(host_count, len(slot.blocks)) for slot in slots),
        device_bytes=sum(block.nbytes for block in blocks if block.name in resident),
        host_bytes=sum(block.nbytes for block in blocks if block.name in on_host),
        streamed_bytes=sum(block.nbytes for block in away if block.name not in on_host),
        copied_bytes=0 if is_unified else sum(block.nbytes for block in away),
        used_bytes=sum(block.nbytes for block in once),
        layers=sum(block.is_layer for block in once),
    )


def floor_bytes(blocks: Sequence[BlockSize], experts: ExpertSizes | None = None, *, is_unified: bool) -> int:
    """The least device budget that runs the model: what always stays, the largest block that passes through, and one
    token's experts of one layer.
    """
    divided = list(blocks) if is_unified else divide_head(blocks)[0]
    return _floor(divided) + (experts.floor_nbytes if experts else 0)


def require_room(
    blocks: Sequence[BlockSize], budgets: Budgets, experts: ExpertSizes | None = None, *, is_unified: bool
) -> None:
    """Raises ``BudgetTooSmall`` when not even one block at a time fits, and one token's experts of one layer."""
    _require_room(list(blocks) if is_unified else divide_head(blocks)[0], budgets, experts)


def _require_room(blocks: Sequence[BlockSize], budgets: Budgets, experts: ExpertSizes | None) -> None:
    routed = experts.floor_nbytes if experts else 0
    if budgets.device_bytes < _floor(blocks) + routed:
        raise _too_small(blocks, budgets, routed)


def _floor(blocks: Sequence[BlockSize]) -> int:
    """Bytes without which nothing runs: what always stays, and the largest block that passes through."""
    always = sum(block.nbytes for block in blocks if block.role is Role.ALWAYS)
    return always + max((block.nbytes for block in blocks if block.role.is_whole), default=0)


def _too_small(blocks: Sequence[BlockSize], budgets: Budgets, routed_bytes: int = 0) -> BudgetTooSmall:
    need = _floor(blocks) + routed_bytes
    if budgets.device_bytes >= need:
        return BudgetTooSmall(
            f"Reading this model ahead needs {format_size(need)} of main memory, and {format_size(budgets.host_bytes)}"
            " are allowed.",
            "Allow more memory (--ram).",
            need=need,
            have=budgets.host_bytes,
        )
    need, have = need + budgets.cache_bytes, budgets.device_bytes + budgets.cache_bytes
    if routed_bytes and budgets.cache_bytes:
        parts = "One block of this model, the experts one token uses and its conversation need"
    elif routed_bytes:
        parts = "One block of this model and the experts one token uses need"
    elif budgets.cache_bytes:
        parts = "One block of this model and its conversation need"
    else:
        parts = "One block of this model needs"
    return BudgetTooSmall(
        f"{parts} {format_size(need)} of memory; {format_size(have)} are allowed.",
        "Allow more memory (--vram, or --ram without a graphics card), a shorter --context, or choose a smaller model.",
        need=need,
        have=have,
    )
