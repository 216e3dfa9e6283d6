"""How long a conversation can be and what its cache takes. Arithmetic on a config, for plans. No torch."""

from __future__ import annotations

from typing import Any

DEFAULT_CONTEXT_TOKENS = 4096
"""The KV cache is given room for this many tokens unless the user says otherwise."""


def cache_bytes(config: Any, tokens: int, itemsize: int) -> int:
    """Bytes of keys and values for ``tokens`` positions, from a config (or a dict of one).

    Full attention keeps every token, as heads' keys and values or as one latent (MLA); sliding attention its window;
    linear attention a state whose size does not grow (counted as 64 tokens where the config does not tell its size).
    """
    text = _text_config(config)
    layers = int(_field(text, "num_hidden_layers", "n_layer", "n_layers", "num_layers") or 0)
    window = int(_field(text, "sliding_window", "attention_chunk_size") or tokens)
    linear: dict[str, Any] = _field(text, "linear_attn_config") or {}
    kinds = _field(text, "layer_types") or _kinds_of_layers(linear, layers)
    kept = {"full_attention": tokens, "sliding_attention": min(tokens, window)}
    kept |= {"chunked_attention": min(tokens, window)}
    per_token = _numbers_per_token(text) * itemsize
    state = _delta_state_bytes(linear, itemsize) or min(tokens, 64) * per_token
    return sum(kept[kind] * per_token if kind in kept else state for kind in kinds)


def _numbers_per_token(text: Any) -> int:
    """Of one layer of full attention."""
    if latent := _field(text, "kv_lora_rank"):
        return int(latent) + int(_field(text, "qk_rope_head_dim") or 0)
    heads = int(_field(text, "num_attention_heads", "n_head", "n_heads") or 1)
    hidden = int(_field(text, "hidden_size", "n_embd", "d_model") or 0)
    kv_heads = int(_field(text, "num_key_value_heads", "num_kv_heads") or heads)
    return 2 * kv_heads * int(_field(text, "head_dim") or hidden // max(heads, 1))


def _kinds_of_layers(linear: dict[str, Any], layers: int) -> list[str]:
    """Kimi's configs name the layers of delta attention, counted from one."""
    delta: list[int] = linear.get("kda_layers") or []
    return ["linear_attention" if index + 1 in delta else "full_attention" for index in range(layers)]


def _delta_state_bytes(linear: dict[str, Any], itemsize: int) -> int:
    """A float32 matrix for each head, and the last tokens of the short convolution over queries, keys and values."""
    heads, width = int(linear.get("num_heads") or 0), int(linear.get("head_dim") or 0)
    return heads * width * (4 * width + 3 * int(linear.get("short_conv_kernel_size") or 0) * itemsize)


def context_limit(config: Any) -> int | None:
    """The longest sequence, in tokens, the model was made for; None where its config names none."""
    value = _field(_text_config(config), "max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
    return int(value) if value else None


def planned_context(config: Any, wanted: int | None) -> int:
    """Tokens the KV cache is given room for."""
    limit = context_limit(config)
    tokens = wanted or DEFAULT_CONTEXT_TOKENS
    return tokens if limit is None else min(tokens, limit)


def _text_config(config: Any) -> Any:
    if isinstance(config, dict):
        return config.get("text_config") or config
    return config.get_text_config(decoder=True)


def _field(config: Any, *names: str) -> Any:
    for name in names:
        value = config.get(name) if isinstance(config, dict) else getattr(config, name, None)
        if value is not None:
            return value
    return None
