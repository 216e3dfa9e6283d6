"""Second forms of model families, and the families that plain transformers cannot run tiny on a CPU.

Data only, like `tests.helpers.family_table`: a variant is named `model_type+variant` and laid over what
that table says of its model type.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.helpers.family_table import FULL, SLIDING, WINDOW, Special

IMAGE_TEXT = "AutoModelForImageTextToText"
VARIANTS: Mapping[str, Special] = {
    "deepseek_v2+lite": Special("queries without low rank", {"q_lora_rank": None, "topk_method": "greedy"}),
    "doge+moe": Special("experts are off by default", {"is_moe": True, "num_experts": 16}),
    "dory+last_loop": Special("only the last loop fills the cache", {"recurrent_kv_cache_mode": "last_loop"}),
    "falcon+alibi": Special("the 1B models", {"alibi": True, "multi_query": False, "bias": True, "num_kv_heads": 4}),
    "falcon+new_decoder": Special("the 40B models", {"new_decoder_architecture": True, "num_kv_heads": 2}),
    "gemma4_text+moe": Special(
        "the 26B model",
        {
            "enable_moe_block": True,
            "num_experts": 8,
            "top_k_experts": 2,
            "moe_intermediate_size": 32,
            "attention_k_eq_v": True,
            "num_global_key_value_heads": 1,
            "hidden_size_per_layer_input": 0,
        },
    ),
    "gemma4_text+shared_kv": Special(
        "the models for phones: late layers use earlier layers' cache",
        {
            "num_hidden_layers": 4,
            "layer_types": [SLIDING, FULL, SLIDING, FULL],
            "num_kv_shared_layers": 2,
            "use_double_wide_mlp": True,
        },
    ),
    "glm4_moe+qk_norm": Special("the largest model", {"use_qk_norm": True, "attention_bias": True}),
    "gpt_neox+sequential": Special("attention and MLP one after the other", {"use_parallel_residual": False}),
    "granitemoehybrid+dense": Special("the dense models", {"num_local_experts": 0}),
    "llama+dynamic_rope": Special(
        "the rotary table changes with the length",
        {
            "max_position_embeddings": 16,
            "rope_parameters": {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 10000.0},
        },
    ),
    "llama+llama3_rope": Special(
        "Llama 3.1 and later",
        {
            "tie_word_embeddings": True,
            "rope_parameters": {
                "rope_type": "llama3",
                "rope_theta": 10000.0,
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 32,
            },
        },
    ),
    "llama4+image_text": Special("as released, with its image encoder", auto_class=IMAGE_TEXT),
    "mllama+image_text": Special("as released, with its image encoder", auto_class=IMAGE_TEXT),
    "opt+projected": Special(
        "the 350M model",
        {"word_embed_proj_dim": 32, "do_layer_norm_before": False},
    ),
    "phi+qk_norm": Special("off by default", {"qk_layernorm": True}),
    "phi3+long_rope": Special(
        "the rotary table changes once the prompt is longer than the first training length",
        {
            "original_max_position_embeddings": 32,
            "rope_parameters": {
                "rope_type": "longrope",
                "rope_theta": 10000.0,
                "short_factor": [1.0] * 8,
                "long_factor": [2.0] * 8,
                "original_max_position_embeddings": 32,
            },
        },
    ),
    "qwen2+sliding": Special(
        "off by default",
        {"use_sliding_window": True, "sliding_window": WINDOW, "layer_types": [FULL, SLIDING, FULL]},
    ),
    "qwen2+tied": Special("the small models", {"tie_word_embeddings": True}),
    "qwen2_moe+mixed": Special("dense layers among sparse ones", {"mlp_only_layers": [1]}),
    "qwen3+tied": Special("the small models", {"tie_word_embeddings": True}),
    "qwen3+untied": Special("the large models", {"tie_word_embeddings": False}),
    "qwen3_5+image_text": Special("as released, with its image encoder", auto_class=IMAGE_TEXT),
    "qwen3_5_moe+image_text": Special("as released, with its image encoder", auto_class=IMAGE_TEXT),
    "qwen4_exp+image_text": Special("as released, with its image encoder", auto_class=IMAGE_TEXT),
    "stablelm+parallel": Special("StableLM 2 12B", {"use_parallel_residual": True, "qk_layernorm": True}),
    "zamba2+adapters": Special(
        "the 1.2B model",
        {
            "num_key_value_heads": 4,
            "use_shared_attention_adapter": True,
            "use_mem_rope": True,
            "adapter_rank": 8,
        },
    ),
}

_DRAFT_HEAD = (
    "a draft head: it reads the states and the keys of the model it drafts for "
    "(ValueError: inputs_embeds and shared_kv_states cannot be None)"
)
_MUSIC = (
    "not a language model but four streams of audio codes under a text encoder, and the auto class cannot "
    "build it (AttributeError: '{}' object has no attribute 'dropout')"
)
SKIPPED: Mapping[str, str] = {
    "gemma3n": "its image encoder is a timm model, and timm is not a dependency of Strata (ImportError: "
    "TimmWrapperModel requires the PIL library but it was not found); gemma3n_text is its language model",
    "gemma4_assistant": _DRAFT_HEAD,
    "gemma4_unified_assistant": _DRAFT_HEAD,
    "musicgen": _MUSIC.format("MusicgenConfig"),
    "musicgen_melody": _MUSIC.format("MusicgenMelodyConfig"),
}

NOTES: Mapping[str, str] = {
    "youtu": "transformers 5.24 zeroes the embedding's padding row after reading it (init.zeros_ of a view)",
    "zaya": "transformers 5.24 sets the last of balancing_biases to -1 after reading them (plain assignment in "
    "_init_weights)",
}
"""Families that plain transformers loads otherwise than they were saved. Their checkpoints are made of
what it loads, so that reading one again changes nothing."""
