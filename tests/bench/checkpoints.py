"""Random-weight checkpoints of a realistic size. Values do not matter for speed; shapes, dtype and shards do."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.initialization import no_init_weights

SHAPES: dict[str, tuple[str, dict[str, int]]] = {
    "dense3b": (
        "llama",
        {
            "hidden_size": 2560,
            "intermediate_size": 8192,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
        },
    ),
    "dense1b": (
        "llama",
        {
            "hidden_size": 2048,
            "intermediate_size": 5632,
            "num_hidden_layers": 22,
            "num_attention_heads": 32,
            "num_key_value_heads": 4,
        },
    ),
    "moe5b": (
        "qwen3_moe",
        {
            "hidden_size": 1024,
            "intermediate_size": 3072,
            "moe_intermediate_size": 512,
            "num_hidden_layers": 24,
            "num_attention_heads": 16,
            "num_key_value_heads": 4,
            "head_dim": 64,
            "num_experts": 128,
            "num_experts_per_tok": 8,
        },
    ),
    "moe_large": (
        "qwen3_moe",
        {
            "hidden_size": 2048,
            "intermediate_size": 8192,
            "moe_intermediate_size": 8192,
            "num_hidden_layers": 8,
            "num_attention_heads": 16,
            "num_key_value_heads": 4,
            "head_dim": 128,
            "num_experts": 8,
            "num_experts_per_tok": 2,
        },
    ),
    "tiny": (
        "llama",
        {
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 32,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
        },
    ),
}
_VOCABULARY = 49152


def make_checkpoint(name: str, folder: Path, tokenizer: Path) -> Path:
    """Makes ``name`` in ``folder`` unless it is there. ``tokenizer`` is a folder to take tokenizer files from."""
    target = folder / name
    if (target / "complete").exists():
        return target
    kind, sizes = SHAPES[name]
    config = AutoConfig.for_model(
        kind,
        vocab_size=_VOCABULARY,
        max_position_embeddings=8192,
        tie_word_embeddings=False,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
        **sizes,
    )
    torch.manual_seed(0)
    with no_init_weights():
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    noise = torch.randn(1 << 22).mul_(0.02).to(torch.bfloat16)
    for parameter in model.parameters():
        flat = parameter.data.view(-1)
        for start in range(0, flat.numel(), noise.numel()):
            piece = flat[start : start + noise.numel()]
            piece.copy_(noise[: piece.numel()] if parameter.dim() > 1 else torch.ones_like(piece))
    model.save_pretrained(target, max_shard_size="1GB")
    for file in tokenizer.glob("tokenizer*"):
        (target / file.name).write_bytes(file.read_bytes())
    (target / "complete").touch()
    return target
