"""The shipped catalogue is consistent with itself."""

from __future__ import annotations

import pytest

from app.catalogue import CatalogueEntry, find_entry, in_language, parse_catalogue, read_catalogue

CATALOGUE = read_catalogue()


def test_the_starter_is_the_first_row_and_comes_with_the_program() -> None:
    assert CATALOGUE[0].repo == "HuggingFaceTB/SmolLM2-135M-Instruct"
    assert CATALOGUE[0].is_bundled
    assert sum(entry.is_bundled for entry in CATALOGUE) == 1


def test_the_largest_comes_last() -> None:
    assert CATALOGUE[-1].repo == "moonshotai/Kimi-K3"
    assert [entry.parameters for entry in CATALOGUE] == sorted(entry.parameters for entry in CATALOGUE)


def test_no_repo_is_listed_twice() -> None:
    assert len({entry.repo for entry in CATALOGUE}) == len(CATALOGUE)


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.title)
def test_a_row_is_plausible(entry: CatalogueEntry) -> None:
    assert entry.repo.count("/") == 1
    assert entry.active_parameters <= entry.parameters
    assert entry.loaded_bytes * 0.95 <= entry.weight_bytes <= entry.loaded_bytes * 1.3
    assert 0 <= entry.experts_per_token <= entry.experts
    assert (entry.active_parameters < entry.parameters) == (entry.experts > 0)
    embedding = entry.vocabulary * entry.hidden_size
    assert embedding < entry.parameters
    for texts in (entry.sentence, entry.languages):
        assert set(texts) == {"en", "zh_CN"}
        assert all(texts.values())


def test_a_dense_rows_parameters_follow_from_its_shape() -> None:
    entry = find_entry(CATALOGUE, "qwen/qwen3-8b")
    assert entry is not None
    per_layer = 4096 * (32 * 128 * 2 + 8 * 128 * 2) + 3 * 4096 * 12288
    assert entry.parameters == pytest.approx(36 * per_layer + 2 * 151936 * 4096, rel=0.001)


def test_texts_come_in_the_language_asked_for_or_in_english() -> None:
    texts = {"en": "English", "zh_CN": "英语"}
    assert in_language(texts, "zh_CN") == "英语"
    assert in_language(texts, "zh_TW") == "英语"
    assert in_language(texts, "de_DE") == "English"


def test_a_catalogue_of_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="format 2"):
        parse_catalogue('{"format": 2, "models": []}')
