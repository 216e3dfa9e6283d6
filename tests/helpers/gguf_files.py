"""Tiny GGUF files of several architectures, written with the gguf package: random weights, a byte-level tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import gguf
import numpy as np
import numpy.typing as npt

HIDDEN, FFN, LAYERS, HEADS, KV_HEADS, HEAD_DIM, EXPERTS, EXPERT_FFN = 64, 96, 2, 4, 2, 16, 4, 768
F32, F16 = gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16
Q4_0, Q8_0 = gguf.GGMLQuantizationType.Q4_0, gguf.GGMLQuantizationType.Q8_0
Shapes = Mapping[str, tuple[int, ...]]


def write_gguf(path: Path, architecture: str, weight_type: gguf.GGMLQuantizationType, *, seed: int = 0) -> Path:
    """One file of ``llama``, ``qwen3moe``, ``lfm2`` or ``gpt2``. Norms, biases and kernels stay float32."""
    writer = gguf.GGUFWriter(str(path), architecture)
    tokens = _add_tokenizer(writer)
    describe = {"llama": _llama, "qwen3moe": _qwen3moe, "lfm2": _lfm2, "gpt2": _gpt2}[architecture]
    generator = np.random.default_rng(seed)
    for name, shape in describe(writer, tokens).items():
        values = generator.standard_normal(shape, dtype=np.float32) * np.float32(0.1)
        is_plain = len(shape) == 1 or "shortconv.conv" in name or "position_embd" in name
        _add_tensor(writer, name, values, F32 if is_plain else weight_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_tensor(
    writer: gguf.GGUFWriter, name: str, values: npt.NDArray[np.float32], kind: gguf.GGMLQuantizationType
) -> None:
    if kind in (F32, F16):
        writer.add_tensor(name, values.astype(np.float32 if kind is F32 else np.float16))
    else:
        writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)


def _add_tokenizer(writer: gguf.GGUFWriter) -> int:
    """GPT-2's byte alphabet and two control tokens. Returns how many tokens there are."""
    visible = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in visible]
    letters = [chr(byte) for byte in visible] + [chr(256 + place) for place in range(len(hidden))]
    tokens = ["<|end|>", "<|start|>", *letters, "he", "ll"]
    tokens += [f"<|unused{number}|>" for number in range(-len(tokens) % 32)]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3, *[1] * (len(letters) + 2), *[3] * (len(tokens) - len(letters) - 4)])
    writer.add_token_merges(["h e", "l l"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(0)
    writer.add_chat_template("{% for message in messages %}{{ message['content'] }}{% endfor %}")
    return len(tokens)


def _common(writer: gguf.GGUFWriter, *, kv_heads: int | list[int] = KV_HEADS) -> None:
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10000.0)


def _each_layer(shapes: Callable[[int], Shapes]) -> dict[str, tuple[int, ...]]:
    return {f"blk.{layer}.{name}": shape for layer in range(LAYERS) for name, shape in shapes(layer).items()}


def _attention() -> dict[str, tuple[int, ...]]:
    return {
        "attn_norm.weight": (HIDDEN,),
        "attn_q.weight": (HEADS * HEAD_DIM, HIDDEN),
        "attn_k.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
        "attn_v.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
        "attn_output.weight": (HIDDEN, HEADS * HEAD_DIM),
        "ffn_norm.weight": (HIDDEN,),
    }


def _dense() -> dict[str, tuple[int, ...]]:
    return {
        "ffn_gate.weight": (FFN, HIDDEN), "ffn_up.weight": (FFN, HIDDEN), "ffn_down.weight": (HIDDEN, FFN)
    }  # fmt: skip


def _llama(writer: gguf.GGUFWriter, tokens: int) -> Shapes:
    _common(writer)
    writer.add_vocab_size(tokens)
    writer.add_rope_dimension_count(HEAD_DIM)
    layers = _each_layer(lambda _: {**_attention(), **_dense()})
    return {
        "token_embd.weight": (tokens, HIDDEN), **layers,
        "output_norm.weight": (HIDDEN,), "output.weight": (tokens, HIDDEN),
    }  # fmt: skip


def _qwen3moe(writer: gguf.GGUFWriter, tokens: int) -> Shapes:
    _common(writer)
    writer.add_vocab_size(tokens)
    writer.add_key_length(HEAD_DIM)
    writer.add_expert_count(EXPERTS)
    writer.add_expert_used_count(2)
    experts: Shapes = {
        "attn_q_norm.weight": (HEAD_DIM,),
        "attn_k_norm.weight": (HEAD_DIM,),
        "ffn_gate_inp.weight": (EXPERTS, HIDDEN),
        "ffn_gate_exps.weight": (EXPERTS, EXPERT_FFN, HIDDEN),
        "ffn_up_exps.weight": (EXPERTS, EXPERT_FFN, HIDDEN),
        "ffn_down_exps.weight": (EXPERTS, HIDDEN, EXPERT_FFN),
    }
    layers = _each_layer(lambda _: {**_attention(), **experts})
    return {
        "token_embd.weight": (tokens, HIDDEN), **layers,
        "output_norm.weight": (HIDDEN,), "output.weight": (tokens, HIDDEN),
    }  # fmt: skip


def _lfm2(writer: gguf.GGUFWriter, tokens: int) -> Shapes:
    _common(writer, kv_heads=[0, KV_HEADS])
    writer.add_vocab_size(tokens)
    writer.add_shortconv_l_cache(3)
    convolution: Shapes = {
        "attn_norm.weight": (HIDDEN,),
        "ffn_norm.weight": (HIDDEN,),
        "shortconv.conv.weight": (HIDDEN, 3),
        "shortconv.in_proj.weight": (3 * HIDDEN, HIDDEN),
        "shortconv.out_proj.weight": (HIDDEN, HIDDEN),
    }
    attention: Shapes = {
        **_attention(), "attn_q_norm.weight": (HEAD_DIM,), "attn_k_norm.weight": (HEAD_DIM,)
    }  # fmt: skip
    layers = _each_layer(lambda layer: {**(attention if layer else convolution), **_dense()})
    return {"token_embd.weight": (tokens, HIDDEN), "token_embd_norm.weight": (HIDDEN,), **layers}


def _gpt2(writer: gguf.GGUFWriter, tokens: int) -> Shapes:
    writer.add_context_length(1024)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(4 * HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(1e-5)
    shapes: Shapes = {
        "attn_norm.weight": (HIDDEN,), "attn_norm.bias": (HIDDEN,),
        "attn_qkv.weight": (3 * HIDDEN, HIDDEN), "attn_qkv.bias": (3 * HIDDEN,),
        "attn_output.weight": (HIDDEN, HIDDEN), "attn_output.bias": (HIDDEN,),
        "ffn_norm.weight": (HIDDEN,), "ffn_norm.bias": (HIDDEN,),
        "ffn_up.weight": (4 * HIDDEN, HIDDEN), "ffn_up.bias": (4 * HIDDEN,),
        "ffn_down.weight": (HIDDEN, 4 * HIDDEN), "ffn_down.bias": (HIDDEN,),
    }  # fmt: skip
    return {
        "token_embd.weight": (tokens, HIDDEN), "position_embd.weight": (1024, HIDDEN),
        **_each_layer(lambda _: shapes),
        "output_norm.weight": (HIDDEN,), "output_norm.bias": (HIDDEN,), "output.weight": (tokens, HIDDEN),
    }  # fmt: skip
