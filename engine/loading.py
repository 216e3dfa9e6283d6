"""From a split and the user's limits to a loaded model: device, budgets, prediction."""

from __future__ import annotations

import errno
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import torch

from engine.backends.base import Backend
from engine.backends.torch_backend import open_backend
from engine.cancel import CancelToken
from engine.errors import DamagedFile, EngineError, OutOfMemory
from engine.events import Event, Loaded
from engine.generation.context_size import cache_bytes, planned_context
from engine.load_options import LoadOptions
from engine.probe import measure_speeds
from engine.store.image_support import accepts_images
from engine.store.manifest import Manifest, read_manifest
from engine.store.model_config import read_config
from engine.store.verifier import check_sizes
from engine.streaming.block_roles import block_sizes, expert_sizes
from engine.streaming.budgets import NOTHING_RETURNED, FreeMemory, plan_budgets
from engine.streaming.loaded_model import LoadedModel, open_model
from engine.streaming.prediction import predict_pass_s
from engine.streaming.residency import SLOTS_WANTED, BlockSize, Budgets, ExpertSizes, Role


def load_model(folder: Path, options: LoadOptions, emit: Callable[[Event], None], cancel: CancelToken) -> LoadedModel:
    """Emits ``LoadProgress`` and one ``Loaded``. Raises ``EngineError`` or ``Cancelled``."""
    manifest = read_manifest(folder)
    check_sizes(folder, manifest)
    backend = open_backend(options.device)
    dtype = getattr(torch, manifest.dtype)
    experts = expert_sizes(manifest.experts)
    budgets = choose_budgets(block_sizes(manifest), dtype, read_config(folder), backend, options, experts)
    with _explained(manifest):
        loaded = open_model(folder, backend, budgets, cancel=cancel, on_progress=emit, runs_code=options.runs_code)
    plan = loaded.plan
    emit(
        Loaded(
            model=manifest.model,
            device=backend.name,
            blocks=loaded.streamer.block_count,
            device_bytes=plan.device_bytes,
            host_bytes=plan.host_bytes,
            streamed_bytes=plan.read_bytes,
            slot_bytes=plan.slot_bytes,
            predicted_s_per_token=_predict(loaded),
            accepts_images=accepts_images(read_config(folder), manifest.side_files, folder),
        )
    )
    return loaded


def choose_budgets(
    blocks: Sequence[BlockSize],
    dtype: torch.dtype,
    config: dict[str, Any],
    backend: Backend,
    options: LoadOptions,
    experts: ExpertSizes | None = None,
    returned: FreeMemory = NOTHING_RETURNED,
) -> Budgets:
    """Bytes for weights and slots on this backend, now; ``returned`` is what the model loaded now would give back."""
    if options.nothing_resident:
        once = max(block.nbytes for block in blocks if block.role.is_whole)
        always = sum(block.nbytes for block in blocks if block.role is Role.ALWAYS)
        slots = SLOTS_WANTED * once + (experts.floor_nbytes if experts else 0)
        return Budgets(always + slots, 0 if backend.is_unified else slots)
    tokens = planned_context(config, options.context)
    reserve = cache_bytes(config, tokens, dtype.itemsize)
    host = psutil.virtual_memory().available + returned.host
    free = FreeMemory(host, None if backend.is_unified else backend.memory().free + (returned.device or 0))
    return plan_budgets(free, vram=options.vram, ram=options.ram, cache_bytes=reserve)


def _predict(loaded: LoadedModel) -> float | None:
    """Seconds per token from speeds measured now; None where measuring them is refused."""
    dtype = getattr(torch, loaded.manifest.dtype)
    files = [loaded.folder / block.file for block in loaded.manifest.blocks if block.kind == "layer"]
    try:
        speeds = measure_speeds(loaded.backend, dtype, files[:8])
    except (OSError, EngineError):
        return None
    return predict_pass_s(loaded.plan, speeds, loaded.streamer.expected_hit_rate)


@contextmanager
def _explained(manifest: Manifest) -> Generator[None]:
    """What the system refuses while a model is loaded, as the user's situation."""
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.ENOMEM:
            raise DamagedFile(
                f"A file of {manifest.model} cannot be read: {error.strerror or error}.",
                "Verify the model, and check that its folder can be read.",
                detail=repr(error),
            ) from error
        raise OutOfMemory(
            f"There is not enough memory free to load {manifest.model} as planned.",
            "Close other programs, or allow it less memory (--ram, --vram).",
            detail=repr(error),
        ) from error
