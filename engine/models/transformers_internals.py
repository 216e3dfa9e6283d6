"""transformers' internals, as ``served_experts`` and ``quantised_loading``: empty models, load-time weight conversion.

transformers 5 renames, merges, splits and transposes checkpoint tensors while it loads them. The same
machinery runs here, one *conversion group* at a time (the smallest set of checkpoint tensors that
converts together), so that a split holds the model's own parameters and no more than one group is in
memory. ``tests/unit/engine/test_transformers_internals.py`` fails loudly when a release moves any of it.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import torch
from accelerate import init_empty_weights
from torch import nn
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import (
    Concatenate,
    MergeModulelist,
    WeightConverter,
    WeightRenaming,
    convert_and_load_state_dict_in_model,
    dot_natural_key,
    rename_source_key,
)
from transformers.modeling_outputs import MoeCausalLMOutputWithPast
from transformers.modeling_utils import LoadStateDictConfig
from transformers.utils import logging as transformers_logging

from engine.models.packed_experts import PackedParameter, find_packing
from engine.models.quantised_loading import EXPANDING, is_beside_packed

LazyTensor = Any
"""Anything whose ``[...]`` gives a ``torch.Tensor``: a safetensors slice, a mapped tensor, our own reader."""

if not hasattr(MoeCausalLMOutputWithPast, "image_outputs"):
    # Llama4ForConditionalGeneration of transformers 5.24 asks its language model's output for it, and fails.
    MoeCausalLMOutputWithPast.image_outputs = None  # pyright: ignore[reportAttributeAccessIssue]


@dataclass(frozen=True, slots=True)
class TensorShape:
    """Shape and dtype of one tensor; its values are elsewhere."""

    shape: tuple[int, ...]
    dtype: torch.dtype

    @property
    def nbytes(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class ConversionGroup:
    """Checkpoint tensors that convert together, and the model tensors that come out.

    ``copies`` are the sources in the order in which their numbers, one after the other and at most cast to another
    dtype, are the one target: a renamed tensor, or experts merged into one. Such a group can be copied piece by
    piece. Empty where the numbers have to be moved about.
    """

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    copies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversionPlan:
    """How a whole checkpoint becomes the model's tensors, known from names and shapes alone.

    ``unused`` are checkpoint tensors the model has no place for; ``missing`` model tensors nothing fills;
    ``problems`` one line for each tensor that cannot be converted or has the wrong shape. ``packed`` are the model
    tensors whose groups give their packed parts instead.
    """

    groups: tuple[ConversionGroup, ...]
    tensors: Mapping[str, TensorShape]
    unused: tuple[str, ...]
    missing: tuple[str, ...]
    problems: tuple[str, ...]
    packed: Mapping[str, PackedParameter] = field(default_factory=dict[str, PackedParameter])


def build_empty_model(
    model_class: type[PreTrainedModel], config: PreTrainedConfig, dtype: torch.dtype
) -> PreTrainedModel:
    """A model whose parameters are on the meta device and whose computed buffers (rotary tables) are real.

    Experts run ``eager``: it is the reference every other experts implementation is compared with.
    """
    with _HugeTensorsOnMeta(), init_empty_weights(include_buffers=False):
        model = model_class._from_config(config, dtype=dtype, experts_implementation="eager")
    model.tie_weights()
    _compute_buffers(model)
    return model.eval()


class _HugeTensorsOnMeta(TorchFunctionMode):
    """Makes a tensor that is larger than any computed table on the meta device in the first place.

    accelerate 1.15 lets every parameter be made in memory before it moves it there: a stack of 896 experts asks for
    39 GB, which a system refuses even where they would never be touched.
    """

    _FACTORIES = frozenset({torch.empty, torch.zeros, torch.ones, torch.rand, torch.randn})
    _LIMIT_BYTES = 1 << 30

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in self._FACTORIES:
            empty = func(*args, **kwargs | {"device": "meta"})
            if empty.nbytes > self._LIMIT_BYTES:
                return empty
        return func(*args, **kwargs)


def _compute_buffers(model: PreTrainedModel) -> None:
    """Computes the buffers no checkpoint carries once more, as a plain load does.

    While a model is built its dtype is torch's default, and a table computed in it (GPT-J's sinusoids) is
    rounded; a plain load computes it after the weights, in float32.
    """
    for module in model.modules():
        if module._non_persistent_buffers_set:
            vars(module)["_is_hf_initialized"] = False
    model.initialize_weights()


_EXPERT_NUMBER = re.compile(r"(?<=\.experts\.)\d+(?=\.)")


class CheckpointConversion:
    """transformers' load-time conversion of one checkpoint into one empty model.

    ``weight_mapping`` and ``quantizer`` replace the model's own conversion where the format brings another (GGUF).
    """

    def __init__(
        self,
        model: PreTrainedModel,
        dtype: torch.dtype,
        *,
        weight_mapping: list[Any] | None = None,
        quantizer: Any | None = None,
    ) -> None:
        self._model = model
        self._dtype = dtype
        self._dtype_plan = model._get_dtype_plan(dtype)
        self._quantizer = quantizer
        mapping = get_model_conversion_mapping(model) if weight_mapping is None else weight_mapping
        self._mapping: list[Any] = deepcopy(mapping)
        for entry in self._mapping:
            # force_cpu keeps a huge table off the accelerator; here it would drag a plan off the meta device.
            if isinstance(entry, WeightConverter):
                entry.force_cpu = False
        self._converters: dict[str, WeightConverter] = {
            pattern: entry
            for entry in self._mapping
            if isinstance(entry, WeightConverter)
            for pattern in entry.source_patterns
        }
        self._model_tensors: dict[str, torch.Tensor] = dict(model.state_dict(keep_vars=True))
        self._owners = {name: _owner_of(model, name) for name in self._model_tensors}

    def plan(self, checkpoint: Mapping[str, TensorShape], *, packable: Collection[str] = ()) -> ConversionPlan:
        """Converts shapes only, on the meta device: nothing of the checkpoint's data is read.

        ``packable`` are stacked experts that stay packed where the checkpoint has them packed.
        """
        tensors: dict[str, TensorShape] = {}
        groups: list[ConversionGroup] = []
        unused: list[str] = []
        problems: list[str] = []
        source_groups = self._source_groups(checkpoint)
        packed = self._find_packed(source_groups, checkpoint, packable)
        for name, parameter in packed.items():
            tensors[name] = TensorShape(tuple(self._model_tensors[name].shape), self._model_tensors[name].dtype)
            for part in parameter.parts:
                target = part.name_of(name)
                tensors[target] = TensorShape(part.shape, part.dtype)
                groups.append(ConversionGroup(part.sources, (target,), part.sources))
            del source_groups[name]
        # What is only copied arrives under the group's own name, so one load tells it for all such groups.
        copies_of = {name: _copy_order(keys, self._converters) for name, keys in source_groups.items()}
        copied = [key for name, keys in source_groups.items() if copies_of[name] for key, _ in keys]
        arrived, complaints = self._load_shapes(checkpoint, copied)
        problems += complaints
        for name, found in source_groups.items():
            keys, copies = [key for key, _ in found], copies_of[name]
            if copies:
                produced = {name: arrived[name]} if name in arrived else {}
            else:
                produced, complaints = self._load_shapes(checkpoint, keys)
                problems += complaints
            if produced:
                groups.append(ConversionGroup(tuple(keys), tuple(produced), copies))
                tensors |= produced
            else:
                unused.extend(keys)
        missing = [name for name in self._model_tensors if name not in tensors]
        return ConversionPlan(
            tuple(groups), tensors, tuple(unused), tuple(self._required(missing)), tuple(problems), packed
        )

    def _find_packed(
        self,
        source_groups: Mapping[str, Sequence[tuple[str, str | None]]],
        checkpoint: Mapping[str, TensorShape],
        packable: Collection[str],
    ) -> dict[str, PackedParameter]:
        found: dict[str, PackedParameter] = {}
        for name in packable:
            keys = source_groups.get(name, ())
            if not keys or keys[0][1] is None:
                continue
            converter = self._converters[keys[0][1]]
            target = self._model_tensors[name]
            patterns: Sequence[str] = converter.source_patterns
            packing = find_packing(converter.operations, keys, patterns, checkpoint, tuple(target.shape), target.dtype)
            if packing is not None:
                found[name] = packing
        return found

    def _load_shapes(
        self, checkpoint: Mapping[str, TensorShape], keys: Sequence[str]
    ) -> tuple[dict[str, TensorShape], list[str]]:
        """What these checkpoint tensors become, on the meta device, and what went wrong."""
        empty = {key: torch.empty(checkpoint[key].shape, dtype=checkpoint[key].dtype, device="meta") for key in keys}
        with self._loaded(empty, "meta") as (produced, complaints):
            shapes = {name: TensorShape(tuple(tensor.shape), tensor.dtype) for name, tensor in produced.items()}
            return shapes, complaints

    def convert(self, group: ConversionGroup, load: Callable[[str], LazyTensor]) -> dict[str, torch.Tensor]:
        """The group's model tensors, contiguous on the CPU in the model's dtype. Reads its sources through ``load``."""
        with self._loaded({key: load(key) for key in group.sources}, "cpu") as (produced, complaints):
            if complaints or tuple(produced) != group.targets:
                raise RuntimeError(f"conversion changed under us: {group} gave {complaints or list(produced)}")
            return {name: tensor.detach().contiguous() for name, tensor in produced.items()}

    def _source_groups(self, checkpoint: Mapping[str, object]) -> dict[str, list[tuple[str, str | None]]]:
        """Checkpoint keys by the model tensor they are collected under, each with the converter's pattern it matched,
        as the loader itself does it.
        """
        renamings = [entry for entry in self._mapping if isinstance(entry, WeightRenaming)]
        converters = [entry for entry in self._mapping if isinstance(entry, WeightConverter)]
        prefix = self._model.base_model_prefix
        groups: dict[str, list[tuple[str, str | None]]] = {}

        @functools.cache
        def rename(key: str) -> tuple[str, str | None]:
            return rename_source_key(key, renamings, converters, prefix, self._model_tensors)

        for key in sorted(checkpoint, key=dot_natural_key):
            # Experts go where the first of their layer goes; asked one by one, half a million take a minute.
            name, pattern = rename(_EXPERT_NUMBER.sub("0", key))
            if pattern is None or ".experts.0." in name:
                name, pattern = rename(key)
            if name not in self._model_tensors and key in self._model_tensors:
                name, pattern = key, None
            groups.setdefault(name, []).append((key, pattern))
        return groups

    @contextmanager
    def _loaded(
        self, state: Mapping[str, LazyTensor], device: str
    ) -> Generator[tuple[dict[str, torch.Tensor], list[str]]]:
        """Loads ``state`` into the empty model, yields what arrived and what went wrong, and empties it again."""
        load_config = LoadStateDictConfig(
            weight_mapping=self._mapping,
            dtype=self._dtype,
            dtype_plan=self._dtype_plan,
            device_map={"": device},
            hf_quantizer=self._quantizer,
        )
        with _quiet_sequential_load():
            info, _ = convert_and_load_state_dict_in_model(self._model, dict(state), load_config)
        produced: dict[str, torch.Tensor] = {}
        try:
            for name, empty in self._model_tensors.items():
                registry, leaf = self._owners[name]
                if (tensor := registry[leaf]) is not empty:
                    produced[name] = tensor
            complaints = [
                f"{name} has shape {list(found)}, the model wants {list(wanted)}"
                for name, found, wanted in info.mismatched_keys
            ]
            complaints += [f"{name}: {_last_line(text)}" for name, text in info.conversion_errors.items()]
            yield produced, complaints
        finally:
            for name in produced:
                registry, leaf = self._owners[name]
                registry[leaf] = self._model_tensors[name]

    def _required(self, missing: Sequence[str]) -> list[str]:
        """Of the missing tensors, those that are neither tied to a present one nor computed by the model."""
        tied = getattr(self._model, "all_tied_weights_keys", {})
        optional = [*(self._model._keys_to_ignore_on_load_missing or ())]
        buffers = {name for name, _ in self._model.named_buffers()}
        absent = set(missing)

        def is_filled(name: str) -> bool:
            if name in buffers or any(re.search(pattern, name) for pattern in optional):
                return True
            partners = {tied[name]} if name in tied else set()
            partners |= {alias for alias, source in tied.items() if source in (name, tied.get(name))}
            return any(partner not in absent for partner in partners)

        return [name for name in missing if not is_filled(name)]


def _copy_order(keys: Sequence[tuple[str, str | None]], converters: Mapping[str, WeightConverter]) -> tuple[str, ...]:
    """The keys of a group (with the pattern each one matched) in the order of their bytes in the target, or nothing.

    Stacking along the first dimension and joining along it put whole tensors one after the other; stacking each
    of several lists and joining the results along the second dimension takes one tensor of each list in turn.
    """
    patterns = {pattern for _, pattern in keys}
    if patterns == {None}:
        return (keys[0][0],) if len(keys) == 1 else ()
    if None in patterns:
        return ()
    converter = converters[next(pattern for pattern in patterns if pattern is not None)]
    lists = [[key for key, found in keys if found == pattern] for pattern in converter.source_patterns]
    lists = [found for found in lists if found]
    is_whole = sum(map(len, lists)) == len(keys)
    operations: list[Any] = converter.operations
    if isinstance(operations[0], EXPANDING) and not any(is_beside_packed(str(pattern)) for pattern in patterns):
        # Nothing packed among these: the operation only casts.
        if len(operations) == 1:
            return (keys[0][0],) if len(keys) == 1 else ()
        operations = operations[1:]
    match [(type(operation), getattr(operation, "dim", None)) for operation in operations]:
        case [(op, 0)] if op is Concatenate and is_whole:
            return tuple(key for found in lists for key in found)
        case [(op, 0)] if op is MergeModulelist and is_whole and len(lists) == 1:
            return tuple(lists[0])
        case [(op, 0), (then, 1)] if op is MergeModulelist and then is Concatenate and is_whole:
            is_even = len({len(found) for found in lists}) == 1
            return tuple(key for row in zip(*lists, strict=True) for key in row) if is_even else ()
        case _:
            return ()


def _owner_of(model: nn.Module, name: str) -> tuple[dict[str, Any], str]:
    """The dictionary of a module that holds this parameter or buffer, and its key there."""
    path, _, leaf = name.rpartition(".")
    module = model.get_submodule(path)
    return (module._parameters if leaf in module._parameters else module._buffers), leaf


@contextmanager
def _quiet_sequential_load() -> Generator[None]:
    """No progress bar, and no thread pool that would read a whole group's sources ahead of their conversion."""
    before = os.environ.get("HF_DEACTIVATE_ASYNC_LOAD")
    bars = transformers_logging.is_progress_bar_enabled()
    os.environ["HF_DEACTIVATE_ASYNC_LOAD"] = "1"
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if bars:
            transformers_logging.enable_progress_bar()
        if before is None:
            del os.environ["HF_DEACTIVATE_ASYNC_LOAD"]
        else:
            os.environ["HF_DEACTIVATE_ASYNC_LOAD"] = before


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
