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
from engine.streaming.loaded_model import LoadedModel
from engine.streaming.residency import Tier
from engine.weights.direct_io import ReadHandle, aligned_buffer
from engine.weights.reader import DEFAULT_THREADS, Reader, ReadTicket

_PROMPT_TOKENS = 32


def measure_model(folder: Path, options: LoadOptions, *, passes: int, cancel: CancelToken) -> BenchReport:
    """One prompt of 32 tokens, then ``passes`` decoding passes; the bare reads are timed before and after."""
    predicted: list[float | None] = []

    def note(event: object) -> None:
        predicted.append(getattr(event, "predicted_s_per_token", None))

    loaded = load_model(folder, options, note, cancel)
    try:
        bare = [_time_bare_reads(loaded)]
        times = _time_passes(loaded, passes, cancel)
        bare.append(_time_bare_reads(loaded))
        plan = loaded.plan
        limit = statistics.fmean(bare) if plan.streamed_bytes else None
        s_per_token = statistics.median(times[1:])
        return BenchReport(
            model=loaded.manifest.model,
            device=loaded.backend.name,
            passes=passes,
            s_per_token=s_per_token,
            first_pass_s=times[0],
            streamed_bytes=plan.streamed_bytes,
            resident_bytes=plan.device_bytes + plan.host_bytes,
            limit_s_per_token=limit,
            share_of_limit=limit / s_per_token if limit is not None else None,
            predicted_s_per_token=predicted[-1],
            mispredictions=loaded.streamer.mispredictions,
        )
    finally:
        loaded.close()


def _time_passes(loaded: LoadedModel, passes: int, cancel: CancelToken) -> list[float]:
    runner, cache = TorchRunner(loaded), KvCache(loaded.model)
    cache.reset()
    prompt = [(3 + i) % loaded.vocabulary_rows for i in range(_PROMPT_TOKENS)]
    times: list[float] = []
    tokens = runner.decode(prompt, cache, {"do_sample": False}, seed=0, emit=lambda event: None, cancel=cancel)
    for _ in range(passes + 1):
        started = time.perf_counter()
        next(tokens)
        times.append(time.perf_counter() - started)
    tokens.close()
    return times


def _time_bare_reads(loaded: LoadedModel) -> float:
    """Seconds for one pass' reads: the same files in the same order, as far ahead as the slots allow."""
    blocks = [
        block
        for block in loaded.manifest.blocks
        if loaded.plan.tier(block.name) is Tier.DISK and block.kind in ("layer", "head", "part")
    ]
    if not blocks:
        return 0.0
    reader = Reader(DEFAULT_THREADS)
    handles = [ReadHandle(loaded.folder / block.file) for block in blocks]
    slots = [
        aligned_buffer(max(block.data_nbytes for block in blocks))
        for _ in range(max(sum(slots.count for slots in loaded.plan.device_slots), 1))
    ]
    pending: deque[ReadTicket] = deque()
    try:
        started = time.perf_counter()
        for index, (block, handle) in enumerate(zip(blocks, handles, strict=True)):
            if len(pending) == len(slots):
                pending.popleft().wait()
            slot = slots[index % len(slots)]
            pending.append(reader.submit(handle, block.data_offset, block.data_nbytes, slot))
        for ticket in pending:
            ticket.wait()
        return time.perf_counter() - started
    finally:
        reader.close()
        for handle in handles:
            handle.close()
