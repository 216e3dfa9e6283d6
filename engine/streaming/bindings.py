"""Model parameters as views into memory that comes and goes. Owns the map from tensors to module attributes."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import nn

from engine.store.manifest import TensorEntry
from engine.weights.absent_weight import AbsentWeight
from engine.weights.dtypes import TORCH_DTYPES


@dataclass(frozen=True, slots=True)
class Place:
    """One attribute of one module: the registry that holds it, its key, and what it holds while empty."""

    registry: dict[str, Any]
    key: str
    empty: torch.Tensor
    is_parameter: bool


@dataclass(frozen=True, slots=True)
class Binding:
    """Everything a block fills: each stored tensor with all the places it appears in (tied ones several)."""

    places: tuple[tuple[TensorEntry, tuple[Place, ...]], ...]

    def views_into(self, memory: torch.Tensor) -> BoundViews:
        """Permanent views of the block's tensors into ``memory`` (uint8, 1-D, the file's data section)."""
        bound: list[tuple[dict[str, Any], str, torch.Tensor]] = []
        for entry, places in self.places:
            view = tensor_view(memory, entry)
            parameter = nn.Parameter(view, requires_grad=False)
            bound += [(p.registry, p.key, parameter if p.is_parameter else view) for p in places]
        return BoundViews(tuple(bound))

    def clear(self) -> None:
        """Puts the empty tensors back."""
        for _, places in self.places:
            for place in places:
                place.registry[place.key] = place.empty


@dataclass(frozen=True, slots=True)
class BoundViews:
    """Ready-made views; ``put`` is a handful of dictionary writes."""

    bound: tuple[tuple[dict[str, Any], str, torch.Tensor], ...]

    def put(self) -> None:
        for registry, key, tensor in self.bound:
            registry[key] = tensor


def mark_absent(model: nn.Module, device: torch.device) -> None:
    """Puts an ``AbsentWeight`` where a parameter or buffer of ``model`` is an empty tensor (on the meta device)."""
    for path, module in model.named_modules():
        for registry in (cast(dict[str, Any], module._parameters), module._buffers):
            for key, tensor in registry.items():
                if tensor is not None and tensor.is_meta:
                    registry[key] = AbsentWeight.of(f"{path}.{key}", tensor, device)


def bind_tensors(
    model: nn.Module, entries: Iterable[TensorEntry], aliases: Mapping[str, str], *, only: str | None = None
) -> Binding:
    """The places of ``entries`` in ``model``. With ``only``, just the places under that module's path."""
    names_of: dict[str, list[str]] = {}
    for alias, stored in aliases.items():
        names_of.setdefault(stored, []).append(alias)
    places: list[tuple[TensorEntry, tuple[Place, ...]]] = []
    for entry in entries:
        names = [entry.name, *names_of.get(entry.name, ())]
        if only is not None:
            names = [name for name in names if name.startswith(only + ".")]
        if names:
            places.append((entry, tuple(place_of(model, name) for name in names)))
    return Binding(tuple(places))


def place_of(model: nn.Module, name: str) -> Place:
    path, _, key = name.rpartition(".")
    module = model.get_submodule(path)
    is_parameter = key in module._parameters
    registry: dict[str, Any] = module._parameters if is_parameter else module._buffers
    return Place(registry, key, registry[key], is_parameter)


def tensor_view(memory: torch.Tensor, entry: TensorEntry) -> torch.Tensor:
    """One stored tensor as a view into its block's memory."""
    flat = memory[entry.offset : entry.offset + entry.nbytes]
    return flat.view(TORCH_DTYPES[entry.dtype]).view(entry.shape)
