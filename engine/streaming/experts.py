"""Routed experts, read one by one when a token wants them, and kept in slots as long as they earn their place.

transformers' own eager code computes every expert, in its own order. In place of each stacked parameter it finds an
object that is indexed in the same way and gives the expert's part out of its slot, once it is there, or expanded
from there where the checkpoint is packed: so the bits are those of the eager code, whatever was cached and whichever
family it is. All missing experts of a layer are
read at once, in the order in which they will be wanted; where there are fewer slots than experts to come, the
next is read as soon as one is done with. For the few tokens of a decoding pass, what is there is computed while
the rest arrives.
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch
from transformers import PreTrainedModel

from engine.backends.base import Backend, DeviceSlot, HostBuffer
from engine.models.served_experts import ServeExperts, release_experts, serve_experts
from engine.store.manifest import ExpertsEntry, PackedTensor, TensorEntry
from engine.streaming.bindings import tensor_view
from engine.streaming.expert_cache import ExpertCache, ExpertKey
from engine.streaming.expert_scratch import ExpertScratch
from engine.streaming.expert_uses import ExpertUses
from engine.streaming.pipeline import WAIT_STEP_S
from engine.streaming.residency import ExpertSlots
from engine.weights.direct_io import ReadHandle
from engine.weights.reader import Reader, ReadTicket

CHUNK_BYTES = 1 << 20
"""Small, so that all readers are at one expert and it is there soon, rather than several at once and late."""

FEW_TOKENS = 16
"""Up to so many tokens, what single experts give is kept until all can be added up."""

Reading = Callable[[ExpertsEntry], AbstractContextManager[None]]
OnWait = Callable[[], None]


@dataclass(slots=True)
class ExpertCounts:
    """Since loading. An expert counts once for each forward of its layer, however many tokens it serves.

    ``hit_nbytes`` are of records that were there, ``read_nbytes`` of those that had to be read.
    """

    hits: int = 0
    misses: int = 0
    hit_nbytes: int = 0
    read_nbytes: int = 0


class ExpertStreamer:
    """All routed experts of one model, attached to its experts modules. Used from the compute thread."""

    def __init__(
        self,
        model: PreTrainedModel,
        entries: Sequence[ExpertsEntry],
        folder: Path,
        slots: ExpertSlots,
        backend: Backend,
        *,
        reader_threads: int,
        reading: Reading,
        on_wait: OnWait,
    ) -> None:
        self.counts = ExpertCounts()
        self._model = model
        self._reading = reading
        self._on_wait = on_wait
        # Not the blocks' reader: what is read ahead there would stand in the queue before what is wanted now.
        self._reader = Reader(reader_threads, chunk_bytes=CHUNK_BYTES)
        self._cache = ExpertCache(slots.count)
        self._uses = ExpertUses(folder, entries)
        self._cache.restore(self._uses.read())
        self._slots = _UnifiedSlots(backend, slots) if backend.is_unified else _StagedSlots(backend, slots)
        self._views: dict[tuple[int, int], dict[str, torch.Tensor]] = {}
        self._files: list[_File] = []
        self._call: _Call | None = None
        self._scratch: ExpertScratch | None = None
        if slots.scratch_nbytes:
            expanded_nbytes = max(entry.expanded_nbytes for entry in entries)
            self._scratch = ExpertScratch(backend, slots.scratch_nbytes, expanded_nbytes)
        layouts: dict[tuple[TensorEntry, ...], int] = {}
        for number, entry in enumerate(entries):
            assert entry.module is not None
            layout = layouts.setdefault(entry.tensors, len(layouts))
            packed = {tensor.name: _Packed(tensor, entry.parts_of(tensor)) for tensor in entry.packed}
            handle = ReadHandle(folder / entry.file)
            file = _File(number, layout, entry, entry.record_nbytes, handle, packed, _ends(entry, packed))
            self._files.append(file)
            parts = {name: _StackedParameter(self, file, name) for name in entry.parameters}
            serve_experts(model, entry.module, parts, self._serve_with(file))

    @property
    def expected_hit_rate(self) -> float | None:
        return self._cache.most_used_share()

    def begin_pass(self) -> None:
        self._cache.begin_pass()

    def part(self, file: _File, expert: int, name: str) -> torch.Tensor:
        """One expert's part of a stacked parameter; waits until it is there, and expands it where it is packed."""
        if self._call is None or self._call.file is not file:
            raise RuntimeError(f"{file.entry.module}.{name} was used outside its forward")
        slot = self._call.take(expert, file.ends[name])
        key = (file.layout, slot)
        if (views := self._views.get(key)) is None:
            memory = self._slots.tensor(slot)
            views = self._views[key] = {t.name: tensor_view(memory, t) for t in file.entry.tensors}
        packed = file.packed.get(name)
        if packed is None or self._scratch is None:
            return views[name]
        parts = {part: views[stored] for part, stored in packed.parts.items()}
        return self._scratch.expanded(packed.tensor, parts, (file.number, expert))

    def close(self) -> None:
        """Detaches from the model, ends the readers, keeps the counts for the next run."""
        for file in self._files:
            assert file.entry.module is not None
            release_experts(self._model, file.entry.module, file.entry.parameters)
        self._reader.close()
        if self.counts.hits or self.counts.misses:
            self._uses.write(self._cache.uses())
        self._slots.close()
        for file in self._files:
            file.handle.close()
        self._files.clear()
        self._views.clear()
        if self._scratch is not None:
            self._scratch.close()
            self._scratch = None

    def _serve_with(self, file: _File) -> ServeExperts:
        return lambda indices: self._serve(file, indices)

    @contextmanager
    def _serve(self, file: _File, indices: torch.Tensor) -> Generator[Iterator[int] | None]:
        """Around one forward of an experts module that was routed to ``indices`` [tokens, k]."""
        experts = [int(expert) for expert in torch.unique(indices).tolist() if 0 <= expert < file.entry.count]
        call = _Call(file, experts, self._cache, self._slots, self._reader, self.counts, self._on_wait)
        self._call = call
        try:
            with self._reading(file.entry):
                call.start_reads()
                yield call.by_arrival() if len(indices) <= FEW_TOKENS and call.is_waiting else None
        finally:
            self._call = None
            call.close()


