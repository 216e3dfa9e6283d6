"""What stands where a module has a weight whose numbers are not there.

It has the weight's shape and dtype, and the device the numbers will come to, so that whoever only asks about these is
answered. Whoever computes with it, copies it or writes into it gets an error with its name: an empty tensor would
vanish in some operations, and leave wrong numbers. Costs nothing while it is not used.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Self

import torch
from torch.utils._pytree import tree_leaves

from engine.errors import UnsupportedModel


class AbsentWeight(torch.Tensor):
    """Has no memory. A subclass may answer some uses in ``__torch_function__``."""

    _name_in_model: str

    @classmethod
    def of(cls, name: str, empty: torch.Tensor, device: torch.device) -> Self:
        """In place of ``empty`` (its shape and dtype); ``name`` is the model's own."""
        weight: Self = torch.Tensor._make_wrapper_subclass(
            cls, empty.shape, strides=empty.stride(), dtype=empty.dtype, device=device
        )
        weight._name_in_model = name
        # What torch goes by to tell a parameter of another class than its own.
        vars(weight)["_is_param"] = isinstance(empty, torch.nn.Parameter)
        return weight

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func in _PAST_DISPATCH:
            _refuse(func, args)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Every operation of torch arrives here; what a tensor knows without its numbers does not."""
        _refuse(func, (args, kwargs))

    def __repr__(self, *, tensor_contents: object = None) -> str:
        return f"{type(self).__name__}({self._name_in_model}, {list(self.shape)}, {self.dtype})"


_PAST_DISPATCH = frozenset({vars(torch._C.TensorBase)["data"].__set__, torch.Tensor.data_ptr})
"""What gives a tensor other memory, or its memory to others, and is no operation of torch."""


def _refuse(func: object, args: object) -> NoReturn:
    used = next(leaf for leaf in tree_leaves(args) if isinstance(leaf, AbsentWeight))
    raise UnsupportedModel(
        f"This model uses the weight {used._name_in_model} while it is not in memory, so it cannot be read from the"
        " disk.",
        "Allow enough memory (--ram) to hold all of it.",
        detail=str(func),
    )
