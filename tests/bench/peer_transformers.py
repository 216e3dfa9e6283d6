"""Seconds per token of plain transformers: all in RAM (``cpu``) or offloaded to disk by accelerate (``disk``).

usage: python -m tests.bench.peer_transformers CHECKPOINT PASSES cpu|disk
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time

import torch
from transformers import AutoModelForCausalLM, DynamicCache


def main(path: str, passes: int, tier: str) -> None:
    places: dict[str, str] = {"": "cpu"}
    if tier == "disk":
        places = dict.fromkeys(("model.embed_tokens", "model.norm", "lm_head", "model.rotary_emb"), "cpu")
        places["model.layers"] = "disk"
    with tempfile.TemporaryDirectory() as scratch:
        model = AutoModelForCausalLM.from_pretrained(
            path, dtype=torch.bfloat16, device_map=places, offload_folder=scratch
        )
        cache = DynamicCache(config=model.config)
        seconds: list[float] = []
        with torch.inference_mode():
            ids = torch.arange(3, 35)[None]
            token = model(ids, past_key_values=cache, use_cache=True, logits_to_keep=1).logits.argmax(-1)
            for _ in range(passes):
                started = time.perf_counter()
                token = model(token, past_key_values=cache, use_cache=True).logits[:, -1:].argmax(-1)
                seconds.append(time.perf_counter() - started)
    print(f"s/token {statistics.median(seconds):.5f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
