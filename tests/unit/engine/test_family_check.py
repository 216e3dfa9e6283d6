"""What an installed program checks itself with, and where its engine imports from."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
import torch

from engine import family_check
from engine.backends.simulated import SimulatedBackend
from engine.errors import DeviceUnavailable, NotFinite
from engine.family_check import check_device, check_family
from engine.process_setup import torch_libraries, use_runtimes


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


def test_a_device_is_compared_with_the_processor() -> None:
    found = check_device("cpu")
    assert found.difference == 0.0
    assert found.torch.version == torch.__version__
    assert Path(found.torch.folder) == Path(torch.__file__).parent.parent


def test_a_device_with_memory_of_its_own_is_streamed_through(monkeypatch: pytest.MonkeyPatch) -> None:
    device = SimulatedBackend(64 << 20)
    monkeypatch.setattr(family_check, "open_backend", lambda _: device)
    assert check_device("cuda").difference == 0.0
    assert device.copied_bytes > 0


def test_what_torch_says_of_a_device_becomes_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DeviceUnavailable, match=r"^No graphics card can be computed with\."):
        check_device("xpu")

    def refuse(*_: object) -> None:
        raise RuntimeError("CUDA error: no kernel image is available for execution on the device")

    monkeypatch.setattr(family_check, "_streamed_outputs", refuse)
    with pytest.raises(DeviceUnavailable, match=r"^The graphics card does not compute\.") as caught:
        check_device("cpu")
    assert "no kernel image" in caught.value.detail


def test_a_device_that_computes_no_numbers_is_not_a_matter_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(*_: object) -> None:
        raise NotFinite("checkpoint produced numbers that are not finite (its weights may be damaged).")

    monkeypatch.setattr(family_check, "_streamed_outputs", spoil)
    with pytest.raises(DeviceUnavailable, match=r"^The graphics card does not compute\."):
        check_device("cpu")


def test_only_the_libraries_of_the_torch_that_is_imported_are_found(tmp_path: Path) -> None:
    for folder in ("cuda/torch/lib", "cpu/torch/lib", "empty"):
        (tmp_path / folder).mkdir(parents=True)
    folders = [tmp_path / name for name in ("empty", "cuda", "cpu")]
    assert torch_libraries(folders) == tmp_path / "cuda" / "torch" / "lib"
    assert torch_libraries(folders[:1]) is None


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