@dataclass(frozen=True, slots=True)
class _Packed:
    """A packed parameter, and its parts with their names in a record."""

    tensor: PackedTensor
    parts: Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class _File:
    """Files of equal ``layout`` have records of ``nbytes`` with the same tensors at the same places.

    ``ends``: for each parameter, the bytes of a record up to the end of it.
    """

    number: int
    layout: int
    entry: ExpertsEntry
    nbytes: int
    handle: ReadHandle
    packed: Mapping[str, _Packed]
    ends: Mapping[str, int]


def _ends(entry: ExpertsEntry, packed: Mapping[str, _Packed]) -> dict[str, int]:
    ends = {tensor.name: tensor.offset + tensor.nbytes for tensor in entry.tensors}
    ends |= {name: max(ends[stored] for stored in one.parts.values()) for name, one in packed.items()}
    return ends


class _StackedParameter:
    """Stands for the parameter that stacks all experts of a module; only ever indexed by one expert."""

    def __init__(self, streamer: ExpertStreamer, file: _File, name: str) -> None:
        self._streamer = streamer
        self._file = file
        self._name = name

    def __getitem__(self, expert: int | torch.Tensor) -> torch.Tensor:
        return self._streamer.part(self._file, int(expert), self._name)


class _Call:
    """One forward of one experts module. ``experts`` ascend, which is the order the eager code wants them in.

    An expert is pinned in its slot until the next one is taken.
    """

    def __init__(
        self,
        file: _File,
        experts: list[int],
        cache: ExpertCache,
        slots: _UnifiedSlots | _StagedSlots,
        reader: Reader,
        counts: ExpertCounts,
        on_wait: OnWait,
    ) -> None:
        self.file = file
        self._cache = cache
        self._slots = slots
        self._reader = reader
        self._counts = counts
        self._on_wait = on_wait
        keys: list[ExpertKey] = [(file.number, expert) for expert in experts]
        for key in keys:
            cache.use(key)
        self._pinned = set(keys)
        self._missing = [key for key in keys if cache.slot_of(key) is None]
        self._arriving: dict[ExpertKey, _Arrival] = {}
        self._current: ExpertKey | None = None

    @property
    def is_waiting(self) -> bool:
        """Some experts are on their way, and none has to wait for a slot."""
        return bool(self._arriving) and not self._missing

    def by_arrival(self) -> Iterator[int]:
        """The experts that are there, then each as it arrives."""
        waiting = sorted(self._arriving)
        yield from (expert for _, expert in sorted(self._pinned - self._arriving.keys()))
        while waiting:
            key = next((key for key in waiting if self._arriving[key].ticket.is_done), waiting[0])
            waiting.remove(key)
            yield key[1]

    def start_reads(self) -> None:
        """As many of the missing experts as there are slots whose experts this forward does not want any more."""
        while self._missing:
            key = self._missing[0]
            slot = self._cache.claim(key, pinned=self._pinned)
            if slot is None:
                return
            self._missing.pop(0)
            offset = self.file.entry.record_offset(key[1])
            self._arriving[key] = self._slots.read(self._reader, self.file.handle, offset, self.file.nbytes, slot)
            self._counts.misses += 1
            self._counts.read_nbytes += self.file.nbytes

    def take(self, expert: int, nbytes: int) -> int:
        """The slot of an expert, once its first ``nbytes`` are there: it is computed with while the rest arrives."""
        key = (self.file.number, expert)
        if key != self._current:
            self._begin(key)
        slot = self._cache.slot_of(key)
        assert slot is not None
        self._wait_for(key, nbytes)
        self._slots.begin_use(slot)
        return slot

    def _begin(self, key: ExpertKey) -> None:
        """The expert before this one is done with, and its slot may go to one that is to come."""
        if self._current is not None:
            self._wait_for(self._current, self.file.nbytes)
            self._pinned.discard(self._current)
        self._current = key
        if key in self._missing:
            self._make_room_for(key)
        self.start_reads()
        slot = self._cache.slot_of(key)
        assert slot is not None
        if key not in self._arriving:
            self._counts.hits += 1
            self._counts.hit_nbytes += self.file.nbytes

    def _wait_for(self, key: ExpertKey, nbytes: int) -> None:
        arrival = self._arriving.get(key)
        if arrival is None:
            return
        while not arrival.wait(WAIT_STEP_S, nbytes):
            self._on_wait()
        if arrival.ticket.is_done:
            del self._arriving[key]

    def _make_room_for(self, key: ExpertKey) -> None:
        """Where every slot holds an expert that is still to come, the last to come is read again later."""
        self.start_reads()
        while self._missing and self._missing[0] == key:
            there = [other for other in self._pinned if other != key and self._cache.slot_of(other) is not None]
            last = max(other for other in there if other not in self._arriving)
            self._cache.drop(last)
            bisect.insort(self._missing, last)
            self.start_reads()

    def close(self) -> None:
        """Waits for reads nobody took (the forward was left), and forgets experts that did not arrive."""
        for key, arrival in self._arriving.items():
            arrival.ticket.is_abandoned = key != self._current
        for key, arrival in self._arriving.items():
            arrival.settle()
            if not arrival.is_whole:
                self._cache.drop(key)
        self._arriving.clear()


