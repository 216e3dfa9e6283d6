"""Predictions from the catalogue agree with the engine's own planner, and say what is missing where nothing fits."""

from __future__ import annotations

import pytest

from app.catalogue import CatalogueEntry, find_entry, read_catalogue
from app.estimates import (
    Estimate,
    ModelShape,
    Pace,
    Shortage,
    estimate,
    pace_of,
    shape_of,
    shape_of_name,
    shape_of_weights,
)
from engine.api import DeviceReport, MachineReport, WeightShape
from engine.streaming.budgets import FreeMemory, plan_budgets
from engine.streaming.prediction import Speeds, predict_pass_s
from engine.streaming.residency import BlockSize, ExpertSizes, Role, plan_residency

GB = 10**9
CATALOGUE = read_catalogue()


def machine(free: float, *, disk: float = 1.9 * GB, card: float | None = None) -> MachineReport:
    devices = (DeviceReport("cuda", "A card", round(card * 1.1), round(card)),) if card else ()
    return MachineReport(
        system="Linux",
        processor="A processor",
        cores=8,
        memory_total_bytes=round(free * 1.3),
        memory_free_bytes=round(free),
        disk_total_bytes=1000 * GB,
        disk_free_bytes=500 * GB,
        disk_bytes_per_second=disk,
        compute_bytes_per_second=25 * GB,
        devices=devices,
        product_s=150e-6,
    )


def entry(repo: str) -> CatalogueEntry:
    found = find_entry(CATALOGUE, repo)
    assert found is not None
    return found


def speeds_of(here: MachineReport) -> Speeds:
    return Speeds(here.disk_bytes_per_second, here.compute_bytes_per_second, product_s=here.product_s)


def blocks_of(shape: ModelShape) -> list[BlockSize]:
    layers = [BlockSize(f"layer-{i}", Role.ONCE, round(shape.layer_bytes), is_layer=True) for i in range(shape.layers)]
    lookup = [BlockSize("embed", Role.LOOKUP, round(shape.lookup_bytes))] if shape.lookup_bytes else []
    return [*lookup, *layers, BlockSize("head", Role.ONCE, round(shape.head_bytes))]


@pytest.mark.parametrize("repo", ["Qwen/Qwen3-8B", "Qwen/Qwen2.5-32B-Instruct", "meta-llama/Llama-3.3-70B-Instruct"])
@pytest.mark.parametrize("free", [8 * GB, 12 * GB, 24 * GB])
def test_a_prediction_without_a_card_agrees_with_the_engines_planner(repo: str, free: int) -> None:
    shape, here = shape_of(entry(repo)), machine(free)
    budgets = plan_budgets(FreeMemory(free, None), vram=None, ram=None, cache_bytes=round(shape.cache_bytes))
    plan = plan_residency(blocks_of(shape), budgets, is_unified=True)
    expected = predict_pass_s(plan, speeds_of(here))
    found = estimate(shape, here)
    assert isinstance(found, Estimate)
    assert found.s_per_token == pytest.approx(expected, rel=0.05)
    assert found.streamed_bytes == pytest.approx(plan.streamed_bytes, rel=0.05)


@pytest.mark.parametrize("repo", ["Qwen/Qwen2.5-32B-Instruct", "meta-llama/Llama-3.3-70B-Instruct"])
def test_with_a_card_what_neither_memory_holds_is_read_from_the_disk(repo: str) -> None:
    shape, here = shape_of(entry(repo)), machine(16 * GB, card=11 * GB)
    budgets = plan_budgets(FreeMemory(16 * GB, 11 * GB), vram=None, ram=None, cache_bytes=round(shape.cache_bytes))
    plan = plan_residency(blocks_of(shape), budgets, is_unified=False)
    found = estimate(shape, here)
    assert isinstance(found, Estimate)
    assert found.streamed_bytes == pytest.approx(plan.streamed_bytes, rel=0.05)


@pytest.mark.parametrize("repo", ["Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-235B-A22B", "mistralai/Mixtral-8x7B-Instruct-v0.1"])
@pytest.mark.parametrize("free", [12 * GB, 24 * GB, 48 * GB])
@pytest.mark.parametrize("card", [None, 11 * GB])
def test_experts_count_as_often_as_one_token_reads_them(repo: str, free: int, card: int | None) -> None:
    """As the engine's planner has it, not by all bytes of the model."""
    shape, here = shape_of(entry(repo)), machine(free, card=card)
    each = shape.experts
    budgets = plan_budgets(FreeMemory(free, card), vram=None, ram=None, cache_bytes=round(shape.cache_bytes))
    plan = plan_residency(
        blocks_of(shape),
        budgets,
        is_unified=card is None,
        experts=ExpertSizes(round(each.nbytes), each.count, each.in_layer, each.routed),
    )
    found = estimate(shape, here)
    assert isinstance(found, Estimate)
    assert found.streamed_bytes == pytest.approx(plan.read_bytes, rel=0.05)
    if card is None:
        expected = predict_pass_s(plan, speeds_of(here))
        assert found.s_per_token == pytest.approx(expected, rel=0.05)
    assert found.streamed_bytes < 0.5 * entry(repo).loaded_bytes


