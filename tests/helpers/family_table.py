"""What a model family's config must look like to be tiny: sizes by field name, and the exceptions.

Data only. `tests.helpers.families` reads it; this module knows no torch and no transformers.

An integer field of a config is lowered to its entry in `SIZE_LIMITS`, never raised. Fields in `VALUES`
are set as they stand. Where that is not enough the config's model type has an entry in `SPECIAL`.
`tests.helpers.family_variants` has the second forms of families and the families left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

VOCAB_SIZE = 288
"""Room for a byte-level tokenizer: 256 bytes, the special tokens and a few merges."""
WINDOW = 8

_LIMITS: tuple[tuple[int, str], ...] = (
    (VOCAB_SIZE, "vocab_size unpadded_vocab_size vocab_size_per_layer_input"),
    (64, "hidden_size d_model n_embd emb_dim embedding_dim lru_width attention_hidden_size"),
    (96, "intermediate_size intermediate_size_mlp dense_intermediate_size prefix_dense_intermediate_size"),
    (96, "ffn_dim ffn_hidden_size decoder_ffn_dim encoder_ffn_dim feed_forward_size dff dim_ff d_inner"),
    (32, "moe_intermediate_size moe_shared_expert_intermediate_size expert_ffn_hidden_size"),
    (32, "shared_intermediate_size shared_expert_intermediate_size shared_experts_intermediate_size"),
    (32, "embedding_size input_embedding_size output_embedding_size q_lora_rank kv_lora_rank o_lora_rank"),
    (3, "num_hidden_layers n_layer n_layers num_layers num_blocks depth"),
    (3, "decoder_layers encoder_layers num_decoder_layers num_encoder_layers"),
    (4, "num_attention_heads n_head n_heads num_heads attention_heads swa_num_attention_heads"),
    (4, "decoder_attention_heads encoder_attention_heads"),
    (4, "num_decoder_attention_heads num_encoder_attention_heads"),
    (4, "linear_num_heads linear_num_value_heads time_step_rank mamba_dt_rank d_rel"),
    (2, "num_key_value_heads num_kv_heads swa_num_key_value_heads linear_num_key_heads index_n_heads"),
    (2, "n_groups mamba_n_groups mamba_ngroups n_mamba_heads o_groups n_group num_expert_group"),
    (2, "num_experts_per_tok num_experts_per_token moe_topk moe_k top_k_experts"),
    (16, "head_dim dim_head d_head attention_head_size attention_head_dim kv_channels v_head_dim"),
    (16, "qk_nope_head_dim swa_head_dim index_head_dim linear_head_dim linear_key_head_dim"),
    (16, "linear_value_head_dim mamba_d_head mamba_head_dim mamba_headdim"),
    (16, "state_size ssm_state_size mamba_d_state local_attention"),
    (8, "num_experts n_routed_experts num_local_experts moe_num_experts qk_rope_head_dim rotary_dim"),
    (8, "mamba_n_heads mamba_num_heads index_topk rel_extent chunk_size mamba_chunk_size gated_norm_rank"),
    (WINDOW, "sliding_window sliding_window_size window_size attention_window_size attention_chunk_size"),
    (WINDOW, "local_attention_window_len"),
    (256, "max_position_embeddings n_positions n_ctx max_seq_len context_length model_max_length"),
    (256, "max_target_positions max_source_positions"),
    (1, "topk_group num_dense_layers first_k_dense_replace"),
    (1, "n_shared_experts num_shared_experts moe_num_shared_experts"),
    (24, "qk_head_dim"),
    (128, "mamba_d_ssm"),
)
SIZE_LIMITS: Mapping[str, int] = {name: limit for limit, names in _LIMITS for name in names.split()}

VALUES: Mapping[str, Any] = {
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "decoder_start_token_id": 1,
    "forced_eos_token_id": None,
    "use_cache": True,
    "is_decoder": True,
    "is_encoder_decoder": False,
}

NOT_PER_LAYER = frozenset({"moe_layers", "full_attn_idxs", "hybrid_layer_ids"})
"""Config lists that hold layer numbers: their length says nothing about the layers."""


@dataclass(frozen=True, slots=True)
class Special:
    """What one model type needs besides the general rules, and why."""

    reason: str
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Config fields; a mapping under a sub-config's name is laid over that sub-config."""
    dtype: str | None = None
    """The only dtype plain transformers runs the family in, where there is no choice."""
    auto_class: str = "AutoModelForCausalLM"


