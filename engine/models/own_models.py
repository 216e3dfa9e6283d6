"""The models Strata brings itself because transformers does not know them: their names, and their one registration.

The names cost nothing to know; the classes, and torch with them, are imported when a model is built.
"""

from __future__ import annotations

import functools

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
