"""How fast a model decodes here, against what the same reads take without a model."""

from __future__ import annotations

import statistics
import time
from collections import deque
from pathlib import Path

from engine.cancel import CancelToken
from engine.generation.kv_cache import KvCache
from engine.generation.torch_runner import TorchRunner
from engine.load_options import LoadOptions
from engine.loading import load_model
from engine.reports import BenchReport
from engine.store.manifest import BlockEntry
from engine.streaming.loaded_model import LoadedModel
from engine.streaming.ranged_weight import range_entries
from engine.streaming.residency import Tier
from engine.weights.direct_io import ReadHandle, aligned_buffer
from engine.weights.reader import DEFAULT_THREADS, Reader, ReadTicket

_PROMPT_TOKENS = 32
_ROUNDS = 3


def measure_model(folder: Path, options: LoadOptions, *, passes: int, cancel: CancelToken) -> BenchReport:
    """One prompt of 32 tokens, then three rounds of ``passes`` decoding passes, each between two bare readings.

    A machine's disk drifts within a minute, so a round is compared with the bare readings around it. The first
    pass of a round is not counted: its first blocks were read before it began.
    """
    predicted: list[float | None] = []

    def note(event: object) -> None:
        predicted.append(getattr(event, "predicted_s_per_token", None))

    loaded = load_model(folder, options, note, cancel)
    try:
        decoding = _Decoding(loaded, cancel)
        first_pass_s = decoding.time_pass()
        bare = [_time_bare_reads(loaded, decoding.count_misses(1))]
        rounds: list[float] = []
        shares: list[float] = []
        for _ in range(_ROUNDS):
            decoding.time_pass()
            decoding.count_misses(1)
            rounds.append(statistics.median(decoding.time_pass() for _ in range(passes)))
            bare.append(_time_bare_reads(loaded, decoding.count_misses(passes)))
            shares.append(statistics.fmean(bare[-2:]) / rounds[-1])
        decoding.close()
        plan = loaded.plan
        is_streaming = plan.read_bytes > 0
        return BenchReport(
            model=loaded.manifest.model,
            device=loaded.backend.name,
            passes=_ROUNDS * passes,
            s_per_token=statistics.median(rounds),
            first_pass_s=first_pass_s,
            streamed_bytes=plan.streamed_bytes + round(decoding.missed_bytes_per_pass),
            resident_bytes=plan.device_bytes + plan.host_bytes,
            limit_s_per_token=statistics.median(bare) if is_streaming else None,
            share_of_limit=statistics.median(shares) if is_streaming else None,
            predicted_s_per_token=predicted[-1],
            mispredictions=loaded.streamer.mispredictions,
        )
    finally:
        loaded.close()


class _Decoding:
    """Decoding of one prompt, a pass at a time. Sampled: a text that repeats itself asks for the same experts again."""

    def __init__(self, loaded: LoadedModel, cancel: CancelToken) -> None:
        self._loaded = loaded
        self._misses = self._read_nbytes = 0
        self.missed_bytes_per_pass = 0.0
        cache = KvCache(loaded.model)
        cache.reset()
        prompt = [(3 + i) % loaded.vocabulary_rows for i in range(_PROMPT_TOKENS)]
        self._tokens = TorchRunner(loaded).decode(
            prompt,
            cache,
            {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0},
            seed=0,
            emit=lambda event: None,
            cancel=cancel,
        )

    def count_misses(self, passes: int) -> int:
        """Experts read per pass since this was last asked, over the ``passes`` in between."""
        counts = self._loaded.streamer.expert_counts
        misses = round((counts.misses - self._misses) / passes)
        self.missed_bytes_per_pass = (counts.read_nbytes - self._read_nbytes) / passes
        self._misses, self._read_nbytes = counts.misses, counts.read_nbytes
        return misses

    def time_pass(self) -> float:
        started = time.perf_counter()
        next(self._tokens)
        return time.perf_counter() - started

    def close(self) -> None:
        self._tokens.close()


def _time_bare_reads(loaded: LoadedModel, experts: int) -> float:
    """Seconds for one pass' reads: the same files in the same order, as far ahead as the slots allow.

    ``experts`` records of routed experts are among them; which ones does not matter to a disk.
    """
    plan = loaded.plan
    reads: list[tuple[BlockEntry, int, int]] = [
        (block, block.data_offset, block.data_nbytes)
        for block in range_entries(loaded.manifest.blocks, plan.ranges)
        if plan.tier(block.name) is Tier.DISK and block.kind in ("layer", "head", "part")
    ]
    for number in range(experts):
        entry = loaded.manifest.experts[number % len(loaded.manifest.experts)]
        # A step that is no divisor of the usual counts, so that no two are next to each other.
        reads.append((entry, entry.record_offset(number * 37 % entry.count), entry.record_nbytes))
    if not reads:
        return 0.0
    reader = Reader(DEFAULT_THREADS)
    handles = {entry.name: ReadHandle(loaded.folder / entry.file) for entry, _, _ in reads}
    slot_count = sum(slots.count for slots in plan.device_slots) + (plan.experts.floor if plan.experts else 0)
    slots = [aligned_buffer(max(nbytes for _, _, nbytes in reads)) for _ in range(max(slot_count, 1))]
    pending: deque[ReadTicket] = deque()
    try:
        started = time.perf_counter()
        for index, (entry, offset, nbytes) in enumerate(reads):
            if len(pending) == len(slots):
                pending.popleft().wait()
            slot = slots[index % len(slots)]
            pending.append(reader.submit(handles[entry.name], offset, nbytes, slot))
        for ticket in pending:
            ticket.wait()
        return time.perf_counter() - started
    finally:
        reader.close()
        for handle in handles.values():
            handle.close()
