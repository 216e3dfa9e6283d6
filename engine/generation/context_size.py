"""How long a conversation can be and what its cache takes. Arithmetic on a config, for plans. No torch."""

from __future__ import annotations

from typing import Any

DEFAULT_CONTEXT_TOKENS = 4096
"""The KV cache is given room for this many tokens unless the user says otherwise."""


def cache_bytes(config: Any, tokens: int, itemsize: int) -> int:
    """Bytes of what a pass keeps of ``tokens`` positions, from a config (or a dict of one), as transformers keeps it.

    Full attention keeps every token's keys and values, or the latents they are made of (DeepSeek-V2, arXiv 2405.04434,
    section 2.1); an indexer a key more; sliding attention its window; linear attention a float32 state of one size.
    """
    text = _text_config(config)
    return sum(
        _layer_cache_bytes(_layer_config(text, index), kind, tokens, itemsize)
        for index, kind in enumerate(_layer_kinds(text))
    )


def _layer_config(text: Any, index: int) -> Any:
    """The config of one layer: some have heads of their own (Gemma 4 where a layer sees everything)."""
    own = _field(text, "per_layer_config")
    return {**text, **own.get(str(index), {})} if isinstance(text, dict) and isinstance(own, dict) else text


def _layer_kinds(text: Any) -> list[str]:
    kinds = _field(text, "layer_types")
    if kinds:
        return list(kinds)
    layers = int(_field(text, "num_hidden_layers", "n_layer", "n_layers", "num_layers") or 0)
    interval = int(_field(text, "full_attention_interval") or 1)
    linear: set[int] = set((_field(text, "linear_attn_config") or {}).get("kda_layers") or ())  # counted from one
    is_full = [(index + 1) % interval == 0 and index + 1 not in linear for index in range(layers)]
    return ["full_attention" if full else "linear_attention" for full in is_full]


def _layer_cache_bytes(text: Any, kind: str, tokens: int, itemsize: int) -> int:
    if kind in ("sliding_attention", "chunked_attention"):
        window = int(_field(text, "sliding_window", "attention_chunk_size") or tokens)
        return min(tokens, window) * _token_elements(text) * itemsize
    if kind in ("full_attention", "indexed_attention"):
        index = int(_field(text, "indexer_head_dim", "index_head_dim") or 0)
        # Qwen4-Exp's indexer keeps three int64 positions beside its key.
        positions = 24 if _field(text, "indexer_head_dim") else 0
        return tokens * ((_token_elements(text) + index) * itemsize + positions)
    return _state_bytes(text, itemsize) or min(tokens, 64) * _token_elements(text) * itemsize


def _token_elements(text: Any) -> int:
    """Numbers one layer keeps of one token."""
    if rank := _field(text, "kv_lora_rank"):
        return int(rank) + int(_field(text, "qk_rope_head_dim") or 0)
    heads = int(_field(text, "num_attention_heads", "n_head", "n_heads") or 1)
    hidden = int(_field(text, "hidden_size", "n_embd", "d_model") or 0)
    kv_heads = int(_field(text, "num_key_value_heads", "num_kv_heads") or heads)
    head_dim = int(_field(text, "head_dim") or hidden // max(heads, 1))
    return 2 * kv_heads * head_dim


def _state_bytes(text: Any, itemsize: int) -> int:
    """The state of one layer of delta nets (Yang et al. 2024, arXiv 2412.06464), 0 where the config tells of none."""
    given = _field(text, "linear_attn_config") or {}
    values = int(_field(text, "linear_num_value_heads", "linear_num_heads") or given.get("num_heads") or 0)
    keys = int(_field(text, "linear_num_key_heads") or values)
    value_dim = int(_field(text, "linear_value_head_dim", "linear_head_dim") or given.get("head_dim") or 0)
    key_dim = int(_field(text, "linear_key_head_dim") or value_dim)
    kernel = int(_field(text, "linear_conv_kernel_dim") or given.get("short_conv_kernel_size") or 0)
    convolved = (2 * keys * key_dim + values * value_dim) * kernel
    return 4 * values * key_dim * value_dim + convolved * itemsize


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
