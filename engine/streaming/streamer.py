"""Forward hooks that bring each block in just before it runs and let its slot go just after.

Owns a model's weights: resident ones, the slots the rest passes through, and the tables read row by row.
transformers owns the forward pass and notices nothing.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import torch
from torch.utils.hooks import RemovableHandle
from transformers import PreTrainedModel

from engine.backends.base import Backend, DeviceSlot, HostBuffer
from engine.cancel import CancelToken
from engine.errors import DamagedFile
from engine.events import BytesMoved, LayerProgress, LoadProgress, PassKind
from engine.store.manifest import BlockEntry, Manifest
from engine.streaming.bindings import Binding, BoundViews, bind_tensors, mark_absent, place_of, tensor_view
from engine.streaming.block_roles import is_tied_to_head
from engine.streaming.experts import ExpertCounts, ExpertStreamer
from engine.streaming.pipeline import Pipeline, StagedPipeline, StreamedBlock, UnifiedPipeline
from engine.streaming.ranged_weight import RangedWeight, range_entries
from engine.streaming.residency import ResidencyPlan, Tier
from engine.weights.direct_io import ReadHandle
from engine.weights.dtypes import TORCH_DTYPES
from engine.weights.reader import Reader, ReadTicket
from engine.weights.row_table import DiskRowTable, HostRowTable, LookupWeight, RowTable

PROGRESS_INTERVAL_S = 1 / 30

Emit = Callable[[LayerProgress], None]


class _Unit:
    """A module that runs once in a pass, and where its weights are."""

    def __init__(self, name: str, module: str, entry: BlockEntry, tier: Tier, binding: Binding) -> None:
        self.name = name
        self.module = module
        self.entry = entry
        self.tier = tier
        self.binding = binding
        self.block: StreamedBlock | None = None
        self.views: dict[int, BoundViews] = {}

    @property
    def is_tower(self) -> bool:
        """Whether only passes with images go through it."""
        return self.entry.kind == "tower"

    def views_in(self, slot: DeviceSlot) -> BoundViews:
        views = self.views.get(id(slot))
        if views is None:
            views = self.views[id(slot)] = self.binding.views_into(slot.tensor)
        return views


class Streamer:
    """Attached to one empty model; ``load_resident`` once, then ``run_pass`` around every forward."""

    def __init__(
        self,
        model: PreTrainedModel,
        manifest: Manifest,
        folder: Path,
        plan: ResidencyPlan,
        backend: Backend,
        *,
        reader_threads: int,
    ) -> None:
        self._model = model
        self._manifest = manifest
        self._folder = folder
        self._reader_threads = reader_threads
        self._plan = plan
        self._backend = backend
        self._blocks = range_entries(manifest.blocks, plan.ranges)
        self._divided = {rows.name: rows.block for rows in plan.ranges}
        self._handles = _open_all(folder, self._blocks, manifest)
        self._reader = Reader(reader_threads)
        self._hooks: list[RemovableHandle] = []
        self._units: list[_Unit] = []
        self._memory: list[object] = []
        self._resident: dict[str, torch.Tensor] = {}
        self._tables: dict[str, RowTable] = {}
        self._pipeline: Pipeline | None = None
        self._experts: ExpertStreamer | None = None
        self._emit: Emit = lambda event: None
        self._cancel = CancelToken()
        self._kind = PassKind.PREFILL
        self._token_index = 0
        self._units_done = 0
        self._units_expected = 0
        self._bytes_read = 0
        self._expert_bytes_before = 0
        self._pass_started = 0.0
        self._last_emit = 0.0
        self._in_use: _Unit | None = None
        self._device_bytes_used = 0
        self._host_bytes_used = 0
        self._disk_bytes_used = 0
        self.last_pass_s: float | None = None

    def load_resident(self, cancel: CancelToken) -> Iterator[LoadProgress]:
        """Reads what stays, allocates the slots, attaches the hooks. Raises ``DamagedFile``."""
        staying = [b for b in self._blocks if self._plan.tier(b.name) is not Tier.DISK]
        total = sum(block.data_nbytes for block in staying)
        done = 0
        host: dict[str, HostBuffer] = {}
        for index, block in enumerate(staying):
            cancel.raise_if_cancelled()
            buffer = self._read_whole(block)
            if self._plan.tier(block.name) is Tier.DEVICE:
                self._resident[block.name] = self._to_device(buffer, block)
            else:
                host[block.name] = buffer
            done += block.data_nbytes
            yield LoadProgress(index + 1, len(staying), done, total)
        self._move_buffers()
        mark_absent(self._model, self._backend.device)
        for block in self._blocks:
            if block.name in self._resident and block.name not in self._divided:
                binding = bind_tensors(self._model, block.tensors, self._manifest.aliases)
                binding.views_into(self._resident[block.name]).put()
        self._attach_tables(host)
        self._attach_ranges()
        self._build_units(host)
        self._attach_hooks()
        self._attach_experts()

    @contextmanager
    def run_pass(
        self, kind: PassKind, token_index: int, *, with_images: bool = False, emit: Emit, cancel: CancelToken
    ) -> Generator[None]:
        """Around one forward. Raises ``Cancelled`` within one block, ``DamagedFile`` where a block cannot be read."""
        self._kind, self._token_index, self._emit, self._cancel = kind, token_index, emit, cancel
        self._units_expected = len(self._units) if with_images else self.block_count
        self._units_done = self._bytes_read = 0
        self._expert_bytes_before = self.expert_counts.read_nbytes
        self._pass_started = time.perf_counter()
        is_complete = False
        try:
            if self._pipeline is not None:
                self._pipeline.begin_pass(with_images=with_images)
            if self._experts is not None:
                self._experts.begin_pass()
            yield
            is_complete = True
            self.last_pass_s = time.perf_counter() - self._pass_started
        finally:
            if self._in_use is not None:
                self._in_use.binding.clear()
                self._in_use = None
            if self._pipeline is not None:
                if is_complete:
                    self._pipeline.end_pass()
                else:
                    self._pipeline.abort()

    def bytes_moved(self) -> BytesMoved:
        """Weight bytes used since loading, by the tier they came from."""
        rows = sum(table.bytes_read for table in self._tables.values())
        experts = self.expert_counts
        return BytesMoved(
            self._device_bytes_used + experts.hit_nbytes,
            self._host_bytes_used + experts.host_nbytes,
            self._disk_bytes_used + rows + experts.read_nbytes,
        )

    @property
    def rows_read(self) -> dict[str, int]:
        """Rows that lookups have read from the disk since loading, by the name of the tensor."""
        return {name: table.rows_read for name, table in self._tables.items()}

    @property
    def expert_counts(self) -> ExpertCounts:
        """What the expert cache did since loading; zeros for a model without experts of their own."""
        return self._experts.counts if self._experts is not None else ExpertCounts()

    def expected_hit_rate(self, slot_count: int) -> float | None:
        """Share of a token's experts that will be in as many slots, going by earlier runs; None without any."""
        return self._experts.expected_hit_rate(slot_count) if self._experts is not None else None

    @property
    def mispredictions(self) -> int:
        """Times a block was wanted that was not the next in the slots."""
        return self._pipeline.mispredictions if self._pipeline is not None else 0

    @property
    def block_count(self) -> int:
        """Blocks that a pass over text goes through."""
        return sum(not unit.is_tower for unit in self._units)

    def close(self) -> None:
        """Detaches from the model and gives all memory back."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        if self._pipeline is not None:
            self._pipeline.abort()
        self._pipeline = None
        if self._experts is not None:
            self._experts.close()
            self._experts = None
        self._reader.close()
        for handle in self._handles.values():
            handle.close()
        self._units.clear()
        self._resident.clear()
        self._tables.clear()
        self._memory.clear()
        self._backend.close()

    def _read_whole(self, block: BlockEntry) -> HostBuffer:
        buffer = self._backend.allocate_host(block.data_nbytes)
        ticket = self._reader.submit(self._handles[block.name], block.data_offset, block.data_nbytes, buffer.view)
        with self._reading(block):
            ticket.wait()
        return buffer

    def _to_device(self, buffer: HostBuffer, block: BlockEntry) -> torch.Tensor:
        if self._backend.is_unified:
            return buffer.tensor
        slot = self._backend.allocate_device(block.data_nbytes)
        self._backend.start_copy(buffer.tensor[: block.data_nbytes], slot)()
        self._backend.begin_use(slot)
        self._memory.append(slot)
        return slot.tensor

    def _move_buffers(self) -> None:
        """Computed buffers (rotary tables) go to the device; they are no block's."""
        for module in self._model.modules():
            for key, buffer in module._buffers.items():
                if buffer is not None and buffer.device.type not in ("meta", self._backend.device.type):
                    module._buffers[key] = buffer.to(self._backend.device)

    def _attach_tables(self, host: dict[str, HostBuffer]) -> None:
        """What is only looked up: an embedding that does not stay on the device, and the tables, which never do."""
        embeddings = [
            block for block in self._manifest.blocks if block.kind == "embed" and block.name not in self._resident
        ]
        for block in (*embeddings, *self._manifest.tables):
            entry = block.tensors[0]
            if block.name in host:
                table: RowTable = HostRowTable(tensor_view(host[block.name].tensor, entry))
            else:
                offset = block.data_offset + entry.offset
                dtype = TORCH_DTYPES[entry.dtype]
                table = DiskRowTable(self._reader, self._handles[block.name], offset, entry.shape, dtype)
            self._tables[entry.name] = table
            place = place_of(self._model, entry.name)
            reading = partial(self._reading, block)
            weight = LookupWeight.of(entry.name, place.empty, self._backend.device)
            place.registry[place.key] = weight.served_by(table, reading)

    def _attach_ranges(self) -> None:
        """The head's matrix, where it comes in ranges of rows."""
        if not self._divided:
            return
        name = self._divided_tensor()
        place = place_of(self._model, name)
        ranges = [partial(self._hold_range, block.name) for block in self._blocks if block.name in self._divided]
        place.registry[place.key] = RangedWeight.of(name, place.empty, self._backend.device).served_by(ranges)

    def _divided_tensor(self) -> str:
        """The head's own name of its matrix, which may be stored as the embedding's."""
        (stored,) = {tensor.name for block in self._blocks if block.name in self._divided for tensor in block.tensors}
        names = [stored, *(alias for alias, name in self._manifest.aliases.items() if name == stored)]
        return next(name for name in names if name.startswith(f"{self._manifest.head_path}."))

    @contextmanager
    def _hold_range(self, name: str) -> Generator[torch.Tensor]:
        unit = next(unit for unit in self._units if unit.name == name)
        self._enter(unit)
        if name in self._resident:
            yield tensor_view(self._resident[name], unit.entry.tensors[0])
        else:
            ((_, places),) = unit.binding.places
            yield places[0].registry[places[0].key]
        self._leave(unit)

    def _build_units(self, host: dict[str, HostBuffer]) -> None:
        classes = {name: i for i, slots in enumerate(self._plan.device_slots) for name in slots.blocks}
        for block in self._blocks:
            module = block.module
            if block.kind == "embed":
                if self._manifest.head_path is None or not is_tied_to_head(block.tensors, self._manifest.aliases):
                    continue
                module = self._manifest.head_path
            if module is None:
                continue
            only = module if block.kind == "embed" else None
            binding = bind_tensors(self._model, block.tensors, self._manifest.aliases, only=only)
            unit = _Unit(block.name, module, block, self._plan.tier(block.name), binding)
            if block.name in classes:
                unit.block = StreamedBlock(
                    block.name,
                    classes[block.name],
                    self._handles[block.name],
                    block.data_offset,
                    block.data_nbytes,
                    host.get(block.name),
                    unit.is_tower,
                )
            self._units.append(unit)
        # A tied embedding is computed with where the head is: at the end of the pass.
        self._units.sort(key=lambda unit: unit.entry.kind in ("embed", "head"))
        streamed = [unit.block for unit in self._units if unit.block is not None]
        if streamed:
            sizes = [(slots.nbytes, slots.count) for slots in self._plan.device_slots]
            self._pipeline = (
                UnifiedPipeline(self._backend, self._reader, streamed, sizes)
                if self._backend.is_unified
                else StagedPipeline(self._backend, self._reader, streamed, sizes, self._plan.host_slot_counts)
            )

    def _attach_experts(self) -> None:
        if self._plan.experts is not None:
            self._experts = ExpertStreamer(
                self._model,
                self._manifest.experts,
                self._folder,
                self._plan.experts,
                self._backend,
                reader_threads=self._reader_threads,
                reading=self._reading,
                on_wait=self._on_expert_wait,
            )

    def _on_expert_wait(self) -> None:
        self._cancel.raise_if_cancelled()
        self._report(self._units[min(self._units_done, len(self._units) - 1)], time.perf_counter(), self._bytes_read)

    def _attach_hooks(self) -> None:
        for unit in self._units:
            if unit.name in self._divided:
                continue
            module = self._model.get_submodule(unit.module)
            # Prepended, so that a block is there before any other hook of the module looks at it.
            self._hooks.append(module.register_forward_pre_hook(self._enter_hook(unit), prepend=True))
            self._hooks.append(module.register_forward_hook(self._leave_hook(unit)))

    def _enter_hook(self, unit: _Unit) -> Callable[..., None]:
        return lambda *_: self._enter(unit)

    def _leave_hook(self, unit: _Unit) -> Callable[..., None]:
        return lambda *_: self._leave(unit)

    def _enter(self, unit: _Unit) -> None:
        self._cancel.raise_if_cancelled()
        if unit.block is None or self._pipeline is None:
            self._device_bytes_used += unit.entry.data_nbytes
            return
        assert self._in_use is None, f"{unit.name} is wanted inside {self._in_use.name}"
        with self._reading(unit.entry):
            slot = self._pipeline.acquire(unit.block, self._on_wait)
        self._in_use = unit
        unit.views_in(slot).put()
        if unit.tier is Tier.HOST:
            self._host_bytes_used += unit.entry.data_nbytes
        else:
            self._bytes_read += unit.entry.data_nbytes
            self._disk_bytes_used += unit.entry.data_nbytes

    def _leave(self, unit: _Unit) -> None:
        if unit.block is not None and self._pipeline is not None:
            unit.binding.clear()
            self._in_use = None
            self._pipeline.release()
        self._units_done += 1
        now = time.perf_counter()
        if now - self._last_emit >= PROGRESS_INTERVAL_S:
            self._report(unit, now, self._bytes_read)

    def _on_wait(self, block: StreamedBlock, ticket: ReadTicket) -> None:
        self._cancel.raise_if_cancelled()
        unit = next(unit for unit in self._units if unit.block is block)
        self._report(unit, time.perf_counter(), self._bytes_read + ticket.bytes_done)

    def _report(self, unit: _Unit, now: float, bytes_read: int) -> None:
        bytes_read += self.expert_counts.read_nbytes - self._expert_bytes_before
        self._last_emit = now
        elapsed = now - self._pass_started
        left = None
        if self.last_pass_s is not None and self._kind is PassKind.DECODE:
            left = max(self.last_pass_s - elapsed, 0.0)
        elif self._units_done:
            left = elapsed / self._units_done * max(self._units_expected - self._units_done, 0)
        self._emit(
            LayerProgress(
                kind=self._kind,
                token_index=self._token_index,
                block=min(self._units_done, self._units_expected),
                blocks=self._units_expected,
                block_name=unit.name,
                is_resident=unit.block is None,
                bytes_read=bytes_read,
                bytes_per_second=bytes_read / elapsed if elapsed > 0 else 0.0,
                pass_seconds_left=left,
            )
        )

    @contextmanager
    def _reading(self, block: BlockEntry) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise DamagedFile(
                f"The block {block.name} of {self._manifest.model} cannot be read from the disk.",
                "Verify the model, and repair it from its original if it is damaged.",
                files=(block.file,),
                detail=repr(error),
            ) from error


def _open_all(folder: Path, blocks: Iterable[BlockEntry], manifest: Manifest) -> dict[str, ReadHandle]:
    """The files of ``blocks``, of embeddings and tables, open; or none of them. Raises ``OSError``."""
    entries = {block.name: block for block in (*blocks, *(b for b in manifest.blocks if b.kind == "embed"))}
    with ExitStack() as opened:
        handles = {name: opened.enter_context(ReadHandle(folder / block.file)) for name, block in entries.items()}
        for table in manifest.tables:
            handles[table.name] = opened.enter_context(ReadHandle(folder / table.file, is_random=True))
        opened.pop_all()
    return handles
