"""A Llama-shaped checkpoint as bfloat16 GGUF, for timing llama.cpp on the same weights.

For speed only: query and key rows are not permuted, so the text it would write is nonsense.
"""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import numpy as np
from safetensors import safe_open

_LAYER_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
_TOP_NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}


def write_gguf(checkpoint: Path, vocabulary_gguf: Path, target: Path) -> Path:
    """Writes ``target`` unless it is there; the vocabulary is taken from another GGUF file."""
    if target.exists():
        return target
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    part = target.with_suffix(".part")
    writer = gguf.GGUFWriter(str(part), "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_rope_dimension_count(config["hidden_size"] // config["num_attention_heads"])
    for field in gguf.GGUFReader(str(vocabulary_gguf)).fields.values():
        if field.name.startswith("tokenizer."):
            if field.types[0] == gguf.GGUFValueType.ARRAY:
                writer.add_array(field.name, field.contents())
            else:
                writer.add_key_value(field.name, field.contents(), field.types[0])
    for shard in sorted(checkpoint.glob("*.safetensors")):
        with safe_open(shard, "pt") as tensors:
            for name in tensors.keys():  # noqa: SIM118 - safe_open is no mapping
                values = tensors.get_tensor(name).float().numpy()
                if values.ndim == 1:
                    writer.add_tensor(_gguf_name(name), values.astype(np.float32))
                else:
                    kind = gguf.GGMLQuantizationType.BF16
                    writer.add_tensor(_gguf_name(name), gguf.quants.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return part.rename(target)


def _gguf_name(name: str) -> str:
    if name in _TOP_NAMES:
        return _TOP_NAMES[name]
    _, _, layer, rest = name.split(".", 3)
    return f"blk.{layer}.{_LAYER_NAMES[rest.rsplit('.', 1)[0]]}.weight"
