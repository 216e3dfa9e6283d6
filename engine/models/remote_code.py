"""The classes that come with a model as Python code, once the user allowed that code to run.

Whether it may run is not decided here: see ``engine.store.remote_code``. Old code imports names from where transformers
4 had them; those it still has elsewhere are put back.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel
from transformers.dynamic_module_utils import get_class_from_dynamic_module
from transformers.utils import generic
from transformers.utils.output_capturing import OutputRecorder, capture_outputs

from engine.errors import UnsupportedModel

_CAUSAL, _IMAGE_TEXT = "AutoModelForCausalLM", "AutoModelForImageTextToText"


def read_code_config(folder: Path) -> PreTrainedConfig:
    """config.json by the config class in ``folder``. Runs that code; raises whatever it raises."""
    restore_moved_names()
    return AutoConfig.from_pretrained(folder, trust_remote_code=True)


def find_code_class(config: PreTrainedConfig, folder: Path) -> type[PreTrainedModel]:
    """The model class in ``folder`` that generates text. Raises ``UnsupportedModel`` where there is none."""
    restore_moved_names()
    classes: dict[str, str] = getattr(config, "auto_map", None) or {}
    is_seeing = any(name.endswith("ForConditionalGeneration") for name in config.architectures or [])
    order = (_IMAGE_TEXT, _CAUSAL, "AutoModel") if is_seeing else (_CAUSAL, _IMAGE_TEXT, "AutoModel")
    for name in order:
        if name in classes:
            found: Any = get_class_from_dynamic_module(classes[name], folder)
            if isinstance(found, type) and issubclass(found, PreTrainedModel) and found.can_generate():
                return found
    raise UnsupportedModel(
        f"The Python code of this model (type “{config.model_type}”) has no class that generates text.",
        "Choose a chat or text-generation model.",
    )


def restore_moved_names() -> None:
    """``transformers.utils.generic`` had ``OutputRecorder``, and a ``check_model_inputs`` that recorded outputs.

    The one transformers 5.24 still has there, deprecated, records none and takes no options.
    """
    generic.OutputRecorder = OutputRecorder  # pyright: ignore[reportAttributeAccessIssue]
    generic.check_model_inputs = _check_model_inputs


def _check_model_inputs(func: Callable[..., Any] | None = None, *, tie_last_hidden_states: bool = True) -> Any:
    """transformers 4.57's decorator, made of the two that took its place. With and without parentheses."""
    if func is None:
        return lambda decorated: _check_model_inputs(decorated, tie_last_hidden_states=tie_last_hidden_states)
    return generic.merge_with_config_defaults(capture_outputs(func, tie_last_hidden_states=tie_last_hidden_states))