class _Arrival:
    """One expert on its way into its slot. With ``is_copied``, ``handed_on`` has to follow the read."""

    def __init__(self, submit: Callable[[_Arrival], ReadTicket], *, is_copied: bool) -> None:
        self._lock = threading.Lock()
        self._handed_on = threading.Event()
        self._error: BaseException | None = None
        self._is_copied = is_copied
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
        except Exception as error:  # carried to the compute thread
            self._error = error
        self._handed_on.set()

    @property
    def is_whole(self) -> bool:
        """Once it is settled: whether all of the expert is where it was to go."""
        return self._error is None and self.ticket.error is None and self.ticket.bytes_done == self.ticket.nbytes

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


class _UnifiedSlots:
    """Slots the readers write and the processor computes in: one allocation."""

    def __init__(self, backend: Backend, slots: ExpertSlots) -> None:
        self._nbytes = slots.nbytes
        self._memory: HostBuffer | None = backend.allocate_host(slots.nbytes * slots.count)

    def tensor(self, slot: int) -> torch.Tensor:
        assert self._memory is not None
        return self._memory.tensor[slot * self._nbytes : (slot + 1) * self._nbytes]

    def read(self, reader: Reader, handle: ReadHandle, offset: int, nbytes: int, slot: int) -> _Arrival:
        assert self._memory is not None
        view = self._memory.view[slot * self._nbytes : (slot + 1) * self._nbytes]
        return _Arrival(lambda _: reader.submit(handle, offset, nbytes, view), is_copied=False)

    def begin_use(self, slot: int) -> None: ...

    def close(self) -> None:
        self._memory = None


@dataclass(slots=True)
class _StagingSlot:
    """Host memory an expert is read into on its way to the device."""

    buffer: HostBuffer
    arrival: _Arrival | None = None
    wait_until_copied: Callable[[], None] = field(default=lambda: None)


class _StagedSlots:
    """Slots on a discrete device. A reader starts the copy as soon as it has read a record."""

    def __init__(self, backend: Backend, slots: ExpertSlots) -> None:
        self._backend = backend
        self._slots: list[DeviceSlot] = [backend.allocate_device(slots.nbytes) for _ in range(slots.count)]
        self._staging = [_StagingSlot(backend.allocate_host(slots.nbytes)) for _ in range(slots.staging)]
        self._next = 0
        self._in_use: set[int] = set()

    def tensor(self, slot: int) -> torch.Tensor:
        return self._slots[slot].tensor

    def read(self, reader: Reader, handle: ReadHandle, offset: int, nbytes: int, slot: int) -> _Arrival:
        if slot in self._in_use:
            self._backend.end_use(self._slots[slot])
            self._in_use.discard(slot)
        staging = self._staging[self._next % len(self._staging)]
        self._next += 1
        before = staging.arrival

        def wait_until_free() -> None:
            if before is not None:
                before.settle()
            staging.wait_until_copied()

        def start_copy() -> None:
            source = staging.buffer.tensor[:nbytes]
            staging.wait_until_copied = self._backend.start_copy(source, self._slots[slot])

        def submit(arrival: _Arrival) -> ReadTicket:
            return reader.submit(
                handle,
                offset,
                nbytes,
                staging.buffer.view,
                before=wait_until_free,
                on_done=lambda: arrival.hand_on(start_copy),
            )

        staging.arrival = _Arrival(submit, is_copied=True)
        return staging.arrival

    def begin_use(self, slot: int) -> None:
        if slot not in self._in_use:
            self._backend.begin_use(self._slots[slot])
            self._in_use.add(slot)

    def close(self) -> None:
        self._slots.clear()
        self._staging.clear()
