"""Budgets and context sizes: arithmetic that decides what fits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from transformers import DynamicCache

from engine.errors import InvalidRequest
from engine.generation.context_size import cache_bytes, context_limit, planned_context
from engine.quantities import format_duration, format_size, parse_size
from engine.streaming.budgets import SYSTEM_RESERVE_BYTES, FreeMemory, plan_budgets
from tests.helpers.families import build_model
from tests.helpers.kimi_k3 import published_config

GIB = 1 << 30
LLAMA_8B = {
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "max_position_embeddings": 131072,
}


def test_the_system_keeps_two_gibibytes_by_default() -> None:
    budgets = plan_budgets(FreeMemory(16 * GIB, None), vram=None, ram=None, cache_bytes=GIB)
    assert budgets.device_bytes == 16 * GIB - SYSTEM_RESERVE_BYTES - GIB
    assert budgets.host_bytes == 0


def test_an_explicit_limit_holds_the_cache_as_well() -> None:
    budgets = plan_budgets(FreeMemory(64 * GIB, 24 * GIB), vram=4 * GIB, ram=8 * GIB, cache_bytes=GIB)
    assert budgets.device_bytes == 3 * GIB
    assert budgets.host_bytes == 8 * GIB


def test_on_a_machine_without_a_card_vram_alone_is_taken_as_the_limit() -> None:
    budgets = plan_budgets(FreeMemory(64 * GIB, None), vram=4 * GIB, ram=None, cache_bytes=0)
    assert budgets.device_bytes == 4 * GIB


def test_a_small_machine_still_gets_a_quarter_of_what_is_free() -> None:
    budgets = plan_budgets(FreeMemory(2 * GIB, None), vram=None, ram=None, cache_bytes=0)
    assert budgets.device_bytes == GIB // 2


def test_a_cache_counts_keys_and_values_of_the_kv_heads() -> None:
    assert cache_bytes(LLAMA_8B, 1, 2) == 32 * 2 * 8 * 128 * 2


def test_sliding_layers_keep_their_window_and_linear_ones_a_state() -> None:
    kinds = ["full_attention"] * 8 + ["sliding_attention"] * 16 + ["linear_attention"] * 8
    config = {**LLAMA_8B, "layer_types": kinds, "sliding_window": 1024}
    per_token = 2 * 8 * 128 * 2
    assert cache_bytes(config, 4096, 2) == (8 * 4096 + 16 * 1024 + 8 * 64) * per_token


def test_latent_attention_keeps_one_latent_for_all_heads() -> None:
    latent = {"num_attention_heads": 128, "num_hidden_layers": 61, "kv_lora_rank": 512, "qk_rope_head_dim": 64}
    assert cache_bytes({**latent, "qk_nope_head_dim": 128, "v_head_dim": 128}, 4096, 2) == 61 * 4096 * (512 + 64) * 2


def test_delta_attention_keeps_a_matrix_for_each_head_however_long_the_text() -> None:
    config = published_config()
    latents = 24 * (512 + 64) * 2
    states = 69 * (96 * 128 * 128 * 4 + 4 * 3 * 96 * 128 * 2)
    assert cache_bytes(config, 1, 2) == latents + states
    assert cache_bytes(config, 4096, 2) == 4096 * latents + states


@pytest.mark.parametrize(
    "family",
    ["llama", "mixtral", "qwen3_5_text", "qwen4_exp_text", "deepseek_v3", "deepseek_v32", "kimi_linear", "gpt_oss",
     "gemma4_text"],
)  # fmt: skip
def test_a_cache_takes_what_was_counted(family: str) -> None:
    tokens = 200
    model = build_model(family)
    cache = DynamicCache(config=model.config.get_text_config(decoder=True))
    with torch.inference_mode():
        model(input_ids=torch.arange(5, 5 + tokens)[None] % 200, cache=cache, use_cache=True)
    held = sum(tensor.nbytes for layer in cache.layers for tensor in _tensors(list(vars(layer).values())))
    counted = cache_bytes(model.config.to_dict(), tokens, model.dtype.itemsize)
    # What is left out: the convolution in front of Qwen4-Exp's table, whose size does not grow.
    assert counted == pytest.approx(held, rel=0.1 if family == "qwen4_exp_text" else 0.01)


def _tensors(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _tensors(part)


def test_a_text_config_inside_a_larger_one_is_found() -> None:
    assert cache_bytes({"text_config": LLAMA_8B}, 10, 2) == cache_bytes(LLAMA_8B, 10, 2)


def test_the_context_is_the_model_s_unless_less_is_wanted() -> None:
    assert context_limit(LLAMA_8B) == 131072
    assert planned_context(LLAMA_8B, None) == 4096
    assert planned_context({"n_positions": 1024}, None) == 1024
    assert planned_context(LLAMA_8B, 500_000) == 131072
    assert context_limit({}) is None


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [("4GiB", 4 * GIB), ("800MB", 800_000_000), ("1.5 GB", 1_500_000_000), ("123", 123), ("2k", 2048)],
)
def test_sizes_read_as_people_write_them(text: str, nbytes: int) -> None:
    assert parse_size(text) == nbytes


@pytest.mark.parametrize("text", ["", "GB", "4 apples", "-3GB", "1e9", "4GBB"])
def test_anything_else_is_no_size(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_size(text)


def test_sizes_and_times_print_with_three_digits_at_most() -> None:
    assert [format_size(n) for n in (0, 999, 1000, 41_234_000_000, 5_000_000_000_000)] == [
        "0 B",
        "999 B",
        "1.00 kB",
        "41.2 GB",
        "5.00 TB",
    ]
    assert [format_duration(s) for s in (0.84, 42, 240, 7800, 200_000)] == [
        "0.8 s",
        "42 s",
        "4 min",
        "2 h 10 min",
        "2 d 7 h",
    ]
