"""Tiny Kimi K3 checkpoints on disk as Moonshot ships them, and what the model file answers when loaded plainly."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import save_torch_state_dict
from transformers import AutoModelForImageTextToText, GenerationConfig, PreTrainedModel

from engine.models.own_models import register_own_models
from tests.helpers.families import PlainOutputs
from tests.helpers.kimi_k3 import MXFP4, Array
from tests.helpers.quantised_checkpoints import E2M1, nearest_e2m1

_EXPERT = re.compile(r"\.experts\.\d+\.w[123]\.weight$")
FLOAT32_LEAVES = ("A_log", "dt_bias", "e_score_correction_bias", "o_norm.weight", "conv1d.weight")
"""Published in float32, whatever the rest is."""


def write_checkpoint(
    folder: Path, config: Mapping[str, Any], tensors: Mapping[str, Array], *, dtype: torch.dtype = torch.bfloat16
) -> Path:
    """In many shards with an index."""
    config = {**config, "dtype": str(dtype).removeprefix("torch.")}
    state = {
        name: torch.from_numpy(values).to(torch.float32 if name.endswith(FLOAT32_LEAVES) else dtype)
        for name, values in tensors.items()
    }
    return _write(folder, config, state)


def write_packed_checkpoint(folder: Path, config: Mapping[str, Any], tensors: Mapping[str, Array]) -> tuple[Path, Path]:
    """The experts in MXFP4, as published, and beside it a checkpoint that says the same in bfloat16."""
    packed: dict[str, torch.Tensor] = {}
    plain: dict[str, torch.Tensor] = {}
    for name, values in tensors.items():
        tensor = torch.from_numpy(values)
        if _EXPERT.search(name):
            codes, exponents = pack_mxfp4_rows(tensor)
            packed |= {f"{name}_packed": codes, f"{name}_scale": exponents}
            plain[name] = unpack_mxfp4_rows(codes, exponents).to(torch.bfloat16)
        else:
            packed[name] = tensor.to(torch.float32 if name.endswith(FLOAT32_LEAVES) else torch.bfloat16)
            plain[name] = packed[name]
    text = {**config["text_config"], "quantization_config": MXFP4}
    return _write(folder / "packed", {**config, "text_config": text}, packed), _write(folder / "plain", config, plain)


def pack_mxfp4_rows(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """uint8 [rows, columns / 2], the first of two numbers in the low half, and exponents [rows, columns / 32]."""
    groups = weight.float().unflatten(-1, (-1, 32))
    exponents = groups.abs().amax(-1, keepdim=True).log2().floor() - 2
    codes = nearest_e2m1(groups / exponents.exp2()).flatten(-2)
    return codes[..., ::2] | codes[..., 1::2] << 4, (exponents[..., 0] + 127).to(torch.uint8)


def unpack_mxfp4_rows(codes: torch.Tensor, exponents: torch.Tensor) -> torch.Tensor:
    """float32 [rows, columns]."""
    codes = torch.stack([codes & 15, codes >> 4], dim=-1).flatten(-2).long()
    numbers = torch.where(codes < 8, 1.0, -1.0) * E2M1[codes % 8]
    return (numbers.unflatten(-1, (-1, 32)) * (exponents.float() - 127).exp2()[..., None]).flatten(-2)


def _write(folder: Path, config: Mapping[str, Any], tensors: dict[str, torch.Tensor]) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_torch_state_dict(tensors, folder, max_shard_size="100KB")
    return folder


CONTROL_TOKENS = {
    0: "[BOS]", 1: "[EOS]", 2: "<|end_of_msg|>", 3: "<|open|>", 4: "<|close|>", 5: "<|sep|>", 18: "<|media_begin|>",
    19: "<|media_content|>", 20: "<|media_end|>", 21: "<|media_pad|>", 255: "[PAD]",
}  # fmt: skip
"""Places behind the vocabulary's words, as published."""
_WORDS = [*(bytes([byte]) for byte in range(256)), b"th", b"in", b"ink", b"think", b"me", b" me"]
VOCABULARY = len(_WORDS) + 256


def write_tokenizer(folder: Path) -> None:
    """The published files of a tokenizer and an image processor, for ``VOCABULARY`` ids; small images only."""
    lines = [base64.b64encode(word) + b" %d\n" % rank for rank, word in enumerate(_WORDS)]
    (folder / "tiktoken.model").write_bytes(b"".join(lines))
    added = {str(len(_WORDS) + place): {"content": name} for place, name in CONTROL_TOKENS.items()}
    settings: dict[str, Any] = {
        "added_tokens_decoder": added,
        "auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]},
        "tokenizer_class": "TikTokenTokenizer",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    images: dict[str, Any] = {
        "patch_size": 14, "merge_kernel_size": 2, "in_patch_limit": 48, "patch_limit_on_one_side": 8,
        "fixed_output_tokens": None, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5],
    }  # fmt: skip
    (folder / "preprocessor_config.json").write_text(
        json.dumps({"auto_map": {"AutoProcessor": "kimi_k3_processor.KimiK3Processor"}, "media_proc_cfg": images})
    )


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