NO_DEFAULT = "the config's default is None, which the model cannot be built from"
NOT_COVERED = "the config's default has not every kind of layer that the family has"
ROPE: Mapping[str, Any] = {"rope_type": "default", "rope_theta": 10000.0}
FULL, SLIDING, LINEAR, HYBRID = "full_attention", "sliding_attention", "linear_attention", "hybrid"

SPECIAL: Mapping[str, Special] = {
    "bamba": Special(NOT_COVERED, {"attn_layer_indices": [1]}),
    "blenderbot": Special(
        "the cache gets one entry for each encoder layer, and the default has fewer of these (IndexError)",
        {"encoder_layers": 3},
    ),
    "bloom": Special("the default has two layers", {"n_layer": 3}),
    "blt": Special(
        "the cache is sized by num_hidden_layers, which the config class lacks (AttributeError); the hash "
        "tables are the bulk of the model; the global width must be that of the encoder times cross_attn_k",
        {
            "num_hidden_layers": 3,
            "encoder_hash_byte_group_vocab": 50,
            "encoder_config": {"hidden_size_global": 128},
            "decoder_config": {"hidden_size_global": 128},
            "global_config": {"hidden_size": 128},
        },
    ),
    "cohere2_moe": Special(NOT_COVERED, {"mlp_layer_types": ["dense", "sparse", "sparse"]}),
    "cohere_compass_text": Special(
        "the rotary tables are looked up by layer type and have no default",
        {"layer_types": [SLIDING, FULL, SLIDING], "rope_parameters": {SLIDING: ROPE, FULL: ROPE}},
    ),
    "dbrx": Special(
        "attention reads attn_config.rope_theta, which only released configs carry",
        {
            "attn_config": {"kv_n_heads": 2, "clip_qkv": 8, "rope_theta": 500000.0},
            "ffn_config": {"ffn_hidden_size": 32, "moe_num_experts": 8, "moe_top_k": 2},
        },
    ),
    "deepseek_v2": Special(
        NO_DEFAULT,
        {
            "num_experts_per_tok": 2,
            "n_group": 2,
            "topk_group": 1,
            "topk_method": "group_limited_greedy",
            "first_k_dense_replace": 1,
        },
    ),
    "deepseek_v4": Special(
        "compressed blocks of 128 tokens are longer than a test's prompt",
        {
            "num_hidden_layers": 4,
            "layer_types": [
                SLIDING,
                "compressed_sparse_attention",
                "heavily_compressed_attention",
                "compressed_sparse_attention",
            ],
            "mlp_layer_types": ["hash_moe", "hash_moe", "moe", "moe"],
            "compress_rates": {"compressed_sparse_attention": 4, "heavily_compressed_attention": 8},
        },
    ),
    "dory": Special(
        "input, recurrent and output layers must add up to the number of layers",
        {
            "num_hidden_layers": 4,
            "n_input_layers": 1,
            "n_recurrent_layers": 2,
            "n_output_layers": 1,
            "layer_types": [SLIDING, SLIDING, FULL, FULL],
        },
    ),
    "dots1": Special(
        NO_DEFAULT,
        {
            "n_routed_experts": 8,
            "num_experts_per_tok": 2,
            "n_shared_experts": 1,
            "first_k_dense_replace": 1,
            "layer_types": [FULL, SLIDING, FULL],
        },
    ),
    "dots3_note_text": Special(
        "sizes of the sliding layers are keyword arguments, not fields",
        {
            "head_dim": 24,
            "swa_num_attention_heads": 4,
            "swa_num_key_value_heads": 4,
            "swa_q_lora_rank": 32,
            "swa_kv_lora_rank": 32,
            "swa_head_dim": 24,
            "swa_qk_nope_head_dim": 16,
            "swa_v_head_dim": 16,
        },
    ),
    "dots3_note_vision_encoder": Special(
        "adapter and expert sizes are checked against the text model; never built for text",
        {
            "num_hidden_layers": 2,
            "mlp_layer_types": ["dense", "sparse"],
            "num_local_experts": 4,
            "adapter_in_dim": 64,
            "adapter_out_dim": 64,
        },
    ),
    "dots3_note_audio_encoder": Special(
        "adapter sizes are checked against the text model; never built for text",
        {"adapter_input_size": 64, "adapter_out_dim": 64},
    ),
    "falcon_h1": Special("the default mamba_d_head is below its limit", {"mamba_d_head": 16}),
    "gemma3n_text": Special(
        "every layer type needs a layer that fills the cache before those that share it",
        {
            "num_hidden_layers": 4,
            "num_kv_shared_layers": 2,
            "layer_types": [SLIDING, FULL, SLIDING, FULL],
            "intermediate_size": 96,
            "activation_sparsity_pattern": [0.95, 0.0, 0.0, 0.95],
            "hidden_size_per_layer_input": 8,
            "laurel_rank": 8,
        },
    ),
    "gemma4_text": Special(
        "the full layers' head size is a keyword argument, not a field",
        {"global_head_dim": 32, "hidden_size_per_layer_input": 8},
    ),
    "gemma4_unified_text": Special(
        "the full layers' head size is a keyword argument, not a field", {"global_head_dim": 32}
    ),
    "glm_moe_dsa": Special(
        NOT_COVERED,
        {"indexer_types": ["full", "shared", "full"], "mlp_layer_types": ["dense", "sparse", "sparse"]},
    ),
    "got_ocr2_vision": Special(
        "the image encoder is built with the model, for all that text does not use it",
        {
            "output_channels": 16,
            "image_size": 64,
            "window_size": 2,
            "mlp_dim": 64,
            "global_attn_indexes": [1],
        },
    ),
    "gpt_neo": Special(
        "attention types are given as a run-length code",
        {"num_layers": 4, "attention_types": [[["global", "local"], 2]]},
    ),
    "granitemoehybrid": Special(NOT_COVERED, {"layer_types": [LINEAR, FULL, LINEAR]}),
    "hrm_text": Special(
        "num_hidden_layers counts every visit: layers of a stack x high cycles x (low cycles + 1)",
        {"num_layers_per_stack": 2, "H_cycles": 2, "L_cycles": 2, "num_hidden_layers": 12},
    ),
    "hunyuan_v1_dense": Special(NO_DEFAULT, {"head_dim": 16}),
    "hunyuan_v1_moe": Special(NO_DEFAULT, {"head_dim": 16, "moe_topk": 2, "num_experts": 8}),
    "hy_v4": Special(
        NOT_COVERED,
        {"indexer_types": ["full", "shared", "full"], "mlp_layer_types": ["dense", "sparse", "sparse"]},
    ),
    "inkling2_loop_text": Special(
        "the loop must start and end where residual blocks do",
        {
            "num_hidden_layers": 6,
            "layer_types": ["hybrid_sliding", HYBRID] * 3,
            "n_layers_per_attn_res_block": 2,
            "loop_layer_index_start": 2,
            "loop_layer_index_end": 4,
            "loop_num_passes": 2,
            "loop_gate_rank": 8,
        },
    ),
    "inkling2_text": Special(
        "residual blocks must be fewer than layers",
        {
            "num_hidden_layers": 4,
            "layer_types": ["hybrid_sliding", HYBRID] * 2,
            "n_layers_per_attn_res_block": 2,
        },
    ),
    "inkling_text": Special(NOT_COVERED, {"mlp_layer_types": ["dense", "sparse", "sparse"]}),
    "jamba": Special(NOT_COVERED, {"num_hidden_layers": 4, "attn_layer_period": 3, "attn_layer_offset": 1}),
    "laguna": Special(
        NOT_COVERED, {"layer_types": [FULL, SLIDING, SLIDING], "num_attention_heads_per_layer": [4, 2, 4]}
    ),
    "lfm2": Special(NOT_COVERED, {"layer_types": ["conv", FULL, "conv"], "block_multiple_of": 16}),
    "lfm2_moe": Special(NO_DEFAULT, {"layer_types": ["conv", FULL, "conv"]}),
    "llama4_text": Special(NOT_COVERED, {"interleave_moe_layer_step": 2}),
    "longcat_flash": Special("the experts that do nothing are counted apart", {"num_layers": 2, "zero_expert_num": 4}),
    "mamba2": Special("heads times head size must equal the inner size", {"num_heads": 8}),
    "mellum": Special(NOT_COVERED, {"layer_types": [FULL, SLIDING, FULL]}),
    "minimax_m3_vl_text": Special(
        NOT_COVERED,
        {
            "layer_types": [FULL, "minimax_m3_sparse", "minimax_m3_sparse"],
            "mlp_layer_types": ["dense", "sparse", "sparse"],
            "index_block_size": 4,
            "index_topk_blocks": 2,
        },
    ),
    "ministral": Special(NO_DEFAULT, {"head_dim": 16, "layer_types": [SLIDING, FULL, SLIDING]}),
    "mllama_text_model": Special("the default puts them past the last layer", {"cross_attention_layers": [1]}),
    "nemotron": Special(NO_DEFAULT, {"num_key_value_heads": 2}),
    "phi4_multimodal_audio": Special(
        "the audio encoder is built with the model, for all that text does not use it",
        {"nemo_conv_channels": 16, "ext_pw_out_channel": 16, "input_size": 16},
    ),
    "phimoe": Special("released models have these biases", {"attention_bias": True, "lm_head_bias": True}),
    "qwen4_exp_text": Special(
        "the indexer and the n-gram tables are off by default, and released models have them",
        {
            "hc_lowrank": 16,
            "ple_layer_ids": [1],
            "ple_embed_dim": 32,
            "heads_per_ngram": 2,
            "ngram_vocab_size_base": 100,
            "make_ngram_vocab_size_divisible_by": 8,
            "split_ngram_parts": 2,
            "indexer_n_heads": 2,
            "indexer_kv_heads": 1,
            "indexer_head_dim": 16,
            "indexer_budget": 8,
            "indexer_compress_ratio": 4,
        },
    ),
    "rwkv": Special(
        "every so many layers the weights themselves are halved at the first forward, in place",
        {"rescale_every": 2},
    ),
    "reformer": Special(
        "axial positions must factor the sizes, hashing must be seeded, and half precision fails "
        "(RuntimeError: mixed dtype (CPU): expect parameter to have scalar type of Float)",
        {
            "axial_pos_shape": (16, 16),
            "axial_pos_embds_dim": (16, 48),
            "attn_layers": ("local", "lsh", "local"),
            "local_attn_chunk_length": 8,
            "lsh_attn_chunk_length": 8,
            "hash_seed": 0,
        },
        dtype="float32",
    ),
    "roc_bert": Special(
        "two more vocabularies, of shapes and of sounds",
        {
            "shape_vocab_size": VOCAB_SIZE,
            "shape_embed_dim": 16,
            "pronunciation_vocab_size": VOCAB_SIZE,
            "pronunciation_embed_dim": 16,
        },
    ),
    "solar_open": Special(NO_DEFAULT, {"first_k_dense_replace": 1}),
    "xlnet": Special(
        "half precision fails (RuntimeError: expected scalar type Float but found BFloat16)",
        {"attn_type": "uni"},
        dtype="float32",
    ),
    "xlstm": Special(
        "the query size is rounded up to 64 in the config but not where states are allocated (RuntimeError)",
        {"hidden_size": 128, "embedding_dim": 128, "chunk_size": 16},
    ),
    "xmod": Special("the adapter is chosen by a language without default", {"default_language": "en_XX"}),
    "zamba": Special(
        "one attention block serves all hybrid layers: there must be two of these",
        {
            "num_hidden_layers": 4,
            "layers_block_type": [LINEAR, HYBRID, LINEAR, HYBRID],
            "attention_hidden_size": 128,
            "attention_head_dim": 32,
        },
    ),
    "zamba2": Special(
        "two attention blocks serve the hybrid layers in turn: there must be more of these than blocks",
        {
            "num_hidden_layers": 5,
            "num_mem_blocks": 2,
            "layers_block_type": [LINEAR, HYBRID, HYBRID, LINEAR, HYBRID],
        },
    ),
}
