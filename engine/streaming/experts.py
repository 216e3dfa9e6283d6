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
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import PreTrainedModel

from engine.backends.base import Backend
from engine.models.served_experts import ServeExperts, release_experts, serve_experts
from engine.store.manifest import ExpertsEntry, PackedTensor, TensorEntry
from engine.streaming.bindings import tensor_view
from engine.streaming.expert_cache import ExpertCache, ExpertKey
from engine.streaming.expert_scratch import ExpertScratch
from engine.streaming.expert_slots import Arrival, Record, Slots, open_slots
from engine.streaming.expert_uses import ExpertUses
from engine.streaming.pipeline import WAIT_STEP_S
from engine.streaming.residency import ExpertSlots
from engine.weights.direct_io import ReadHandle
from engine.weights.reader import Reader

CHUNK_BYTES = 1 << 20
"""Small, so that all readers are at one expert and it is there soon, rather than several at once and late."""

FEW_TOKENS = 16
"""Up to so many tokens, what single experts give is kept until all can be added up."""

Reading = Callable[[ExpertsEntry], AbstractContextManager[None]]
OnWait = Callable[[], None]


@dataclass(slots=True)
class ExpertCounts:
    """Since loading. An expert counts once for each forward of its layer, however many tokens it serves.

    ``hits`` were on the device, ``host_hits`` in main memory and had to be copied, ``misses`` had to be read; bytes are
    those of their records.
    """

    hits: int = 0
    host_hits: int = 0
    misses: int = 0
    hit_nbytes: int = 0
    host_nbytes: int = 0
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
        self._slots = open_slots(backend, slots)
        uses = self._uses.read()
        self._cache.restore(uses)
        self._slots.restore(uses)
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

    def expected_hit_rate(self, slot_count: int) -> float | None:
        return self._cache.most_used_share(slot_count)

    def begin_pass(self) -> None:
        self._cache.begin_pass()
        self._slots.begin_pass()

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
        if self.counts.hits or self.counts.host_hits or self.counts.misses:
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
        slots: Slots,
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
            slots.use(key)
        self._pinned = set(keys)
        self._missing = [key for key in keys if cache.slot_of(key) is None]
        self._arriving: dict[ExpertKey, Arrival] = {}
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
            if self._slots.has_near(key):
                self._counts.host_hits += 1
                self._counts.host_nbytes += self.file.nbytes
            else:
                self._counts.misses += 1
                self._counts.read_nbytes += self.file.nbytes
            record = Record(key, self.file.handle, self.file.entry.record_offset(key[1]), self.file.nbytes)
            try:
                self._arriving[key] = self._slots.bring(self._reader, record, slot)
            except Exception:  # nothing is on its way into a slot that was given to it
                self._cache.drop(key)
                self._slots.drop(key)
                raise

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
        # A reader may have failed at its end since; the next who wants that is told, and ``close`` forgets it.
        if arrival.ticket.is_done and arrival.ticket.error is None:
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
                self._slots.drop(key)
        self._arriving.clear()
