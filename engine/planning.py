"""What a model would cost here, before a weight is read: bytes on the disk, memory by tier, seconds per token."""

from __future__ import annotations

import contextlib
import math
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
from engine.models.structure import BlockKind
from engine.probe import measure_bus_speed, measure_compute_speed
from engine.reports import ModelPlan
from engine.store.disk_plan import DEFAULT_FLOOR_BYTES
from engine.store.download import learnt_model, parse_repo
from engine.store.download_folder import find_home
from engine.store.download_work import WHOLE, plan_room
from engine.store.find_split import find_split
from engine.store.head_cache import HeadCache
from engine.store.image_support import accepts_images
from engine.store.manifest import SourceKind, read_manifest
from engine.store.model_config import read_config
from engine.store.model_store import ModelStore
from engine.store.open_source import open_source
from engine.store.progress_journal import ProgressJournal
from engine.store.source_plan import plan_source
from engine.store.split_plan import SplitPlan
from engine.store.split_progress import can_resume, find_done_blocks
from engine.store.splitter import plan_space
from engine.streaming.block_roles import block_size, block_sizes, expert_sizes
from engine.streaming.budgets import NOTHING_RETURNED, FreeMemory
from engine.streaming.prediction import Speeds, predict_pass_s
from engine.streaming.residency import BlockSize, ExpertSizes, ResidencyPlan, plan_residency
from engine.weights.read_speed import measure_folder_speed, measure_read_speed

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
    table_bytes: int
    accepts_images: bool


def plan_model(
    source_text: str,
    store: ModelStore,
    options: LoadOptions,
    *,
    delete_original: bool,
    returned: FreeMemory = NOTHING_RETURNED,
) -> ModelPlan:
    """A name of the store and a split's folder are planned as they are. Raises ``EngineError`` with the reason where
    the model cannot run here.

    ``returned``: bytes that the model loaded now would give back, as loading another one does.
    """
    folder = find_split(source_text, store)
    if folder is not None:
        return _plan_shape(_shape_of_cut(folder), folder, store, options, returned)
    source = open_source(source_text, store)
    folder = store.folder_for(source.record)
    store.require_connected(folder.parent)
    journal = ProgressJournal(folder)
    split = plan_source(source, untied=journal.untied() if can_resume(journal, source) else frozenset())
    split.tensors.close()
    disk = plan_space(split, folder, delete_original=delete_original, done=find_done_blocks(split, folder))
    room = _Room(disk.first_bytes, disk.peak_bytes, disk.after_bytes)
    return _plan_shape(_shape_of_split(split, room), folder, store, options, returned)


def plan_hub_model(
    repo: str,
    access: HubAccess,
    store: ModelStore,
    options: LoadOptions,
    *,
    keep_download: bool,
    heads: HeadCache | None = None,
    returned: FreeMemory = NOTHING_RETURNED,
) -> ModelPlan:
    """The same for ``owner/name[@revision]`` on the hub. Fetches its small files and the heads of its weights, unless
    ``heads`` has them.
    """
    store = find_home(store, *parse_repo(repo))
    with learnt_model(repo, access, store, heads) as model:
        folder = store.folder_for(model.source.record)
        store.require_connected(folder.parent)
        if model.kind is not SourceKind.SAFETENSORS:
            raise UnsupportedModel(
                f"{model.repo.title} has pickled weights, whose contents only the whole download tells.",
                "Download it without a plan, or choose a version with safetensors files.",
            )
        if store.find_finished(model.source.record) is not None:
            return _plan_shape(_shape_of_cut(folder), folder, store, options, returned)
        split = plan_source(model.source, untied=frozenset())
        room = plan_room(model, split, split.blocks, deletes=not keep_download, ahead=WHOLE if keep_download else 1)
        split.tensors.close()
        disk = _Room(room.first_bytes, room.peak_bytes, room.after_bytes)
        shape = _shape_of_split(split, disk)
        return replace(_plan_shape(shape, folder, store, options, returned), download_bytes=model.download_bytes)


