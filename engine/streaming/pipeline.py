"""Blocks through slots: reading ahead of the compute by as many slots as there are, around the end of a pass.

Owns the slots and the order of events. It predicts that blocks are wanted in the same order every pass,
learns the order from the first one, and starts over from the wanted block where the prediction fails. Passes with
images have an order of their own. Knows bytes, not tensors.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from engine.backends.base import Backend, DeviceSlot, HostBuffer
from engine.weights.direct_io import ReadHandle
from engine.weights.reader import Reader, ReadTicket

WAIT_STEP_S = 0.2
"""How often a wait for the disk looks up: to show progress inside a block, and to be cancelled."""


@dataclass(frozen=True, slots=True, eq=False)
class StreamedBlock:
    """One block that passes through slots: its bytes in a file, or all of them in host memory.

    ``is_tower``: only passes with images want it.
    """

    name: str
    slot_class: int
    handle: ReadHandle
    offset: int
    nbytes: int
    host: HostBuffer | None = None
    is_tower: bool = False


WaitObserver = Callable[[StreamedBlock, ReadTicket], None]
SlotT = TypeVar("SlotT")


class SlotRing(Generic[SlotT]):
    """Slots taken and given back in the same order."""

    def __init__(self, slots: Sequence[SlotT]) -> None:
        self._slots = slots
        self._taken = 0
        self._returned = 0

    @property
    def has_free(self) -> bool:
        return self._taken - self._returned < len(self._slots)

    def take(self) -> SlotT:
        slot = self._slots[self._taken % len(self._slots)]
        self._taken += 1
        return slot

    def give_back(self) -> None:
        self._returned += 1

    def reset(self) -> None:
        self._taken = self._returned = 0


class Pipeline(Protocol):
    """``acquire`` and ``release`` alternate, from the compute thread, between ``begin_pass`` and ``end_pass``."""

    mispredictions: int

    def begin_pass(self, *, with_images: bool = False) -> None: ...

    def acquire(self, block: StreamedBlock, on_wait: WaitObserver) -> DeviceSlot:
        """Device memory holding the block, once it is there. Raises ``OSError`` from the disk."""
        ...

    def release(self) -> None: ...

    def end_pass(self) -> None: ...

    def abort(self) -> None:
        """Gives every slot back after a pass that did not end; the next one starts clean."""
        ...


class VisitOrder:
    """The predicted order of a pass, and the one just seen."""

    def __init__(self, blocks: Sequence[StreamedBlock]) -> None:
        self._predicted = list(blocks)
        self._seen: list[StreamedBlock] = []
        self._next = 0

    def peek(self) -> StreamedBlock | None:
        """The next block; None where no block is expected at all."""
        return self._predicted[self._next % len(self._predicted)] if self._predicted else None

    def advance(self) -> None:
        self._next += 1

    def jump_to(self, block: StreamedBlock) -> None:
        """Continues the prediction from ``block``; a block outside it is put in where we are."""
        if block not in self._predicted:
            self._predicted.insert(self._next % max(len(self._predicted), 1), block)
        self._next = self._predicted.index(block)

    def rewind(self) -> None:
        self._next = 0

    def begin(self) -> None:
        self._seen.clear()

    def saw(self, block: StreamedBlock) -> None:
        self._seen.append(block)

    def learn(self) -> bool:
        """Takes the order just seen as the prediction; True where that changed it."""
        if not self._seen or self._seen == self._predicted:
            return False
        self._predicted = list(self._seen)
        return True


class _Orders:
    """One order for passes over text, one for those with images; ``now`` is the one that is followed."""

    def __init__(self, blocks: Sequence[StreamedBlock]) -> None:
        self._text = VisitOrder([block for block in blocks if not block.is_tower])
        self._images = VisitOrder(blocks)
        self.now = self._text

    def choose(self, *, with_images: bool) -> bool:
        """Has an order followed from its start; True where that changed it."""
        chosen = self._images if with_images else self._text
        is_other = chosen is not self.now
        if is_other:
            self.now = chosen
            chosen.rewind()
        return is_other


@dataclass(slots=True)
class _Arriving:
    block: StreamedBlock
    slot: HostBuffer
    ticket: ReadTicket


class UnifiedPipeline:
    """For a device that computes where the readers write: the slots are both."""

    def __init__(
        self, backend: Backend, reader: Reader, blocks: Sequence[StreamedBlock], slot_sizes: Sequence[tuple[int, int]]
    ) -> None:
        self._reader = reader
        self._orders = _Orders(blocks)
        buffers = [[backend.allocate_host(nbytes) for _ in range(count)] for nbytes, count in slot_sizes]
        self._rings = [SlotRing(slots) for slots in buffers]
        self._device_slots = {id(b): DeviceSlot(b.tensor) for slots in buffers for b in slots}
        self._arriving: deque[_Arriving] = deque()
        self.mispredictions = 0

    def begin_pass(self, *, with_images: bool = False) -> None:
        if self._orders.choose(with_images=with_images):
            self._drain()
        self._orders.now.begin()
        self._read_ahead()

    def acquire(self, block: StreamedBlock, on_wait: WaitObserver) -> DeviceSlot:
        if not self._arriving or self._arriving[0].block is not block:
            self.mispredictions += bool(self._arriving)
            self._drain()
            self._orders.now.jump_to(block)
            self._read_ahead()
        arriving = self._arriving[0]
        self._orders.now.saw(block)
        while not arriving.ticket.wait(WAIT_STEP_S):
            on_wait(block, arriving.ticket)
        return self._device_slots[id(arriving.slot)]

    def release(self) -> None:
        done = self._arriving.popleft()
        self._rings[done.block.slot_class].give_back()
        self._read_ahead()

    def end_pass(self) -> None:
        if self._orders.now.learn():
            self.abort()

    def abort(self) -> None:
        self._drain()
        self._orders.now.rewind()

    def _read_ahead(self) -> None:
        while (block := self._orders.now.peek()) is not None:
            ring = self._rings[block.slot_class]
            if not ring.has_free:
                return
            slot = ring.take()
            ticket = self._reader.submit(block.handle, block.offset, block.nbytes, slot.view)
            self._arriving.append(_Arriving(block, slot, ticket))
            self._orders.now.advance()

    def _drain(self) -> None:
        for arriving in self._arriving:
            arriving.ticket.is_abandoned = True
        for arriving in self._arriving:
            arriving.ticket.settle()
        self._arriving.clear()
        for ring in self._rings:
            ring.reset()


@dataclass(slots=True, eq=False)
class _HostSlot:
    """A host slot and the wait for the last copy out of it."""

    buffer: HostBuffer
    wait_until_copied: Callable[[], None] = field(default=lambda: None)


@dataclass(slots=True)
class _Staged:
    """A block on its way through the host: being read into ``slot``, or lying there for good."""

    block: StreamedBlock
    slot: _HostSlot | None
    ticket: ReadTicket | None

    @property
    def is_ready(self) -> bool:
        ticket = self.ticket
        return ticket is None or (ticket.is_done and ticket.error is None and not ticket.is_abandoned)


@dataclass(slots=True)
class _Copied:
    block: StreamedBlock
    slot: DeviceSlot


class StagedPipeline:
    """For a discrete device: disk → host slot → device slot, or host memory → device slot."""

    def __init__(
        self,
        backend: Backend,
        reader: Reader,
        blocks: Sequence[StreamedBlock],
        slot_sizes: Sequence[tuple[int, int]],
        host_slot_counts: Sequence[int],
    ) -> None:
        self._backend = backend
        self._reader = reader
        self._orders = _Orders(blocks)
        self._device_rings = [
            SlotRing([backend.allocate_device(nbytes) for _ in range(count)]) for nbytes, count in slot_sizes
        ]
        self._host_rings = [
            SlotRing([_HostSlot(backend.allocate_host(nbytes)) for _ in range(count)])
            for (nbytes, _), count in zip(slot_sizes, host_slot_counts, strict=True)
        ]
        self._staged: deque[_Staged] = deque()
        self._copied: deque[_Copied] = deque()
        self._most_staged = sum(count for _, count in slot_sizes) + sum(host_slot_counts)
        # Reader threads start copies as soon as a block is read, so every step below holds this lock.
        self._lock = threading.RLock()
        self._is_open = True
        self._failure: Exception | None = None
        self.mispredictions = 0

    def begin_pass(self, *, with_images: bool = False) -> None:
        with self._lock:
            if self._orders.choose(with_images=with_images):
                self._drain()
            self._is_open = True
            self._orders.now.begin()
            self._advance()

    def acquire(self, block: StreamedBlock, on_wait: WaitObserver) -> DeviceSlot:
        with self._lock:
            expected = self._copied[0] if self._copied else self._staged[0] if self._staged else None
            if expected is None or expected.block is not block:
                self.mispredictions += expected is not None
                self._drain()
                self._orders.now.jump_to(block)
                self._is_open = True
                self._advance()
            self._orders.now.saw(block)
        slot = self._arrived_slot()
        while slot is None:
            ticket = self._first_ticket()
            while ticket is not None and not ticket.wait(WAIT_STEP_S):
                on_wait(block, ticket)
            slot = self._arrived_slot()
        self._backend.begin_use(slot)
        return slot

    def _arrived_slot(self) -> DeviceSlot | None:
        """The slot of the block that is wanted now, once its copy was started. Raises what a reader met."""
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if not self._copied:
                self._advance()
            return self._copied[0].slot if self._copied else None

    def _first_ticket(self) -> ReadTicket | None:
        """The read the wanted block waits for; None where it has just gone on to its copy."""
        with self._lock:
            return self._staged[0].ticket if self._staged and not self._copied else None

    def release(self) -> None:
        with self._lock:
            done = self._copied.popleft()
            self._backend.end_use(done.slot)
            self._device_rings[done.block.slot_class].give_back()
            self._advance()

    def end_pass(self) -> None:
        if self._orders.now.learn():
            self.abort()

    def abort(self) -> None:
        with self._lock:
            self._drain()
            self._orders.now.rewind()

    def _advance_from_reader(self) -> None:
        """A copy that cannot be started is told where its block is waited for; the reader lives on."""
        try:
            self._advance()
        except Exception as error:  # carried to the compute thread
            self._failure = error

    def _advance(self) -> None:
        """Starts every copy and every read that can start, in the order blocks will be wanted."""
        with self._lock:
            if not self._is_open:
                return
            while self._staged and self._staged[0].is_ready and self._start_copy(self._staged[0]):
                self._staged.popleft()
            while len(self._staged) + len(self._copied) < self._most_staged and self._stage(self._orders.now.peek()):
                self._orders.now.advance()
            while self._staged and self._staged[0].is_ready and self._start_copy(self._staged[0]):
                self._staged.popleft()

    def _start_copy(self, staged: _Staged) -> bool:
        ring = self._device_rings[staged.block.slot_class]
        if not ring.has_free:
            return False
        device_slot = ring.take()
        buffer = staged.block.host or (staged.slot.buffer if staged.slot else None)
        assert buffer is not None
        wait = self._backend.start_copy(buffer.tensor[: staged.block.nbytes], device_slot)
        if staged.slot is not None:
            staged.slot.wait_until_copied = wait
            self._host_rings[staged.block.slot_class].give_back()
        self._copied.append(_Copied(staged.block, device_slot))
        return True

    def _stage(self, block: StreamedBlock | None) -> bool:
        if block is None:
            return False
        if block.host is not None:
            self._staged.append(_Staged(block, None, None))
            return True
        ring = self._host_rings[block.slot_class]
        if not ring.has_free:
            return False
        slot = ring.take()
        ticket = self._reader.submit(
            block.handle,
            block.offset,
            block.nbytes,
            slot.buffer.view,
            before=slot.wait_until_copied,
            on_done=self._advance_from_reader,
        )
        self._staged.append(_Staged(block, slot, ticket))
        return True

    def _drain(self) -> None:
        """Called with the lock held; lets it go while readers finish, since they need it to."""
        self._is_open = False
        tickets = [staged.ticket for staged in self._staged if staged.ticket is not None]
        for ticket in tickets:
            ticket.is_abandoned = True
        self._lock.release()
        try:
            for ticket in tickets:
                ticket.settle()
            self._backend.synchronize()
        finally:
            self._lock.acquire()
            self._staged.clear()
            self._copied.clear()
            self._failure = None
            for ring in (*self._device_rings, *self._host_rings):
                ring.reset()
