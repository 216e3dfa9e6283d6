"""Which modules of a decoder layer can be brought in one by one, where all of it is too much for one slot.

A module's forward is what brings its weights in, so a module is only taken apart if its parts are used through
their forwards.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import nn

from engine.models.block_limits import LARGE_LAYER_BYTES, SMALL_MODULE_BYTES
from engine.models.model_code import ModelCode


class LayerDivision:
    """Divides the layers of one model."""

    def __init__(self, model: nn.Module, code: ModelCode) -> None:
        self._model = model
        self._code = code

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
        return [path] if any(self._code.enters_otherwise(part) for part in parts) else parts
