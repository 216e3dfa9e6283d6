"""A split made ready to run: empty skeleton, residency plan, attached streamer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn
from transformers import GenerationConfig, PreTrainedConfig, PreTrainedModel

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.errors import UnsupportedModel
from engine.events import LoadProgress
from engine.models.architecture import config_for, find_model_class, read_model_config
from engine.models.transformers_internals import build_empty_model
from engine.store.manifest import Manifest, read_manifest
from engine.streaming.bindings import place_of
from engine.streaming.block_roles import block_sizes, expert_sizes
from engine.streaming.residency import Budgets, ResidencyPlan, plan_residency
from engine.streaming.streamer import Streamer
from engine.weights.reader import DEFAULT_THREADS

log = logging.getLogger(__name__)


@dataclass(slots=True)
class LoadedModel:
    """Everything a runner needs. ``close`` detaches the hooks and gives the memory back."""

    folder: Path
    manifest: Manifest
    config: PreTrainedConfig
    generation_config: GenerationConfig
    model: PreTrainedModel
    backend: Backend
    plan: ResidencyPlan
    streamer: Streamer

    @property
    def vocabulary_rows(self) -> int:
        """Token ids run from 0 to one less."""
        embedding: Any = self.model.get_input_embeddings()
        return int(embedding.weight.shape[0])

    def close(self) -> None:
        self.streamer.close()


def open_model(
    folder: Path,
    backend: Backend,
    budgets: Budgets,
    *,
    cancel: CancelToken,
    on_progress: Callable[[LoadProgress], None] = lambda progress: None,
    reader_threads: int = DEFAULT_THREADS,
    runs_code: bool = False,
) -> LoadedModel:
    """Raises ``BudgetTooSmall`` before anything is read, ``DamagedFile``, ``UnsupportedModel``, ``Cancelled``.

    ``runs_code``: the user has allowed the Python code that came with this model; without it, none is run.
    Also what the system raises where a file cannot be opened or memory cannot be had: ``OSError``, ``MemoryError``.
    """
    manifest = read_manifest(folder)
    experts = expert_sizes(manifest.experts)
    plan = plan_residency(block_sizes(manifest), budgets, is_unified=backend.is_unified, experts=experts)
    code = folder if manifest.code and runs_code else None
    config = read_model_config(folder, runs_code=code is not None)
    try:
        model = _empty_model(manifest, config, code)
        streamer = Streamer(model, manifest, folder, plan, backend, reader_threads=reader_threads)
    except BaseException:
        backend.close()
        raise
    try:
        for progress in streamer.load_resident(cancel):
            on_progress(progress)
        generation_config = _generation_config(folder, model)
    except BaseException:
        streamer.close()
        raise
    return LoadedModel(folder, manifest, config, generation_config, model, backend, plan, streamer)


def _empty_model(manifest: Manifest, config: PreTrainedConfig, code: Path | None) -> PreTrainedModel:
    known_class = getattr(transformers, manifest.architecture, None) if code is None else None
    model_class = known_class or find_model_class(config, code=code)
    model = build_empty_model(model_class, config_for(model_class, config), getattr(torch, manifest.dtype))
    for name in manifest.untied:
        place = place_of(model, name)
        place.registry[place.key] = nn.Parameter(place.empty.clone(), requires_grad=False)
    whole = (*manifest.blocks, *manifest.tables)
    known = {tensor.name for block in whole for tensor in block.tensors} | set(manifest.aliases)
    known |= {f"{entry.module}.{name}" for entry in manifest.experts for name in entry.parameters}
    lost = known - set(model.state_dict(keep_vars=True))
    if lost:
        raise UnsupportedModel(
            f"{manifest.model} was cut with transformers {manifest.transformers_version}, and the"
            f" {transformers.__version__} here builds this model differently ({min(lost)} is gone).",
            "Cut the model again from its original.",
        )
    return model


def _generation_config(folder: Path, model: PreTrainedModel) -> GenerationConfig:
    try:
        if (folder / "generation_config.json").is_file():
            return GenerationConfig.from_pretrained(folder)
    except (OSError, ValueError, TypeError) as error:
        log.warning("generation_config.json of %s cannot be read, its config serves instead: %r", folder, error)
    return GenerationConfig.from_model_config(model.config)
