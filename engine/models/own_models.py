"""The models Strata brings itself because transformers does not know them: their names, and their one registration.

The names cost nothing to know; the classes, and torch with them, are imported when a model is built.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

OWN_MODEL_TYPES = frozenset({"kimi_k3", "kimi_k3_text"})
OWN_ARCHITECTURES = frozenset({"KimiK3ForConditionalGeneration", "KimiK3ForCausalLM"})


@functools.cache
def register_own_models() -> None:
    """Makes transformers' Auto classes and its load-time conversion know them, as if they were its own."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

    from engine.models.kimi_k3.configuration import KimiK3Config, KimiK3TextConfig
    from engine.models.kimi_k3.conversion import register_conversions
    from engine.models.kimi_k3.modeling import KimiK3ForCausalLM, KimiK3ForConditionalGeneration

    AutoConfig.register(KimiK3Config.model_type, KimiK3Config)
    AutoConfig.register(KimiK3TextConfig.model_type, KimiK3TextConfig)
    AutoModelForCausalLM.register(KimiK3TextConfig, KimiK3ForCausalLM)
    AutoModelForImageTextToText.register(KimiK3Config, KimiK3ForConditionalGeneration)
    register_conversions()


def read_own_tokenizer(folder: Path) -> PreTrainedTokenizerBase | None:
    """The tokenizer of a model of ours that is published in a form transformers does not read; None for all others.

    Raises ``OSError``, ``ValueError`` or ``KeyError`` where its files are damaged.
    """
    if not _has_own_tokenizer(folder):
        return None
    from engine.models.kimi_k3.tokenizer import read_tokenizer

    return read_tokenizer(folder)


def read_own_processor(folder: Path, tokenizer: PreTrainedTokenizerBase) -> Any | None:
    """What turns images into a prompt's tokens and tensors, called as transformers' processors are; None for models
    that are not ours. Raises as ``read_own_tokenizer`` does.
    """
    if not _has_own_tokenizer(folder):
        return None
    from engine.models.kimi_k3.image_processor import read_processor

    return read_processor(folder, tokenizer)


def own_chat_template(folder: Path) -> str:
    """The chat template that ``read_own_tokenizer`` would give its tokenizer; "" for all other models."""
    from engine.models.kimi_k3.chat_template import CHAT_TEMPLATE

    return CHAT_TEMPLATE if _has_own_tokenizer(folder) else ""


def _has_own_tokenizer(folder: Path) -> bool:
    try:
        model_type = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type")
    except (OSError, ValueError, AttributeError):
        return False
    is_published_form = (folder / "tiktoken.model").is_file() and not (folder / "tokenizer.json").is_file()
    return model_type in OWN_MODEL_TYPES and is_published_form
