"""What an installed program checks itself with, and where its engine imports from."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
import torch

from engine import family_check
from engine.family_check import check_family
from engine.process_setup import use_runtimes


def test_a_tiny_model_streams_equal_to_plain_transformers() -> None:
    found = check_family("qwen3_moe")
    assert found.has_equal_logits
    assert found.has_equal_tokens
    assert found.logits == 8 * 160


def test_a_difference_of_one_bit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = family_check._plain_outputs

    def off_by_a_bit(checkpoint: Path) -> tuple[torch.Tensor, list[int]]:
        logits, tokens = plain(checkpoint)
        logits.view(torch.int32)[-1, -1] ^= 1
        return logits, tokens

    monkeypatch.setattr(family_check, "_plain_outputs", off_by_a_bit)
    found = check_family("llama")
    assert not found.has_equal_logits
    assert found.has_equal_tokens


def test_the_first_runtime_comes_before_the_others_and_before_everything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path / "program"), *sys.path])
    for folder in ("program", "cpu", "cuda"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "strata_probe_module.py").write_text(f"PLACE = {folder!r}")
    use_runtimes([tmp_path / "cuda", tmp_path / "cpu"])
    module = importlib.import_module("strata_probe_module")
    monkeypatch.delitem(sys.modules, "strata_probe_module")
    assert module.PLACE == "cuda"
