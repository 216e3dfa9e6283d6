"""What the Python code of a model's classes does with its modules, told from its source.

As transformers tells whether a model has experts: a kernel that is given ``self.conv1d.weight`` reads past the
convolution's forward, which is what brings its weights in.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys

from torch import nn

_TOLD_ANYWAY = frozenset({"dtype", "device", "shape", "requires_grad"})
"""What a weight tells of itself while its numbers are away."""


class ModelCode:
    """The code of one model."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        modules = {type(module).__module__ for module in model.modules()}
        self._chains = frozenset[tuple[str, str]]().union(*(_chains_in(name) for name in modules))

    def enters_otherwise(self, path: str) -> bool:
        """Whether it names a parameter, or a method beside forward, by way of the module at ``path``."""
        module = self._model.get_submodule(path)
        names = [name for name, _ in module.named_parameters(recurse=False)]
        own_classes = [base for base in type(module).__mro__ if not base.__module__.startswith(("torch.", "builtins"))]
        names += [name for base in own_classes for name, value in vars(base).items() if inspect.isfunction(value)]
        attribute = path.rpartition(".")[2]
        used = {name for name in names if not name.startswith("__")} - {"forward"}
        return any((attribute, name) in self._chains for name in used)


@functools.cache
def _chains_in(module: str) -> frozenset[tuple[str, str]]:
    """("conv1d", "weight") for every ``….conv1d.weight`` that is used for more than what it tells of itself."""
    if module.startswith("torch."):
        return frozenset()
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError):
        return frozenset()
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    asked = {id(node.value) for node in attributes if node.attr in _TOLD_ANYWAY}
    return frozenset(
        (node.value.attr, node.attr)
        for node in attributes
        if isinstance(node.value, ast.Attribute) and id(node) not in asked
    )
