"""docs/models.md says what was recorded, and what was recorded is all there is."""

from __future__ import annotations

import json

import pytest

from engine.generation.context_size import DEFAULT_CONTEXT_TOKENS, cache_bytes
from tests.helpers.families import SKIPPED, family_names
from tests.helpers.published_models import MOST_BYTES, published_config, published_names
from tests.parity.models_page import CATALOGUE, IN_CATALOGUE, PAGE, REFUSED, models_page, read_results
from tests.parity.walk import PACKED

RESULTS = read_results()


def test_the_page_is_what_was_recorded() -> None:
    assert PAGE.read_text(encoding="utf-8") == models_page(RESULTS)


def test_every_family_was_walked_and_is_equal_or_refused() -> None:
    walked = {name for name in (*family_names(), *PACKED) if name not in SKIPPED}
    assert set(RESULTS["families"]) == walked
    assert {name for name, found in RESULTS["families"].items() if not found["equal"]} == set(REFUSED)
    assert all(RESULTS["families"][name]["packed"] for name in PACKED)


def test_every_published_model_is_within_its_budget() -> None:
    assert sorted(RESULTS["published"]) == published_names()
    for name, found in RESULTS["published"].items():
        cache = cache_bytes(published_config(name), DEFAULT_CONTEXT_TOKENS, 2)
        assert found["cache_bytes"] == cache
        assert found["least_device_bytes"] + cache <= MOST_BYTES[name]


def test_the_window_knows_the_same_figures() -> None:
    rows = {row["repo"].partition("/")[2]: row for row in json.loads(CATALOGUE.read_text(encoding="utf-8"))["models"]}
    for name, found in RESULTS["published"].items():
        assert {key: rows[name][key] for key in IN_CATALOGUE} == {key: found[key] for key in IN_CATALOGUE}
        assert rows[name]["weight_bytes"] == pytest.approx(found["nbytes"], rel=0.02)
