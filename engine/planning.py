"""What a model would cost here, before a weight is read: bytes on the disk, memory by tier, seconds per token."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from engine.backends.base import Backend
from engine.backends.torch_backend import open_backend
from engine.generation.context_size import cache_bytes, planned_context
from engine.load_options import LoadOptions
from engine.loading import choose_budgets
from engine.probe import measure_folder_speed, measure_speeds
from engine.reports import ModelPlan
from engine.store.disk_plan import BlockDemand, DiskPlan, plan_disk
from engine.store.model_config import read_config
from engine.store.model_store import ModelStore
from engine.store.open_source import open_source
from engine.store.original_files import drive_of, remaining_files
from engine.store.source import Source
from engine.store.source_plan import plan_source
from engine.store.split_plan import SplitPlan
from engine.streaming.block_roles import block_size, block_sizes
from engine.streaming.residency import BlockSize, Speeds, plan_residency

_PROBE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class _Shape:
    """A model's outline, whether it is cut already or not."""

    architecture: str
    dtype: torch.dtype
    config: dict[str, Any]
    blocks: list[BlockSize]
    disk: DiskPlan
    is_cut: bool


def plan_model(source_text: str, store: ModelStore, options: LoadOptions, *, delete_original: bool) -> ModelPlan:
    """Raises ``EngineError`` with the reason where the model cannot run here."""
    source = open_source(source_text)
    shape = _shape_of(source, store, delete_original=delete_original)
    backend = open_backend(options.device)
    budgets = choose_budgets(shape.blocks, shape.dtype, shape.config, backend, options)
    plan = plan_residency(shape.blocks, budgets, is_unified=backend.is_unified)
    speeds = _measure(backend, shape.dtype, store)
    context = planned_context(shape.config, options.context)
    return ModelPlan(
        model=store.folder_for(source.record).name,
        architecture=shape.architecture,
        dtype=str(shape.dtype).removeprefix("torch."),
        blocks=len(shape.blocks),
        is_cut=shape.is_cut,
        disk_now_bytes=shape.disk.first_bytes,
        disk_peak_bytes=shape.disk.peak_bytes,
        disk_after_bytes=shape.disk.after_bytes,
        disk_free_bytes=shutil.disk_usage(_existing(store.models_folder)).free,
        device=backend.name,
        device_bytes=plan.device_bytes,
        host_bytes=plan.host_bytes,
        slot_bytes=plan.slot_bytes,
        streamed_bytes=plan.streamed_bytes,
        cache_bytes=cache_bytes(shape.config, context, shape.dtype.itemsize),
        context=context,
        disk_bytes_per_second=speeds.disk,
        predicted_s_per_token=plan.predict_pass_s(speeds),
    )


def _shape_of(source: Source, store: ModelStore, *, delete_original: bool) -> _Shape:
    manifest = store.find_finished(source.record)
    if manifest is not None:
        disk = plan_disk([], {}, delete_original=False, is_same_drive=True)
        config = read_config(store.folder_for(source.record))
        dtype = getattr(torch, manifest.dtype)
        return _Shape(manifest.architecture, dtype, config, block_sizes(manifest), disk, is_cut=True)
    split = plan_source(source, untied=frozenset())
    try:
        return _Shape(
            split.architecture,
            split.dtype,
            split.config.to_dict(),
            [
                block_size(
                    block.spec.name,
                    block.spec.kind.value,
                    block.layout.size - block.layout.data_offset,
                    block.layout.tensors,
                    split.structure.aliases,
                )
                for block in split.blocks
            ],
            _plan_disk(source, split, store, delete_original=delete_original),
            is_cut=False,
        )
    finally:
        split.tensors.close()


def _plan_disk(source: Source, split: SplitPlan, store: ModelStore, *, delete_original: bool) -> DiskPlan:
    return plan_disk(
        [BlockDemand(block.spec.name, block.layout.size, block.source_files) for block in split.blocks],
        remaining_files(source),
        delete_original=delete_original and source.is_deletable,
        is_same_drive=drive_of(store.models_folder) == drive_of(source.root),
    )


def _measure(backend: Backend, dtype: torch.dtype, store: ModelStore) -> Speeds:
    """The disk is measured where models live; where nothing can be written there, on the files it holds."""
    folder = _existing(store.models_folder)
    files = [folder / block.file for model in store.list()[:1] if model.manifest for block in model.manifest.blocks]
    speeds = measure_speeds(backend, dtype, files)
    with contextlib.suppress(OSError):
        return Speeds(measure_folder_speed(folder, _PROBE_BYTES), speeds.memory, speeds.bus)
    return speeds


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder
