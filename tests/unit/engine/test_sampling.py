"""Explicit options win over the model's defaults, greedy over both, and transformers is content."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import pytest
from transformers import GenerationConfig

from engine.errors import InvalidRequest
from engine.generation.sampling import MAX_SEED, SamplingOptions, generation_kwargs

LLAMA_DEFAULTS = {"do_sample": True, "temperature": 0.6, "top_p": 0.9, "eos_token_id": [1, 2]}
GREEDY_KWARGS = {
    "do_sample": False,
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": 50,
    "min_p": None,
    "repetition_penalty": 1.0,
}


@pytest.mark.parametrize(
    "valid",
    [
        {"temperature": 0},
        {"temperature": 0.01},
        {"temperature": 5},
        {"top_p": 1},
        {"top_p": 1e-6},
        {"top_k": 0},
        {"top_k": 1},
        {"min_p": 0},
        {"min_p": 0.999},
        {"repetition_penalty": 0.5},
        {"repetition_penalty": 2},
        {"seed": 0},
        {"seed": MAX_SEED},
        {"max_new_tokens": 1},
    ],
)
def test_the_ends_of_every_range_are_allowed(valid: dict[str, Any]) -> None:
    generation_kwargs(SamplingOptions(**valid), {})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1),
        ("temperature", 5.1),
        ("temperature", math.nan),
        ("temperature", math.inf),
        ("top_p", 0),
        ("top_p", 1.01),
        ("top_k", -1),
        ("top_k", 1.5),
        ("min_p", 1),
        ("min_p", -0.2),
        ("repetition_penalty", 0),
        ("repetition_penalty", math.inf),
        ("seed", -1),
        ("seed", MAX_SEED + 1),
        ("max_new_tokens", 0),
        ("max_new_tokens", -5),
    ],
)
def test_a_number_outside_its_range_is_named_with_the_range(name: str, value: float) -> None:
    options: dict[str, Any] = {name: value}
    with pytest.raises(InvalidRequest, match=rf"^{name} is {value}, but it must be .*\d.*\.$"):
        SamplingOptions(**options)


def test_the_length_limit_leaves_room_for_a_real_answer() -> None:
    assert SamplingOptions().max_new_tokens >= 1024


def test_options_survive_the_way_to_another_process() -> None:
    options = SamplingOptions(temperature=0.7, seed=3)
    assert pickle.loads(pickle.dumps(options)) == options


def test_without_options_the_models_defaults_hold() -> None:
    assert generation_kwargs(SamplingOptions(), LLAMA_DEFAULTS) == {
        "do_sample": True,
        "temperature": 0.6,
        "top_p": 0.9,
        "top_k": 50,
        "min_p": None,
        "repetition_penalty": 1.0,
    }


def test_explicit_options_win_one_by_one() -> None:
    defaults = {**LLAMA_DEFAULTS, "top_k": 20, "min_p": 0.1, "repetition_penalty": 1.1}
    explicit: dict[str, Any] = {
        "temperature": 0.9,
        "top_p": 0.5,
        "top_k": 7,
        "min_p": 0.3,
        "repetition_penalty": 1.3,
    }
    before = generation_kwargs(SamplingOptions(), defaults)
    for name, value in explicit.items():
        assert generation_kwargs(SamplingOptions(**{name: value}), defaults) == {**before, name: value}


@pytest.mark.parametrize("options", [SamplingOptions(greedy=True), SamplingOptions(temperature=0)])
def test_greedy_wins_over_every_other_wish(options: SamplingOptions) -> None:
    assert options.is_greedy
    assert generation_kwargs(options, LLAMA_DEFAULTS) == GREEDY_KWARGS
    wishes = SamplingOptions(greedy=True, temperature=0.9, top_p=0.5, top_k=3, min_p=0.2)
    assert generation_kwargs(wishes, LLAMA_DEFAULTS) == GREEDY_KWARGS


def test_the_repetition_penalty_holds_for_greedy_too() -> None:
    kwargs = generation_kwargs(SamplingOptions(greedy=True), {"repetition_penalty": 1.05})
    assert kwargs == {**GREEDY_KWARGS, "repetition_penalty": 1.05}
    kwargs = generation_kwargs(SamplingOptions(greedy=True, repetition_penalty=2), {"repetition_penalty": 1.05})
    assert kwargs == {**GREEDY_KWARGS, "repetition_penalty": 2.0}


def test_a_model_without_defaults_is_greedy_as_in_transformers() -> None:
    assert generation_kwargs(SamplingOptions(), {}) == GREEDY_KWARGS
    assert generation_kwargs(SamplingOptions(), {"do_sample": None, "temperature": None}) == GREEDY_KWARGS
    assert generation_kwargs(SamplingOptions(seed=1), {}) == GREEDY_KWARGS


@pytest.mark.parametrize("wish", [{"temperature": 0.7}, {"top_p": 0.9}, {"top_k": 40}, {"min_p": 0.05}])
def test_naming_a_sampling_option_switches_sampling_on(wish: dict[str, Any]) -> None:
    kwargs = generation_kwargs(SamplingOptions(**wish), {"do_sample": False})
    assert kwargs == {**GREEDY_KWARGS, **wish, "do_sample": True}


def test_a_model_that_gives_a_temperature_but_forgot_do_sample_is_sampled() -> None:
    assert generation_kwargs(SamplingOptions(), {"temperature": 0.6})["do_sample"] is True
    assert generation_kwargs(SamplingOptions(), {"temperature": 0.6, "do_sample": False}) == GREEDY_KWARGS


def test_a_default_temperature_of_zero_means_greedy() -> None:
    assert generation_kwargs(SamplingOptions(), {"do_sample": True, "temperature": 0.0}) == GREEDY_KWARGS


def test_defaults_out_of_range_or_of_another_type_are_ignored() -> None:
    nonsense: dict[str, object] = {
        "do_sample": True,
        "temperature": "0.7",
        "top_p": 0,
        "top_k": -1,
        "min_p": 7,
        "repetition_penalty": True,
    }
    assert generation_kwargs(SamplingOptions(), nonsense) == {**GREEDY_KWARGS, "do_sample": True}


def test_top_k_zero_and_min_p_zero_switch_the_filter_off() -> None:
    kwargs = generation_kwargs(SamplingOptions(top_k=0, min_p=0), {**LLAMA_DEFAULTS, "top_k": 20, "min_p": 0.1})
    assert kwargs["top_k"] == 0
    assert kwargs["min_p"] is None


def test_numbers_have_the_types_that_transformers_insists_on() -> None:
    kwargs = generation_kwargs(
        SamplingOptions(temperature=1, top_p=1, repetition_penalty=1), {"top_k": 40.0, "min_p": 0.1}
    )
    assert {name: type(value) for name, value in kwargs.items()} == {
        "do_sample": bool,
        "temperature": float,
        "top_p": float,
        "top_k": int,
        "min_p": float,
        "repetition_penalty": float,
    }


def test_transformers_finds_nothing_to_warn_about_in_any_combination() -> None:
    with pytest.raises(ValueError, match="do_sample"):
        GenerationConfig(do_sample=False, temperature=0.6).validate(strict=True)
    wishes: list[dict[str, Any]] = [
        {"greedy": greedy, "temperature": temperature, "top_k": top_k, "min_p": min_p}
        for greedy, temperature, top_k, min_p in itertools.product(
            (False, True), (None, 0, 0.7), (None, 0, 3), (None, 0, 0.1)
        )
    ]
    models: list[dict[str, object]] = [{}, LLAMA_DEFAULTS, {"do_sample": False}, {"min_p": 0.1, "top_k": 5}]
    for wish, defaults in itertools.product(wishes, models):
        kwargs = generation_kwargs(SamplingOptions(**wish), defaults)
        GenerationConfig(**kwargs).validate(strict=True)
