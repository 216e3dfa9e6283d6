"""What is offered on a computer, and what is recommended there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from app.catalogue import read_catalogue
from app.wizard.flow import STARTER_SOURCE
from app.wizard.found_models import FoundModel, find_models
from app.wizard.offers import Action, catalogue_offers, found_offers, matches, recommend
from engine.api import MachineReport

GB = 10**9
CATALOGUE = read_catalogue()
MACHINE = MachineReport("Linux", "A processor", 8, 32 * GB, 24 * GB, 1000 * GB, 500 * GB, 1.9 * GB, 25 * GB, ())
QWEN_HERE = FoundModel("/cache/models--Qwen--Qwen3-4B", "Qwen/Qwen3-4B", 8 * GB, Path("/cache/models--Qwen--Qwen3-4B"))


def test_without_a_download_a_row_asks_for_files_and_the_starter_is_ready() -> None:
    offers = catalogue_offers(CATALOGUE, MACHINE, [], can_download=False)
    actions = {offer.entry.repo: offer.action for offer in offers if offer.entry}
    assert actions["HuggingFaceTB/SmolLM2-135M-Instruct"] is Action.USE
    assert actions["Qwen/Qwen3-8B"] is Action.BRING
    assert actions["deepseek-ai/DeepSeek-V3"] is Action.BRING
    assert recommend(offers, MACHINE) == offers[0]
    assert offers[0].source == STARTER_SOURCE


def test_what_is_on_the_computer_already_is_used_and_recommended() -> None:
    offers = catalogue_offers(CATALOGUE, MACHINE, [QWEN_HERE], can_download=False)
    best = recommend(offers, MACHINE)
    assert best is not None
    assert (best.source, best.action) == (QWEN_HERE.source, Action.USE)


def test_with_a_download_the_largest_comfortable_ungated_model_of_an_hour_is_recommended() -> None:
    best = recommend(catalogue_offers(CATALOGUE, MACHINE, [], can_download=True), MACHINE)
    assert best is not None
    assert best.title == "Qwen3 8B"
    assert best.action is Action.DOWNLOAD


def test_nothing_is_recommended_that_the_drive_has_no_room_for() -> None:
    full = replace(MACHINE, disk_free_bytes=10 * GB)
    best = recommend(catalogue_offers(CATALOGUE, full, [], can_download=True), full)
    assert best is not None
    assert best.entry is not None
    assert best.entry.weight_bytes + best.entry.loaded_bytes <= 8 * GB


def test_before_the_machine_is_measured_the_starter_is_recommended() -> None:
    offers = catalogue_offers(CATALOGUE, None, [], can_download=True)
    best = recommend(offers, None)
    assert best is not None
    assert best.source == STARTER_SOURCE
    assert all(offer.found is None for offer in offers)


def test_a_search_looks_at_names_licences_and_languages() -> None:
    offers = catalogue_offers(CATALOGUE, MACHINE, [], can_download=False)
    assert [o.title for o in offers if matches(o, "qwen3 8b")] == ["Qwen3 8B"]
    assert all(o.entry and o.entry.licence == "MIT" for o in offers if matches(o, "mit microsoft"))
    assert not [o for o in offers if matches(o, "no such model")]


def test_models_of_other_programs_are_found_by_their_files(tmp_path: Path) -> None:
    snapshot = tmp_path / ".cache/huggingface/hub/models--Qwen--Qwen3-4B/snapshots/abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    (snapshot / "model.safetensors").write_bytes(b"12345")
    (snapshot / "pytorch_model.bin").write_bytes(b"1234567")
    tokenizer_only = tmp_path / ".cache/huggingface/hub/models--a--b/snapshots/abc"
    tokenizer_only.mkdir(parents=True)
    (tokenizer_only / "config.json").write_text("{}")
    lm_studio = tmp_path / ".lmstudio/models/lab/Tiny-GGUF"
    lm_studio.mkdir(parents=True)
    for name in ("Tiny-Q4.gguf", "mmproj-Tiny.gguf", "Big-00001-of-00002.gguf"):
        (lm_studio / name).write_bytes(b"GGUF")
    found = find_models({}, tmp_path)
    assert [(model.title, model.nbytes) for model in found] == [("Qwen/Qwen3-4B", 5), ("Tiny-Q4", 4)]


def test_the_hubs_own_variables_say_where_its_cache_is(tmp_path: Path) -> None:
    assert find_models({"HF_HUB_CACHE": str(tmp_path / "nowhere")}, tmp_path) == []


def test_a_found_model_says_its_time_and_a_gguf_file_waits_for_the_engine() -> None:
    gguf = FoundModel("/models/tiny.gguf", "tiny", GB, Path("/models/tiny.gguf"))
    offers = found_offers(CATALOGUE, MACHINE, [QWEN_HERE, gguf])
    assert [offer.action for offer in offers] == [Action.USE, Action.USE]
    assert offers[0].found is not None
    assert offers[1].found is None
