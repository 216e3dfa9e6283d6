"""Searching, sorting and judging the models of the library."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.catalogue import read_catalogue
from app.estimates import Estimate
from app.library.shelf import Order, arrange, shelve, total_bytes
from engine.api import MachineReport, ModelInfo

GB = 10**9
CATALOGUE = read_catalogue()
MACHINE = MachineReport("Linux", "A processor", 8, 32 * GB, 24 * GB, 1000 * GB, 500 * GB, 1.9 * GB, 25 * GB, ())


def model(title: str, nbytes: int, state: str = "ready", dtype: str = "bfloat16") -> ModelInfo:
    name = title.replace("/", "--") + "@12345678"
    return ModelInfo(
        name, title, state, nbytes, f"/models/{name}", dtype, None, 4096, True, False, f"/originals/{title}"
    )


MODELS = [
    model("Qwen/Qwen2.5-32B-Instruct", 65 * GB),
    model("lab/half-done", 3 * GB, state="unfinished"),
    model("HuggingFaceTB/SmolLM2-135M-Instruct", 269_000_000),
    model("Qwen/Qwen3-4B", 8 * GB),
]


def shown(words: str, order: Order) -> list[str]:
    return [each.short for each in arrange(shelve(MODELS, CATALOGUE, MACHINE), words, order)]


def test_by_name_what_is_not_ready_comes_last() -> None:
    assert shown("", Order.NAME) == ["Qwen2.5-32B-Instruct", "Qwen3-4B", "SmolLM2-135M-Instruct", "half-done"]


def test_by_size_and_by_speed() -> None:
    assert shown("", Order.SIZE)[0] == "Qwen2.5-32B-Instruct"
    assert shown("", Order.SPEED)[:3] == ["SmolLM2-135M-Instruct", "Qwen3-4B", "Qwen2.5-32B-Instruct"]


def test_the_one_used_last_comes_first_whether_chats_name_it_or_its_folder() -> None:
    used = {"/models/Qwen--Qwen3-4B@12345678": 200.0, "HuggingFaceTB--SmolLM2-135M-Instruct@12345678": 100.0}
    arranged = arrange(shelve(MODELS, CATALOGUE, MACHINE, used), "", Order.USED)
    assert [(each.short, each.used_at) for each in arranged[:3]] == [
        ("Qwen3-4B", 200.0), ("SmolLM2-135M-Instruct", 100.0), ("Qwen2.5-32B-Instruct", None)
    ]  # fmt: skip


def test_a_search_matches_every_word_in_names_precision_and_state() -> None:
    assert shown("qwen 32b", Order.NAME) == ["Qwen2.5-32B-Instruct"]
    assert shown("unfinished", Order.NAME) == ["half-done"]
    assert shown("qwen smol", Order.NAME) == []


def test_only_a_ready_model_on_a_measured_machine_gets_a_verdict() -> None:
    by_name = {each.short: each for each in shelve(MODELS, CATALOGUE, MACHINE)}
    assert isinstance(by_name["Qwen3-4B"].found, Estimate)
    assert by_name["half-done"].found is None
    assert all(each.found is None for each in shelve(MODELS, CATALOGUE, None))


def test_a_model_on_a_slower_drive_takes_as_long_as_that_drive() -> None:
    large = model("Qwen/Qwen2.5-72B-Instruct", 145 * GB)
    (usual,) = shelve([large], CATALOGUE, MACHINE)
    (slow,) = shelve([large], CATALOGUE, MACHINE, None, lambda folder: 0.19 * GB if folder == Path("/models") else None)
    assert isinstance(usual.found, Estimate)
    assert isinstance(slow.found, Estimate)
    assert slow.found.s_per_token == pytest.approx(10 * usual.found.s_per_token)


def test_the_total_counts_unfinished_ones_too() -> None:
    assert total_bytes(shelve(MODELS, CATALOGUE, None)) == 76 * GB + 269_000_000
