"""An experts module that runs its own eager code on experts that come and go: by transformers' experts interface, or
in place of its forward where it multiplies the batch of all experts.

Owns what is registered and replaced there; knows nothing of slots, caches and files.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, cast

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS

EXPERTS_IMPLEMENTATION = "strata"

ServeExperts = Callable[[torch.Tensor], AbstractContextManager[Iterable[int] | None]]
"""Entered around an experts module's forward with the indices it was routed to.

Gives the order in which the experts had better be computed, or None where their own order is as good.
"""


def has_experts_interface(module: nn.Module) -> bool:
    """Whether transformers lets another implementation run this experts module."""
    return all(hasattr(module, name) for name in ("has_gate", "has_bias", "is_transposed"))


def is_batched(module: nn.Module) -> bool:
    """Whether its forward takes the states of all experts, one expert after the other, and multiplies batches.

    Such a module (llama4's) computes every expert for every token; those that a token was not routed to got zeros,
    and give zeros. Told from the source: a parameter is used in ``torch.bmm``, as a batch, or for its count.
    """
    forward = type(module).forward
    try:
        source = inspect.getsource(forward)
    except (OSError, TypeError):
        return False
    parameters = [name for name, _ in module.named_parameters(recurse=False)]
    return len(inspect.signature(forward).parameters) == 2 and all(_is_batch(name, source) for name in parameters)


def _is_batch(parameter: str, source: str) -> bool:
    uses, products, counts = (
        len(re.findall(pattern.format(parameter), source))
        for pattern in (r"self\.{}\b", r"torch\.bmm\(.*, self\.{}\)", r"self\.{}\.shape\[0\]")
    )
    return products > 0 and uses == products + counts


def serve_experts(model: PreTrainedModel, path: str, parts: Mapping[str, object], serve: ServeExperts) -> None:
    """Has the experts module at ``path`` run its eager code inside ``serve``, with ``parts`` as its parameters.

    A part stands for a packed parameter: its ``[expert]`` gives one expert's tensor. The eager code of every family
    that has the interface uses its parameters in no other way.
    """
    module = model.get_submodule(path)
    if not has_experts_interface(module):
        vars(module).update(parts)
        vars(module)["forward"] = partial(_run_batched_experts, module, frozenset(parts), serve)
        return
    ALL_EXPERTS_FUNCTIONS.register(EXPERTS_IMPLEMENTATION, _run_served_experts)
    if getattr(module.config, "_experts_implementation", None) != EXPERTS_IMPLEMENTATION:
        model.set_experts_implementation(EXPERTS_IMPLEMENTATION)
    if getattr(module.config, "_experts_implementation", None) != EXPERTS_IMPLEMENTATION:
        # A model whose class is in another file than its experts is taken to have none.
        cast(Any, module.config)._experts_implementation = EXPERTS_IMPLEMENTATION
    vars(module)[_SERVE_KEY] = serve
    vars(module)[_SUM_KEY] = _sums_in_its_own_dtype(_eager_forward(module))
    # Found before the parameters of the same names, which stay empty.
    vars(module).update(parts)


def release_experts(model: PreTrainedModel, path: str, names: Iterable[str]) -> None:
    """Takes back what ``serve_experts`` did to one module."""
    for name in (_SERVE_KEY, _SUM_KEY, "forward", *names):
        vars(model.get_submodule(path)).pop(name, None)


_SERVE_KEY = "_strata_serve"
_SUM_KEY = "_strata_sums_in_its_own_dtype"

EagerExperts = Callable[[nn.Module, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""(module, hidden states [tokens, hidden], indices [tokens, k], weights [tokens, k]) → [tokens, hidden]."""


def _run_served_experts(module: nn.Module, *args: Any, **kwargs: Any) -> torch.Tensor:
    eager = _eager_forward(module)
    serve: ServeExperts | None = vars(module).get(_SERVE_KEY)
    if serve is None:
        return eager(module, *args, **kwargs)
    if kwargs:  # families give these arguments different names
        args = inspect.signature(eager).bind(module, *args, **kwargs).args[1:]
    states, indices, weights = args
    with serve(indices) as order:
        if order is None or not vars(module)[_SUM_KEY] or states.ndim != 2:
            return eager(module, states, indices, weights)
        return _run_in_order(module, eager, order, (states, indices, weights))


_CPU_BATCH = 2
"""One matrix alone is shared by the processor's threads, and then added up otherwise than in a batch of experts."""


class _OneExpert:
    """Stands for a batched experts module that has one expert, ``copies`` times."""

    def __init__(self, module: nn.Module, parts: Container[str], expert: int, copies: int) -> None:
        self._module = module
        self._parts = parts
        self._expert = expert
        self._copies = copies

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if name not in self._parts:
            return value
        part: torch.Tensor = value[self._expert]
        return part.expand(self._copies, *part.shape)


def _run_batched_experts(
    module: nn.Module, parts: Container[str], serve: ServeExperts, states: torch.Tensor
) -> torch.Tensor:
    """``states`` [experts x tokens, hidden], zeros for whom a token is not routed to → the same shape.

    The module's own code for each expert that got anything else than zeros.
    """
    forward: Any = type(module).forward
    rows = states.view(cast(int, module.num_experts), -1, states.shape[-1])
    routed = rows.ne(0).flatten(1).any(1).nonzero().flatten()
    copies = _CPU_BATCH if states.device.type == "cpu" else 1
    total = torch.zeros_like(rows)
    with serve(routed.expand(rows.shape[1], -1)) as order:
        for expert in routed.tolist() if order is None else order:
            one = _OneExpert(module, parts, expert, copies)
            total[expert] = forward(one, rows[expert].repeat(copies, 1))[: rows.shape[1]]
    return total.view(states.shape)


def _run_in_order(
    module: nn.Module,
    eager: EagerExperts,
    order: Iterable[int],
    routed: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
) -> torch.Tensor:
    """The eager code for one expert at a time, in any order; what comes out is added up in the experts' own order.

    The same bits: an expert sees the same rows in the same order, and its result, added to zeros and then to the
    others, is rounded only where the eager code rounds it.
    """
    states, indices, weights = routed
    parts: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
    for expert in order:
        place, token = torch.where((indices == expert).T)
        one = torch.full((len(token), 1), expert, dtype=indices.dtype, device=indices.device)
        parts[expert] = token, eager(module, states[token], one, weights[token, place, None])
    total = torch.zeros_like(states)
    for expert in sorted(parts):
        total.index_add_(0, *parts[expert])
    return total


def _eager_forward(module: nn.Module) -> EagerExperts:
    """What ``use_experts_implementation`` wrapped."""
    return cast(Any, type(module).forward).__wrapped__


def _sums_in_its_own_dtype(eager: EagerExperts) -> bool:
    """Whether experts are added up in the dtype of the states, so that a single one's result can be taken apart.

    Told from the source, as transformers tells whether a model has experts at all; some families add in float32.
    """
    try:
        source = inspect.getsource(eager)
    except (OSError, TypeError):
        return False
    return re.search(r"zeros_like\(hidden_states(, dtype=hidden_states\.dtype\b[^)]*)?\)", source) is not None
