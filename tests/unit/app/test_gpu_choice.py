"""The driver as its tools tell it, and which runtime suits it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from app.gpu import driver as driver_module
from app.gpu.choice import NothingSuits, RuntimeLabel, choose_runtime, read_label
from app.gpu.driver import Card, Driver, ask_tool, driver_for_cuda, read_kernel_module
from app.gpu.meter import Amount, Meter
from app.signed_list import Part, RuntimeEntry

LABEL = RuntimeLabel("cp311", "2.13.0", "linux-x86_64")
MODULE = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build  (dvs-builder)\nGCC version:\n"
)


def entry(cuda: int, driver: tuple[int, ...], compute: tuple[int, ...], **other: str) -> RuntimeEntry:
    given = {"abi": "cp311", "torch": "2.13.0", "platform": "linux-x86_64", "version": "1", **other}
    return RuntimeEntry(
        **given, cuda=cuda, least_driver=driver, least_compute=compute, parts=(Part("", 1, ""),), unpacked_bytes=1
    )


CUDA_13, CUDA_12 = entry(13, (580,), (7, 5)), entry(12, (525,), (5, 0))


def driver(version: tuple[int, ...], *computes: tuple[int, ...]) -> Driver:
    return Driver(version, tuple(Card("A card", compute=each) for each in computes))


@pytest.mark.parametrize(
    ("found", "want"),
    [
        (driver((580, 65, 6), (8, 9)), CUDA_13),
        (driver((579, 99), (8, 9)), CUDA_12),
        (driver((525,), (8, 9)), CUDA_12),
        (driver((590, 1), (6, 1)), CUDA_12),
        (driver((590, 1), (6, 1), (8, 6)), CUDA_13),
        (driver((590, 1)), CUDA_13),
        (driver((590, 1), ()), CUDA_13),
        (driver((470, 256), (8, 9)), NothingSuits(least_driver=(525,))),
        (driver((590, 1), (3, 5)), NothingSuits(is_card_too_old=True)),
    ],
)
def test_the_newest_cuda_that_driver_and_card_can_use(found: Driver, want: object) -> None:
    assert choose_runtime(LABEL, found, [CUDA_12, CUDA_13]) == want


@pytest.mark.parametrize("other", [{"abi": "cp312"}, {"torch": "2.12.0"}, {"platform": "win-amd64"}])
def test_a_runtime_of_another_program_never_suits(other: dict[str, str]) -> None:
    assert choose_runtime(LABEL, driver((590,)), [entry(13, (580,), (7, 5), **other)]) == NothingSuits()


def test_of_two_with_the_same_cuda_the_newer_is_taken() -> None:
    newer, newest = (entry(13, (580,), (7, 5), version=version) for version in ("9", "10"))
    assert choose_runtime(LABEL, driver((590,)), [newest, newer, CUDA_13]) is newest


def test_the_label_of_a_runtime_leaves_out_what_torch_was_built_for(tmp_path: Path) -> None:
    row = {"abi": "cp311", "torch": "2.13.0+cu130", "platform": "linux-x86_64"}
    (tmp_path / "runtime.json").write_text(json.dumps(row))
    assert read_label(tmp_path) == LABEL
    (tmp_path / "runtime.json").write_text("{")
    assert read_label(tmp_path) is None


def test_the_drivers_tool_tells_of_every_card() -> None:
    said = "581.29, NVIDIA GeForce RTX 4070, 12282, 8.9\n581.29, NVIDIA T4, [N/A], [N/A]\n"
    found = ask_tool(lambda _: said)
    assert found == Driver((581, 29), (Card("NVIDIA GeForce RTX 4070", 12282 << 20, (8, 9)), Card("NVIDIA T4", 0, ())))
    assert found is not None
    assert found.version_text == "581.29"
    for nothing in ("", "No devices were found\n", "NVIDIA-SMI has failed because it couldn't communicate, a, b, c"):
        assert ask_tool(lambda _, nothing=nothing: nothing) is None


def test_the_kernels_module_tells_where_the_tool_is_not_installed(tmp_path: Path) -> None:
    assert read_kernel_module(tmp_path) is None
    (tmp_path / "version").write_text(MODULE)
    card = tmp_path / "gpus" / "0000-01-00.0"
    card.mkdir(parents=True)
    (card / "information").write_text("Model: \t\t NVIDIA GeForce GTX 1060\nIRQ:   \t\t 140\n")
    assert read_kernel_module(tmp_path) == Driver((575, 57, 8), (Card("NVIDIA GeForce GTX 1060"),))


def test_what_the_drivers_library_counts_names_its_least_driver() -> None:
    assert driver_for_cuda(13010) == Driver((580,))
    assert driver_for_cuda(12040) == Driver((525,))
    assert driver_for_cuda(9000) is None


def test_speed_is_that_of_the_last_seconds_and_nothing_when_it_stands_still() -> None:
    meter = Meter(1000, 100, 0.0)
    meter.advance(300, 1.0)
    assert meter.amount(1.0) == Amount(300, 1000, 200.0, 3.5)
    assert meter.amount(5.0) == Amount(300, 1000)
    meter.advance(0, 6.0)
    assert meter.amount(6.0) == Amount(0, 1000)
    meter.advance(50, 7.0)
    assert meter.amount(7.0).bytes_per_second == 50.0


def test_on_windows_no_tool_in_the_current_folder_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nvidia-smi.exe").write_bytes(b"MZ")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("SYSTEMROOT", str(tmp_path / "Windows"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert driver_module._find_tool() is None
    tool = tmp_path / "Windows" / "System32" / "nvidia-smi.exe"
    tool.parent.mkdir(parents=True)
    tool.write_bytes(b"MZ")
    assert driver_module._find_tool() == str(tool)