def test_experts_and_the_rest_add_up_to_the_whole_model_and_to_what_is_at_work() -> None:
    for each in (row for row in CATALOGUE if row.experts):
        shape = shape_of(each)
        per_parameter = each.bytes_per_parameter
        every = shape.used_bytes + shape.lookup_bytes + shape.experts.count * shape.experts.nbytes
        at_work = every - (shape.experts.count - shape.experts.routed) * shape.experts.nbytes
        assert every == pytest.approx((each.parameters - each.table_parameters) * per_parameter, rel=0.01)
        assert at_work == pytest.approx(each.active_parameters * per_parameter, rel=0.05), each.repo


def test_a_model_of_the_store_is_judged_by_its_manifest() -> None:
    weights = WeightShape(
        layers=48,
        layer_bytes=40_000_000,
        used_bytes=48 * 40_000_000 + 620_000_000,
        lookup_bytes=620_000_000,
        expert_bytes=9_437_184,
        experts=48 * 128,
        routed=48 * 8,
        routed_in_layer=8,
    )
    found = estimate(shape_of_weights(weights), machine(24 * GB))
    whole = estimate(shape_of_name("lab/unnamed", 61 * GB), machine(24 * GB))
    assert isinstance(found, Estimate)
    assert isinstance(whole, Estimate)
    assert found.s_per_token < 0.05 * whole.s_per_token


@pytest.mark.parametrize("name", ["lab/New-80B-A3B-Instruct", "lab/new-80b-a3b", "lab/New-1.5B-A0.4B"])
def test_a_name_that_says_how_much_is_at_work_is_believed(name: str) -> None:
    assert shape_of_name(name, 160 * GB).experts.count > 0
    assert shape_of_name("lab/New-80B-Alpha", 160 * GB).experts.count == 0


def test_what_fits_into_memory_reads_nothing_from_the_disk() -> None:
    found = estimate(shape_of(entry("Qwen/Qwen3-0.6B")), machine(16 * GB))
    assert isinstance(found, Estimate)
    assert found.streamed_bytes == 0
    assert found.memory_bytes > entry("Qwen/Qwen3-0.6B").loaded_bytes


def test_where_not_even_one_block_fits_both_numbers_are_given() -> None:
    found = estimate(shape_of(entry("meta-llama/Llama-3.1-405B-Instruct")), machine(6 * GB))
    assert isinstance(found, Shortage)
    assert found.need > found.have > 0


def test_a_model_the_catalogue_does_not_know_is_judged_by_its_size() -> None:
    small = estimate(shape_of_name("lab/some", 2 * GB), machine(16 * GB))
    large = estimate(shape_of_name("lab/some", 40 * GB), machine(16 * GB))
    assert isinstance(small, Estimate)
    assert isinstance(large, Estimate)
    assert small.streamed_bytes == 0
    assert large.s_per_token > small.s_per_token


def test_memory_never_exceeds_what_the_engine_would_allow() -> None:
    here = machine(24 * GB)
    for each in CATALOGUE:
        found = estimate(shape_of(each), here)
        if isinstance(found, Estimate):
            assert found.memory_bytes <= here.memory_free_bytes


@pytest.mark.parametrize(
    ("s_per_token", "pace"),
    [
        (0.02, Pace.INSTANT),
        (0.1, Pace.INSTANT),
        (0.11, Pace.COMFORTABLE),
        (1.0, Pace.COMFORTABLE),
        (1.4, Pace.SLOW),
        (12.0, Pace.SLOW),
        (60.0, Pace.OVERNIGHT),
        (400.0, Pace.DAYS),
    ],
)
def test_a_pace_has_its_range(s_per_token: float, pace: Pace) -> None:
    assert pace_of(s_per_token) is pace


def test_where_the_engine_has_planned_a_model_its_least_memory_counts() -> None:
    """A layer of the largest dense model has 6.4 GB, and its parts pass one by one."""
    largest = entry("meta-llama/Llama-3.1-405B-Instruct")
    assert largest.least_device_bytes < shape_of(largest).layer_bytes / 3
    need = largest.least_device_bytes + largest.cache_bytes
    small, enough = (estimate(shape_of(largest), machine(64 * GB, card=need + spare * GB)) for spare in (0.5, 0.6))
    assert isinstance(small, Shortage)
    assert small.need == need
    assert isinstance(enough, Estimate)
