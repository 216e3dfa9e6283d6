"""Tiny Kimi K3 checkpoints: configs with and without each of its specials, and random tensors by their published names.

Numpy only, so that the oracle's environment, which has neither torch nor transformers, makes the same numbers.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float32]]

_LINEAR: dict[str, Any] = {
    "kda_layers": [1, 2, 4, 5],
    "full_attn_layers": [3, 6],
    "num_heads": 4,
    "head_dim": 8,
    "short_conv_kernel_size": 4,
    "gate_lower_bound": -5.0,
    "use_full_rank_gate": True,
}
_TEXT: dict[str, Any] = {
    "architectures": ["KimiLinearForCausalLM"],
    "model_type": "kimi_linear",
    "dtype": "bfloat16",
    "vocab_size": 40,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "hidden_act": "situ",
    "activation_situ_beta": 4.0,
    "activation_situ_linear_beta": 25.0,
    "rms_norm_eps": 1e-5,
    "q_lora_rank": 24,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 12,
    "mla_use_nope": True,
    "mla_use_output_gate": True,
    "linear_attn_config": _LINEAR,
    "attn_res_block_size": 4,
    "num_experts": 8,
    "num_experts_per_token": 3,
    "num_shared_experts": 2,
    "moe_intermediate_size": 32,
    "moe_layer_freq": 1,
    "moe_renormalize": True,
    "moe_router_activation_func": "sigmoid",
    "first_k_dense_replace": 1,
    "routed_scaling_factor": 1.0,
    "num_expert_group": 1,
    "topk_group": 1,
    "use_grouped_topk": True,
    "routed_expert_hidden_size": 32,
    "latent_moe_use_norm": True,
    "max_position_embeddings": 1048576,
    "tie_word_embeddings": False,
}
VISION: dict[str, Any] = {
    "_attn_implementation": "flash_attention_2",
    "activation_func": "gelu_pytorch_tanh",
    "attn_bias": False,
    "init_pos_emb_height": 64,
    "init_pos_emb_time": 4,
    "init_pos_emb_width": 64,
    "linear_bias": False,
    "merge_kernel_size": [2, 2],
    "merge_type": "sd2_tpool",
    "mlp_type": "mlp2",
    "mm_hidden_size": 1024,
    "mm_projector_type": "patchmergerv2",
    "norm_type": "rmsnorm",
    "patch_embed_proj_bias": False,
    "patch_size": 14,
    "pos_emb_interpolation_mode": "bilinear",
    "pos_emb_type": "divided_fixed",
    "projector_hidden_act": "gelu",
    "projector_ln_eps": 1e-5,
    "qkv_hidden_size": 1536,
    "text_hidden_size": 7168,
    "vt_hidden_size": 1024,
    "vt_intermediate_size": 4096,
    "vt_num_attention_heads": 12,
    "vt_num_hidden_layers": 27,
}
MXFP4: dict[str, Any] = {
    "config_groups": {
        "group_0": {
            "format": "mxfp4-pack-quantized",
            "input_activations": None,
            "output_activations": None,
            "targets": ["Linear"],
            "weights": {
                "group_size": 32, "num_bits": 4, "scale_dtype": "torch.uint8", "strategy": "group", "symmetric": True,
                "type": "float",
            },
        }
    },
    "format": "mxfp4-pack-quantized",
    "ignore": [
        "re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "re:.*lm_head.*",
        "re:.*vision_tower.*", "re:.*mm_projector.*",
    ],
    "quant_method": "compressed-tensors",
    "quantization_status": "compressed",
}  # fmt: skip
CASES: Mapping[str, dict[str, Any]] = {
    "all of it": {},
    "plain residuals": {"attn_res_block_size": None},
    "blocks of one layer": {"attn_res_block_size": 1},
    "experts at full width": {"routed_expert_hidden_size": None, "latent_moe_use_norm": False},
    "narrow experts without a norm": {"latent_moe_use_norm": False},
    "SiTU without bounds": {"activation_situ_beta": None, "activation_situ_linear_beta": None},
    "no shared experts": {"num_shared_experts": 0},
    "no experts": {"num_experts": None},
    "experts from the first layer, every second": {"first_k_dense_replace": 0, "moe_layer_freq": 2},
    "experts in groups": {
        "num_expert_group": 4, "topk_group": 2, "moe_renormalize": False, "routed_scaling_factor": 2.5,
    },
    "one expert a token": {"num_experts_per_token": 1},
    "unbounded decay, low-rank gate": {"linear_attn_config": {"gate_lower_bound": None, "use_full_rank_gate": False}},
    "delta attention only": {"linear_attn_config": {"kda_layers": [1, 2, 3, 4, 5, 6], "full_attn_layers": []}},
    "full attention only": {"linear_attn_config": {"kda_layers": [], "full_attn_layers": [1, 2, 3, 4, 5, 6]}},
    "whole queries, no output gate": {"q_lora_rank": None, "mla_use_output_gate": False},
}  # fmt: skip


def tiny_config(**changes: Any) -> dict[str, Any]:
    """The published config.json in small. ``changes`` are of the text part; ``linear_attn_config`` is merged."""
    text = copy.deepcopy(_TEXT)
    text["linear_attn_config"] |= changes.pop("linear_attn_config", {})
    text |= changes
    return {
        "architectures": ["KimiK3ForConditionalGeneration"],
        "auto_map": {"AutoConfig": "configuration_kimi_k3.KimiK3Config"},
        "model_type": "kimi_k3",
        "dtype": "bfloat16",
        "tie_word_embeddings": False,
        "text_config": text,
    }


def tiny_vision(**changes: Any) -> dict[str, Any]:
    """The ``vision_config`` that goes with ``tiny_config``."""
    sizes = {"init_pos_emb_height": 6, "init_pos_emb_width": 6, "mm_hidden_size": 32, "qkv_hidden_size": 48}
    sizes |= {"text_hidden_size": _TEXT["hidden_size"], "vt_hidden_size": 32, "vt_intermediate_size": 64}
    return VISION | sizes | {"vt_num_attention_heads": 3, "vt_num_hidden_layers": 2} | changes


_NORMED_PROJECTIONS = (
    "q_proj.weight",
    "k_proj.weight",
    "v_proj.weight",
    "q_a_proj.weight",
    "kv_a_proj_with_mqa.weight",
)


def published_tensors(config: Mapping[str, Any], seed: int, *, is_faint: bool = False) -> dict[str, Array]:
    """Random tensors of a whole checkpoint, float32, by the names and in the shapes Moonshot publishes.

    ``is_faint``: what is normed inside attention is so small that the norms' epsilons show.
    """
    # The legacy generator's numbers are the same in every version of numpy.
    random = np.random.RandomState(seed)
    tensors = {name: _values(random, name, shape) for name, shape in published_shapes(config)}
    if is_faint:
        for name in tensors:
            if name.endswith(_NORMED_PROJECTIONS):
                tensors[name] *= np.float32(0.01)
    return tensors


def published_shapes(config: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name and shape of every tensor of a checkpoint that packs nothing."""
    for name, shape in text_shapes(config["text_config"]):
        yield f"language_model.{name}", shape
    if "vision_config" in config:
        yield from _vision_shapes(config["vision_config"])


