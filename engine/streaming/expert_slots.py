"""Where routed experts lie while they are here, and how they get there: slots on the device, and in main memory.

On a unified device there is one kind, and readers write straight into it. On a discrete one, what is read lands in
main memory, is copied to the device, and stays in both as long as it earns its place there: an expert the device has no
room for any more is copied again, not read again. Knows keys and bytes, not models.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import torch

from engine.backends.base import Backend, DeviceSlot, HostBuffer
from engine.streaming.expert_cache import ExpertCache, ExpertKey
from engine.streaming.residency import ExpertSlots
from engine.weights.direct_io import ReadHandle
from engine.weights.reader import Reader, ReadTicket


@dataclass(frozen=True, slots=True)
class Record:
    """One expert on the disk: ``nbytes`` at ``offset`` of an open file."""

    key: ExpertKey
    handle: ReadHandle
    offset: int
    nbytes: int


class Arrival:
    """One expert on its way into its slot. With ``is_copied``, ``hand_on`` has to follow the read."""

    def __init__(self, submit: Callable[[Arrival], ReadTicket], *, is_copied: bool) -> None:
        self._lock = threading.Lock()
        self._handed_on = threading.Event()
        self._error: BaseException | None = None
        self._is_copied = is_copied
        self._is_on_its_way = not is_copied
        if not is_copied:
            self._handed_on.set()
        with self._lock:
            self._ticket = submit(self)

    @property
    def ticket(self) -> ReadTicket:
        with self._lock:  # a reader may be done before ``submit`` has returned
            return self._ticket

    def hand_on(self, start_copy: Callable[[], None]) -> None:
        """From a reader, which must live on whatever happens."""
        try:
            if self.ticket.error is None and not self.ticket.is_abandoned:
                start_copy()
                self._is_on_its_way = True
        except Exception as error:  # carried to the compute thread
            self._error = error
        self._handed_on.set()

    @property
    def is_settled(self) -> bool:
        return self.ticket.is_done and self._handed_on.is_set()

    @property
    def is_whole(self) -> bool:
        """Once it is settled: whether all of the expert is where it was to go, or on its way there."""
        is_read = self.ticket.error is None and self.ticket.bytes_done == self.ticket.nbytes
        return is_read and self._is_on_its_way

    def wait(self, timeout_s: float, nbytes: int) -> bool:
        """True once the first ``nbytes`` are read; if it is copied, once all are and the copy has started.

        Raises what a reader met.
        """
        if not self.ticket.wait(timeout_s, first_nbytes=None if self._is_copied else nbytes):
            return False
        if not self._handed_on.wait(timeout_s):
            return False
        if self._error is not None:
            raise self._error
        return True

    def settle(self) -> None:
        """Waits until no reader has anything to do with it any more."""
        self.ticket.settle()
        self._handed_on.wait()


class Slots(Protocol):
    """Numbered slots on the device, each for one expert. Used from the compute thread."""

    def begin_pass(self) -> None: ...

    def use(self, key: ExpertKey) -> None:
        """An expert is used, wherever it is."""
        ...

    def restore(self, uses: Mapping[ExpertKey, float]) -> None:
        """What ``ExpertCache.uses`` gave at the end of an earlier run."""
        ...

    def tensor(self, slot: int) -> torch.Tensor: ...

    def has_near(self, key: ExpertKey) -> bool:
        """Whether the expert only has to be copied, not read."""
        ...

    def bring(self, reader: Reader, record: Record, slot: int) -> Arrival:
        """Starts to bring an expert into a slot of which nothing is computed with any more."""
        ...

    def drop(self, key: ExpertKey) -> None:
        """The expert did not arrive whole."""
        ...

    def begin_use(self, slot: int) -> None: ...

    def close(self) -> None: ...


def open_slots(backend: Backend, slots: ExpertSlots) -> Slots:
    return UnifiedSlots(backend, slots) if backend.is_unified else StagedSlots(backend, slots)


class UnifiedSlots:
    """Slots the readers write and the processor computes in: one allocation."""

    def __init__(self, backend: Backend, slots: ExpertSlots) -> None:
        self._nbytes = slots.nbytes
        self._memory: HostBuffer | None = backend.allocate_host(slots.nbytes * slots.count)

    def begin_pass(self) -> None: ...

    def use(self, key: ExpertKey) -> None: ...

    def restore(self, uses: Mapping[ExpertKey, float]) -> None: ...

    def tensor(self, slot: int) -> torch.Tensor:
        assert self._memory is not None
        return self._memory.tensor[slot * self._nbytes : (slot + 1) * self._nbytes]

    def has_near(self, key: ExpertKey) -> bool:
        return False

    def bring(self, reader: Reader, record: Record, slot: int) -> Arrival:
        assert self._memory is not None
        view = self._memory.view[slot * self._nbytes : (slot + 1) * self._nbytes]
        return Arrival(lambda _: reader.submit(record.handle, record.offset, record.nbytes, view), is_copied=False)

    def drop(self, key: ExpertKey) -> None: ...

    def begin_use(self, slot: int) -> None: ...

    def close(self) -> None:
        self._memory = None


@dataclass(slots=True)
class _Place:
    """A slot in main memory: the last read into it, and what waits for the last copy out of it."""

    arrival: Arrival | None = None
    wait_until_copied: Callable[[], None] | None = None

    def wait_until_free(self) -> None:
        if self.arrival is not None:
            self.arrival.settle()
        if self.wait_until_copied is not None:
            self.wait_until_copied()


class StagedSlots:
    """Slots on a discrete device, behind a cache in main memory that everything read goes through.

    A reader starts the copy as soon as it has read a record.
    """

    def __init__(self, backend: Backend, slots: ExpertSlots) -> None:
        self._backend = backend
        self._nbytes = slots.nbytes
        self._slots: list[DeviceSlot] = [backend.allocate_device(slots.nbytes) for _ in range(slots.count)]
        self._memory: HostBuffer | None = backend.allocate_host(slots.nbytes * slots.host)
        self._places = [_Place() for _ in range(slots.host)]
        self._cache = ExpertCache(slots.host)
        self._reading: dict[ExpertKey, Arrival] = {}
        self._in_use: set[int] = set()

    def begin_pass(self) -> None:
        self._cache.begin_pass()

    def use(self, key: ExpertKey) -> None:
        self._cache.use(key)

    def restore(self, uses: Mapping[ExpertKey, float]) -> None:
        self._cache.restore(uses)

    def tensor(self, slot: int) -> torch.Tensor:
        return self._slots[slot].tensor

    def has_near(self, key: ExpertKey) -> bool:
        return self._cache.slot_of(key) is not None

    def bring(self, reader: Reader, record: Record, slot: int) -> Arrival:
        if slot in self._in_use:
            self._backend.end_use(self._slots[slot])
            self._in_use.discard(slot)
        number = self._cache.slot_of(record.key)
        if number is None:
            return self._read(reader, record, slot)
        self._start_copy(number, record.nbytes, slot)
        there = ReadTicket(record.nbytes)
        there.chunk_done(0, record.nbytes, None)
        return Arrival(lambda _: there, is_copied=False)

    def drop(self, key: ExpertKey) -> None:
        self._cache.drop(key)

    def begin_use(self, slot: int) -> None:
        if slot not in self._in_use:
            self._backend.begin_use(self._slots[slot])
            self._in_use.add(slot)

    def close(self) -> None:
        self._slots.clear()
        self._places.clear()
        self._memory = None

    def _read(self, reader: Reader, record: Record, slot: int) -> Arrival:
        assert self._memory is not None
        number = self._claim(record.key)
        before = self._places[number]
        place = self._places[number] = _Place()
        view = self._memory.view[number * self._nbytes : (number + 1) * self._nbytes]

        def submit(arrival: Arrival) -> ReadTicket:
            return reader.submit(
                record.handle,
                record.offset,
                record.nbytes,
                view,
                before=before.wait_until_free,
                on_done=lambda: arrival.hand_on(lambda: self._start_copy(number, record.nbytes, slot, place)),
            )

        place.arrival = self._reading[record.key] = Arrival(submit, is_copied=True)
        return place.arrival

    def _claim(self, key: ExpertKey) -> int:
        """A slot for what is to be read; where all are being read into, the one that will be free first."""
        self._reading = {other: arrival for other, arrival in self._reading.items() if not arrival.is_settled}
        number = self._cache.claim(key, pinned=self._reading)
        if number is None:
            first = next(iter(self._reading))
            del self._reading[first]
            self._cache.drop(first)
            number = self._cache.claim(key, pinned=self._reading)
        assert number is not None
        return number

    def _start_copy(self, number: int, nbytes: int, slot: int, place: _Place | None = None) -> None:
        assert self._memory is not None
        source = self._memory.tensor[number * self._nbytes :][:nbytes]
        place = place or self._places[number]
        place.wait_until_copied = self._backend.start_copy(source, self._slots[slot])
