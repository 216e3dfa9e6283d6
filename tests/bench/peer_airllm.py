"""Seconds per token of AirLLM. Runs in AirLLM's own environment; it writes its split inside CHECKPOINT.

usage: python peer_airllm.py CHECKPOINT PASSES
"""

import statistics
import sys
import time

import torch
from airllm import AutoModel  # pyright: ignore[reportMissingImports]
from transformers import DynamicCache


def main(path: str, passes: int) -> None:
    model = AutoModel.from_pretrained(path, device="cpu")
    cache, seconds = DynamicCache(config=model.config), []
    with torch.inference_mode():
        ids = torch.arange(3, 35)[None]
        token = model(ids, past_key_values=cache, use_cache=True).logits[:, -1:].argmax(-1)
        for _ in range(passes):
            started = time.perf_counter()
            token = model(token, past_key_values=cache, use_cache=True).logits[:, -1:].argmax(-1)
            seconds.append(time.perf_counter() - started)
    print(f"s/token {statistics.median(seconds):.5f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
