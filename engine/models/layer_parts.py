"""Which modules of a decoder layer can be brought in one by one, where all of it is too much for one slot.

A module's forward is what brings its weights in, so a module is only taken apart if its parts are used through
their forwards. That is told from the source, as transformers tells whether a model has experts: a kernel that is given
``self.conv1d.weight`` reads past the convolution's forward.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Mapping

from torch import nn

from engine.models.block_limits import LARGE_LAYER_BYTES, SMALL_MODULE_BYTES


class LayerDivision:
    """Divides the layers of one model."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        modules = {type(module).__module__ for module in model.modules()}
        self._sources = {_source_of(name) for name in modules if not name.startswith("torch.")}
        self._known: dict[str, bool] = {}

    def parts_of(self, path: str, sizes: Mapping[str, int]) -> list[str]:
        """The modules that take the place of the layer at ``path``; none where it stays in one piece.

        ``sizes`` are the bytes of its tensors. What is in none of the modules is small.
        """
        parts = self._divide(path, sizes)
        return [] if parts == [path] else parts

    def _divide(self, path: str, sizes: Mapping[str, int]) -> list[str]:
        """A module is divided if it is large and has its numbers in modules of its own; a list of modules, which
        itself is never called, in any case.
        """
        module = self._model.get_submodule(path)
        inside = {
            f"{path}.{child}": {name: size for name, size in sizes.items() if name.startswith(f"{path}.{child}.")}
            for child, _ in module.named_children()
        }
        own = sum(sizes.values()) - sum(sum(part.values()) for part in inside.values())
        large = [child for child, part in inside.items() if sum(part.values()) > SMALL_MODULE_BYTES]
        is_list = isinstance(module, nn.ModuleList | nn.ModuleDict)
        is_large = is_list or sum(sizes.values()) > LARGE_LAYER_BYTES
        if not is_large or not large or own > SMALL_MODULE_BYTES:
            return [path]
        parts = [part for child in large for part in self._divide(child, inside[child])]
        return [path] if any(self._is_entered_otherwise(part) for part in parts) else parts

    def _is_entered_otherwise(self, path: str) -> bool:
        """Whether the model's code names a parameter, or a method beside forward, by way of this module."""
        module = self._model.get_submodule(path)
        names = [name for name, _ in module.named_parameters(recurse=False)]
        own_classes = [base for base in type(module).__mro__ if not base.__module__.startswith(("torch.", "builtins"))]
        names += [name for base in own_classes for name, value in vars(base).items() if inspect.isfunction(value)]
        used = {name for name in names if not name.startswith("__")} - {"forward"}
        pattern = rf"\.{re.escape(path.rpartition('.')[2])}\.({'|'.join(sorted(map(re.escape, used)))})\b"
        if used and pattern not in self._known:
            self._known[pattern] = any(re.search(pattern, source) for source in self._sources)
        return bool(used) and self._known[pattern]


@functools.cache
def _source_of(module: str) -> str:
    try:
        return inspect.getsource(sys.modules[module])
    except (OSError, TypeError):
        return ""