def _values(random: np.random.RandomState, name: str, shape: tuple[int, ...]) -> Array:
    noise = random.standard_normal(shape)
    leaf = name.rsplit(".", 2)[-2] if name.endswith(".weight") else name.rsplit(".", 1)[-1]
    if leaf == "A_log":
        values = np.log(1 + 15 * random.uniform(size=shape))
    elif leaf == "e_score_correction_bias":
        values = 0.05 * np.abs(noise)
    elif leaf == "dt_bias" or leaf.endswith("conv1d"):
        values = 0.5 * noise
    elif len(shape) == 1:  # norms
        values = 1 + 0.1 * noise
    elif leaf == "embed_tokens":
        values = noise
    else:
        values = 1.5 * noise / np.sqrt(shape[-1])
    return values.astype(np.float32)


def text_shapes(text: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes of the language model's tensors as Moonshot has them, before they are packed."""
    hidden = text["hidden_size"]
    yield "model.embed_tokens.weight", (text["vocab_size"], hidden)
    for index in range(text["num_hidden_layers"]):
        layer = f"model.layers.{index}"
        is_delta = index + 1 in text["linear_attn_config"]["kda_layers"]
        for name, shape in (_delta_shapes if is_delta else _latent_shapes)(text):
            yield f"{layer}.self_attn.{name}", shape
        is_moe = index >= text["first_k_dense_replace"] and index % text["moe_layer_freq"] == 0
        if text["num_experts"] and is_moe:
            yield from ((f"{layer}.block_sparse_moe.{name}", shape) for name, shape in _moe_shapes(text))
        else:
            yield from _mlp_shapes(f"{layer}.mlp", hidden, text["intermediate_size"])
        yield f"{layer}.input_layernorm.weight", (hidden,)
        yield f"{layer}.post_attention_layernorm.weight", (hidden,)
        if text["attn_res_block_size"] is not None:
            for part in ("self_attention", "mlp"):
                yield from _residual_shapes(f"{layer}.{part}_res", hidden)
    if text["attn_res_block_size"] is not None:
        yield from _residual_shapes("model.output_attn_res", hidden)
    yield "model.norm.weight", (hidden,)
    yield "lm_head.weight", (text["vocab_size"], hidden)


def _residual_shapes(prefix: str, hidden: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{prefix}_norm.weight", (hidden,)
    yield f"{prefix}_proj.weight", (1, hidden)


def _mlp_shapes(prefix: str, hidden: int, width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{prefix}.gate_proj.weight", (width, hidden)
    yield f"{prefix}.up_proj.weight", (width, hidden)
    yield f"{prefix}.down_proj.weight", (hidden, width)


def _delta_shapes(text: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    linear, hidden = text["linear_attn_config"], text["hidden_size"]
    heads, head_dim = linear["num_heads"], linear["head_dim"]
    width = heads * head_dim
    for name in "qkv":
        yield f"{name}_proj.weight", (width, hidden)
        yield f"{name}_conv1d.weight", (width, 1, linear["short_conv_kernel_size"])
    yield "A_log", (head_dim,)  # padded from the heads to the width of a head, as published
    yield "dt_bias", (width,)
    yield "f_a_proj.weight", (head_dim, hidden)
    yield "f_b_proj.weight", (width, head_dim)
    yield "b_proj.weight", (heads, hidden)
    if linear["use_full_rank_gate"]:
        yield "g_proj.weight", (width, hidden)
    else:
        yield "g_a_proj.weight", (head_dim, hidden)
        yield "g_b_proj.weight", (width, head_dim)
    yield "o_norm.weight", (head_dim,)
    yield "o_proj.weight", (hidden, width)


def _latent_shapes(text: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    hidden, heads, rank = text["hidden_size"], text["num_attention_heads"], text["kv_lora_rank"]
    nope, rope, value = text["qk_nope_head_dim"], text["qk_rope_head_dim"], text["v_head_dim"]
    if text["q_lora_rank"] is None:
        yield "q_proj.weight", (heads * (nope + rope), hidden)
    else:
        yield "q_a_proj.weight", (text["q_lora_rank"], hidden)
        yield "q_a_layernorm.weight", (text["q_lora_rank"],)
        yield "q_b_proj.weight", (heads * (nope + rope), text["q_lora_rank"])
    yield "kv_a_proj_with_mqa.weight", (rank + rope, hidden)
    yield "kv_a_layernorm.weight", (rank,)
    yield "kv_b_proj.weight", (heads * (nope + value), rank)
    yield "o_proj.weight", (hidden, heads * value)
    if text["mla_use_output_gate"]:
        yield "g_proj.weight", (heads * value, hidden)


def _vision_shapes(vision: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Of a tower as published: no biases, RMS norms."""
    hidden, width, attention = vision["vt_hidden_size"], vision["vt_intermediate_size"], vision["qkv_hidden_size"]
    patch, square = vision["patch_size"], vision["mm_hidden_size"] * math.prod(vision["merge_kernel_size"])
    yield "vision_tower.patch_embed.proj.weight", (hidden, 3, patch, patch)
    grid = (vision["init_pos_emb_height"], vision["init_pos_emb_width"])
    yield "vision_tower.patch_embed.pos_emb.weight", (*grid, hidden)
    for index in range(vision["vt_num_hidden_layers"]):
        block = f"vision_tower.encoder.blocks.{index}"
        yield f"{block}.norm0.weight", (hidden,)
        yield f"{block}.norm1.weight", (hidden,)
        yield f"{block}.wqkv.weight", (3 * attention, hidden)
        yield f"{block}.wo.weight", (hidden, attention)
        yield f"{block}.mlp.fc0.weight", (width, hidden)
        yield f"{block}.mlp.fc1.weight", (hidden, width)
    yield "vision_tower.encoder.final_layernorm.weight", (hidden,)
    yield "mm_projector.proj.0.weight", (square, square)
    yield "mm_projector.proj.2.weight", (vision["text_hidden_size"], square)
    yield "mm_projector.post_norm.weight", (vision["text_hidden_size"],)


def _moe_shapes(text: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    hidden, width, latent = text["hidden_size"], text["moe_intermediate_size"], text["routed_expert_hidden_size"]
    yield "gate.weight", (text["num_experts"], hidden)
    yield "gate.e_score_correction_bias", (text["num_experts"],)
    for expert in range(text["num_experts"]):
        yield f"experts.{expert}.w1.weight", (width, latent or hidden)
        yield f"experts.{expert}.w2.weight", (latent or hidden, width)
        yield f"experts.{expert}.w3.weight", (width, latent or hidden)
    if latent is not None:
        yield "routed_expert_down_proj.weight", (latent, hidden)
        yield "routed_expert_up_proj.weight", (hidden, latent)
        if text["latent_moe_use_norm"]:
            yield "routed_expert_norm.weight", (latent,)
    if text["num_shared_experts"]:
        yield from _mlp_shapes("shared_experts", hidden, width * text["num_shared_experts"])


def published_config() -> dict[str, Any]:
    """Kimi K3's config.json as published (moonshotai/Kimi-K3), without what says nothing about the model."""
    full = [*range(4, 93, 4), 93]
    linear = {
        "kda_layers": [layer for layer in range(1, 94) if layer not in full],
        "full_attn_layers": full,
        "num_heads": 96,
        "head_dim": 128,
    }
    config = tiny_config(
        vocab_size=163840,
        hidden_size=7168,
        intermediate_size=33792,
        num_hidden_layers=93,
        num_attention_heads=96,
        num_key_value_heads=96,
        q_lora_rank=1536,
        kv_lora_rank=512,
        qk_nope_head_dim=128,
        qk_rope_head_dim=64,
        v_head_dim=128,
        linear_attn_config=linear,
        attn_res_block_size=12,
        num_experts=896,
        num_experts_per_token=16,
        moe_intermediate_size=3072,
        routed_expert_hidden_size=3584,
        quantization_config=MXFP4,
    )
    return config | {
        "bos_token_id": 163584,
        "eos_token_id": 163586,
        "pad_token_id": 163839,
        "media_placeholder_token_id": 163605,
        "vision_config": VISION,
    }
