"""The names of transformers' classes, without importing torch."""

from __future__ import annotations

import functools

import transformers

from engine.errors import UnsupportedModel
from engine.models.own_models import OWN_ARCHITECTURES


def require_known_architecture(names: list[str], model_type: str) -> None:
    """Raises ``UnsupportedModel`` where none of a config's ``architectures`` is a class of transformers or our own.

    The weights of one class run as another give nonsense. Case does not count: LLaMAForCausalLM is older than its
    class.
    """
    if names and not any(name.casefold() in _class_names() for name in names):
        raise UnsupportedModel(
            f"The architecture {names[0]} is not known to this version of Strata (model type “{model_type}”).",
            "Check whether a newer version of Strata knows it, or choose another model.",
        )


@functools.cache
def _class_names() -> frozenset[str]:
    # dir() names what transformers would import when asked for it; it imports nothing.
    return frozenset(name.casefold() for name in (*dir(transformers), *OWN_ARCHITECTURES))