def _plan_shape(
    shape: _Shape, folder: Path, store: ModelStore, options: LoadOptions, returned: FreeMemory
) -> ModelPlan:
    backend = open_backend(options.device)
    budgets = choose_budgets(shape.blocks, shape.dtype, shape.config, backend, options, shape.experts, returned)
    plan = plan_residency(shape.blocks, budgets, is_unified=backend.is_unified, experts=shape.experts)
    disk_speed = _measure_disk(folder.parent, store)
    context = planned_context(shape.config, options.context)
    return ModelPlan(
        model=folder.name,
        architecture=shape.architecture,
        dtype=str(shape.dtype).removeprefix("torch."),
        blocks=len(shape.blocks),
        is_cut=shape.is_cut,
        disk_now_bytes=shape.disk.first_bytes,
        disk_peak_bytes=shape.disk.peak_bytes,
        disk_after_bytes=shape.disk.after_bytes,
        disk_free_bytes=shutil.disk_usage(_existing(folder.parent)).free,
        device=backend.name,
        device_bytes=plan.device_bytes,
        host_bytes=plan.host_bytes,
        slot_bytes=plan.slot_bytes,
        streamed_bytes=plan.read_bytes,
        cache_bytes=cache_bytes(shape.config, context, shape.dtype.itemsize),
        context=context,
        disk_bytes_per_second=disk_speed,
        predicted_s_per_token=_predict(plan, disk_speed, backend, shape.dtype),
        disk_floor_bytes=0 if shape.is_cut else DEFAULT_FLOOR_BYTES,
        table_bytes=shape.table_bytes,
        accepts_images=shape.accepts_images,
        folder=str(folder.parent),
    )


def planned_block_sizes(split: SplitPlan) -> list[BlockSize]:
    """The blocks of a split to be, as ``block_sizes`` will give them once it is there."""
    return [
        block_size(
            block.spec.name,
            block.spec.kind.value,
            block.layout.size - block.layout.data_offset,
            block.layout.tensors,
            split.structure.aliases,
        )
        for block in split.blocks
        if block.spec.kind not in (BlockKind.EXPERTS, BlockKind.TABLE, BlockKind.DRAFT)
    ]


def planned_expert_sizes(split: SplitPlan) -> ExpertSizes | None:
    """The experts of a split to be; None where none stream by themselves."""
    return expert_sizes(block.entry(block.layout.size, "") for block in split.blocks)


def _shape_of_cut(folder: Path) -> _Shape:
    manifest = read_manifest(folder)
    dtype = getattr(torch, manifest.dtype)
    config = read_config(folder)
    return _Shape(
        manifest.architecture,
        dtype,
        config,
        block_sizes(manifest),
        expert_sizes(manifest.experts),
        _Room(0, 0, 0),
        is_cut=True,
        table_bytes=sum(entry.weight_nbytes for entry in manifest.tables),
        accepts_images=accepts_images(config, manifest.side_files, folder),
    )


def _shape_of_split(split: SplitPlan, disk: _Room) -> _Shape:
    config = split.config.to_dict()
    return _Shape(
        split.architecture,
        split.dtype,
        config,
        planned_block_sizes(split),
        planned_expert_sizes(split),
        disk,
        is_cut=False,
        table_bytes=sum(
            block.layout.size - block.layout.data_offset for block in split.blocks if block.spec.kind is BlockKind.TABLE
        ),
        accepts_images=accepts_images(config, split.source.side_files, split.source.root),
    )


def _measure_disk(place: Path, store: ModelStore) -> float | None:
    """Bytes per second in a folder of models; where nothing can be written there, of the files it holds."""
    with contextlib.suppress(OSError):
        return measure_folder_speed(_existing(place), _PROBE_BYTES)
    for model in store.list():
        if model.manifest is not None and model.folder.parent == place:
            files = [model.folder / block.file for block in model.manifest.blocks]
            with contextlib.suppress(OSError):
                return measure_read_speed(files, most_bytes=2 * _PROBE_BYTES)
    return None


def _predict(plan: ResidencyPlan, disk: float | None, backend: Backend, dtype: torch.dtype) -> float | None:
    if disk is None and plan.streamed_bytes:
        return None
    bus = None if backend.is_unified else measure_bus_speed(backend)
    compute = measure_compute_speed(backend, dtype)
    return predict_pass_s(plan, Speeds(disk or math.inf, compute.bytes_per_second, bus, compute.product_s))


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder
