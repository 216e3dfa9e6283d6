"""What a model would cost here, before a weight is read: bytes on the disk, memory by tier, seconds per token."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from engine.backends.base import Backend
from engine.backends.torch_backend import open_backend
from engine.errors import UnsupportedModel
from engine.generation.context_size import cache_bytes, planned_context
from engine.hub_access import HubAccess
from engine.load_options import LoadOptions
from engine.loading import choose_budgets
from engine.probe import measure_folder_speed, measure_speeds
from engine.reports import ModelPlan
from engine.store.disk_plan import BlockDemand, plan_disk
from engine.store.download import learnt_model
from engine.store.download_work import WHOLE, plan_room
from engine.store.manifest import SourceKind
from engine.store.model_config import read_config
from engine.store.model_store import ModelStore
from engine.store.open_source import open_source
from engine.store.original_files import drive_of, remaining_files
from engine.store.source import Source
from engine.store.source_plan import plan_source
from engine.store.split_plan import SplitPlan
from engine.streaming.block_roles import block_size, block_sizes, expert_sizes
from engine.streaming.residency import BlockSize, ExpertSizes, Speeds, plan_residency

_PROBE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class _Room:
    """Bytes on the models' drive: to begin, at the peak, in the end."""

    first_bytes: int
    peak_bytes: int
    after_bytes: int


@dataclass(frozen=True, slots=True)
class _Shape:
    """A model's outline, whether it is cut already or not."""

    architecture: str
    dtype: torch.dtype
    config: dict[str, Any]
    blocks: list[BlockSize]
    experts: ExpertSizes | None
    disk: _Room
    is_cut: bool


def plan_model(source_text: str, store: ModelStore, options: LoadOptions, *, delete_original: bool) -> ModelPlan:
    """Raises ``EngineError`` with the reason where the model cannot run here."""
    source = open_source(source_text)
    shape = _shape_of(source, store, delete_original=delete_original)
    return _plan_shape(shape, store.folder_for(source.record).name, store, options)


def plan_hub_model(
    repo: str, access: HubAccess, store: ModelStore, options: LoadOptions, *, keep_download: bool
) -> ModelPlan:
    """The same for ``owner/name[@revision]`` on the hub. Fetches its small files and the heads of its weights."""
    with learnt_model(repo, access, store) as model:
        name = store.folder_for(model.source.record).name
        if model.kind is not SourceKind.SAFETENSORS:
            raise UnsupportedModel(
                f"{model.repo.title} has pickled weights, whose contents only the whole download tells.",
                "Download it without a plan, or choose a version with safetensors files.",
            )
        finished = store.find_finished(model.source.record)
        if finished is not None:
            return _plan_shape(_shape_of(model.source, store, delete_original=False), name, store, options)
        split = plan_source(model.source, untied=frozenset())
        room = plan_room(model, split, split.blocks, deletes=not keep_download, ahead=WHOLE if keep_download else 1)
        split.tensors.close()
        disk = _Room(room.first_bytes, room.peak_bytes, room.after_bytes)
        shape = _shape_of_split(split, disk)
        return replace(_plan_shape(shape, name, store, options), download_bytes=model.download_bytes)


def _plan_shape(shape: _Shape, name: str, store: ModelStore, options: LoadOptions) -> ModelPlan:
    backend = open_backend(options.device)
    budgets = choose_budgets(shape.blocks, shape.dtype, shape.config, backend, options, shape.experts)
    plan = plan_residency(shape.blocks, budgets, is_unified=backend.is_unified, experts=shape.experts)
    speeds = _measure(backend, shape.dtype, store)
    context = planned_context(shape.config, options.context)
    return ModelPlan(
        model=name,
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
        streamed_bytes=plan.read_bytes,
        cache_bytes=cache_bytes(shape.config, context, shape.dtype.itemsize),
        context=context,
        disk_bytes_per_second=speeds.disk,
        predicted_s_per_token=plan.predict_pass_s(speeds),
    )


def _shape_of(source: Source, store: ModelStore, *, delete_original: bool) -> _Shape:
    manifest = store.find_finished(source.record)
    if manifest is not None:
        config = read_config(store.folder_for(source.record))
        dtype = getattr(torch, manifest.dtype)
        experts = expert_sizes(manifest.experts)
        blocks = block_sizes(manifest)
        return _Shape(manifest.architecture, dtype, config, blocks, experts, _Room(0, 0, 0), is_cut=True)
    split = plan_source(source, untied=frozenset())
    split.tensors.close()
    return _shape_of_split(split, _plan_disk(source, split, store, delete_original=delete_original))


def _shape_of_split(split: SplitPlan, disk: _Room) -> _Shape:
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
            if block.records is None
        ],
        expert_sizes(block.entry(block.layout.size, "") for block in split.blocks),
        disk,
        is_cut=False,
    )


def _plan_disk(source: Source, split: SplitPlan, store: ModelStore, *, delete_original: bool) -> _Room:
    plan = plan_disk(
        [BlockDemand(block.spec.name, block.layout.size, block.source_files) for block in split.blocks],
        remaining_files(source),
        delete_original=delete_original and source.is_deletable,
        is_same_drive=drive_of(store.models_folder) == drive_of(source.root),
    )
    return _Room(plan.first_bytes, plan.peak_bytes, plan.after_bytes)


def _measure(backend: Backend, dtype: torch.dtype, store: ModelStore) -> Speeds:
    """The disk is measured where models live; where nothing can be written there, on the files it holds."""
    folder = _existing(store.models_folder)
    models = [model for model in store.list() if model.manifest][:1]
    files = [model.folder / block.file for model in models if model.manifest for block in model.manifest.blocks]
    speeds = measure_speeds(backend, dtype, files)
    with contextlib.suppress(OSError):
        return Speeds(measure_folder_speed(folder, _PROBE_BYTES), speeds.memory, speeds.bus)
    return speeds


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder
