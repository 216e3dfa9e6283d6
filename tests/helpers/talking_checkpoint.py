"""A tiny checkpoint that chats: a tokenizer, a chat template, and answers of plain words without an end."""

from __future__ import annotations

import re
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from tests.helpers.tiny_tokenizers import byte_level_bpe, with_template

TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{{ eos_token }}{% endfor %}<|assistant|>"
)
_WORD = re.compile(" [a-z]+")
_LEANING = 0.1
_DISLIKE = -20.0


def make_talking_checkpoint(folder: Path, *, layers: int = 6, context: int = 1 << 15) -> Path:
    """Several shards. Every hidden state leans one way; in the head all tokens but plain words lean the other."""
    tokenizer = with_template(byte_level_bpe(), TEMPLATE)
    words = torch.tensor([bool(_WORD.fullmatch(str(tokenizer.decode([each])))) for each in range(len(tokenizer))])
    torch.manual_seed(0)
    config = AutoConfig.for_model(
        "llama", vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=layers,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=context,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    with torch.no_grad():
        model.model.embed_tokens.weight[:, 0] = _LEANING
        model.lm_head.weight[~words, 0] = _DISLIKE
    model.save_pretrained(folder, max_shard_size="100KB")
    tokenizer.save_pretrained(folder)
    return folder
