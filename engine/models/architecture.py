"""Which transformers class runs a config, judged by what the class can do."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import transformers
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
)

from engine.errors import UnsupportedModel
from engine.models.known_classes import require_known_architecture
from engine.models.own_models import register_own_models
from engine.models.remote_code import find_code_class, read_code_config


def read_model_config(folder: Path, *, runs_code: bool = False) -> PreTrainedConfig:
    """config.json of a checkpoint or a split, by transformers or by a model of our own.

    ``runs_code``: by the Python code in the folder, which the user has to have allowed. Raises what transformers, or
    that code, raises for a config that contradicts itself.
    """
    if runs_code:
        return read_code_config(folder)
    register_own_models()
    return AutoConfig.from_pretrained(folder, trust_remote_code=False)


def find_model_class(config: PreTrainedConfig, *, code: Path | None = None) -> type[PreTrainedModel]:
    """The class that generates text from this config. ``code`` is the folder whose Python code has it.

    The architecture the config names comes first; then the Auto mappings, image-text classes ahead for
    ``…ForConditionalGeneration``. Raises ``UnsupportedModel`` where no class can generate, and for a name that is
    none of transformers': weights of one class run as another give nonsense.
    """
    if code is not None:
        return find_code_class(config, code)
    names = list(config.architectures or [])
    require_known_architecture(names, config.model_type)
    candidates = [getattr(transformers, name, None) for name in names]
    mappings = [MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING]
    if any(name.endswith("ForConditionalGeneration") for name in names):
        mappings.reverse()
    candidates += [mapping.get(type(config), None) for mapping in mappings]
    for candidate in candidates:
        if isinstance(candidate, type) and issubclass(candidate, PreTrainedModel) and candidate.can_generate():
            if getattr(config, "is_encoder_decoder", False):
                break
            return candidate
    named = f" ({names[0]})" if names else ""
    kind = "an encoder-decoder" if getattr(config, "is_encoder_decoder", False) else "not a text-generating"
    raise UnsupportedModel(
        f"This is {kind} model of type “{config.model_type}”{named}; Strata runs decoder-only language models.",
        "Choose a chat or text-generation model.",
    )


def find_text_class(config: PreTrainedConfig) -> type[PreTrainedModel] | None:
    """The class of the language part alone, for a model whose other parts cannot be built here; None where there is
    no such part.
    """
    text = config.get_text_config(decoder=True)
    return None if text is config else cast(Any, MODEL_FOR_CAUSAL_LM_MAPPING).get(type(text), None)


def config_for(model_class: type[PreTrainedModel], config: PreTrainedConfig) -> PreTrainedConfig:
    """What a class is built from: the config of the model, or of its language part."""
    is_whole = model_class.config_class is None or isinstance(config, model_class.config_class)
    return config if is_whole else config.get_text_config(decoder=True)
