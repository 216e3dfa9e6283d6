"""Tiny Kimi K3 checkpoints on disk as Moonshot ships them, and what the model file answers when loaded plainly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import save_torch_state_dict
from transformers import AutoModelForImageTextToText, GenerationConfig, PreTrainedModel

from engine.models.own_models import register_own_models
from tests.helpers.families import PlainOutputs
from tests.helpers.kimi_k3 import Array

FLOAT32_LEAVES = ("A_log", "dt_bias", "e_score_correction_bias", "o_norm.weight", "conv1d.weight")
"""Published in float32, whatever the rest is."""


def write_checkpoint(
    folder: Path, config: Mapping[str, Any], tensors: Mapping[str, Array], *, dtype: torch.dtype = torch.bfloat16
) -> Path:
    """In many shards with an index."""
    folder.mkdir(parents=True)
    config = {**config, "dtype": str(dtype).removeprefix("torch.")}
    (folder / "config.json").write_text(json.dumps(config))
    state = {
        name: torch.from_numpy(values).to(torch.float32 if name.endswith(FLOAT32_LEAVES) else dtype)
        for name, values in tensors.items()
    }
    save_torch_state_dict(state, folder, max_shard_size="100KB")
    return folder


def load_plain(folder: Path) -> PreTrainedModel:
    """By ``from_pretrained``, experts eager. Raises ``RuntimeError`` where a tensor found no place or was missed."""
    register_own_models()
    loader: Any = AutoModelForImageTextToText
    model, loading = loader.from_pretrained(
        folder, dtype="auto", experts_implementation="eager", output_loading_info=True
    )
    if lost := {kind: sorted(map(str, keys)) for kind, keys in loading.items() if keys}:
        raise RuntimeError(f"weights lost between the checkpoint and the model: {lost}")
    model.generation_config = GenerationConfig(do_sample=False, use_cache=True)
    return model.eval()


def plain_outputs(folder: Path, prompt: Sequence[int], new_tokens: int) -> PlainOutputs:
    """Logits of one pass over the prompt, then greedy tokens."""
    model: Any = load_plain(folder)
    ids = torch.tensor([list(prompt)])
    with torch.inference_mode():
        logits = model(input_ids=ids).logits[0].float()
        answer = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=new_tokens)
    return PlainOutputs(logits=logits, token_ids=tuple(answer[0, ids.shape[1] :].tolist()))
