"""What releases are built from: complete, with hashes, of the chosen versions, and nobody's computer in it."""

from __future__ import annotations

import re
from pathlib import Path

import locks
import pytest
from locks import LOCKS, STARTER_LOCK, SYSTEMS, System, entries, normal_name, pins, wanted, without

import dev

CHOSEN = pins(dev.CONSTRAINTS.read_text(encoding="utf-8"))
each_system = pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.name)
# Where a system has another name for what pyproject.toml asks for, or does not have it.
ELSEWHERE = {"linux-x86_64": {"dmgbuild", "torch"}, "windows-x86_64": {"dmgbuild"}, "macos-arm64": set[str]()}


@each_system
def test_everything_that_is_asked_for_is_locked(system: System) -> None:
    asked = {normal_name(re.split(r"[\[<>=!; ]", line)[0]) for line in wanted()}
    assert asked - pins(system.lock.read_text(encoding="utf-8")).keys() == ELSEWHERE[system.name]


@each_system
def test_the_versions_are_those_that_were_chosen(system: System) -> None:
    assert pins(system.lock.read_text(encoding="utf-8")).items() <= CHOSEN.items()


def test_every_chosen_version_is_of_something_that_is_used() -> None:
    used = {name for system in SYSTEMS.values() for name in pins(system.lock.read_text(encoding="utf-8"))}
    assert used == CHOSEN.keys()


@pytest.mark.parametrize("file", sorted(LOCKS.glob("*.txt")), ids=lambda file: file.stem)
def test_every_file_has_its_hash_and_no_place(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert "://" not in text
    assert entries(text)
    for entry in entries(text):
        name, *hashes = entry.replace("\\\n", "\n").split("\n    ")
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+-]+ *( ;.*)?\n?", name), entry
        assert hashes
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}\s*", each) for each in hashes), entry


def test_the_starter_is_the_one_that_dev_py_installs() -> None:
    assert [f"{name}=={version}" for name, version in pins(STARTER_LOCK.read_text(encoding="utf-8")).items()] == [
        dev.STARTER_PACKAGE
    ]


def test_pypi_s_torch_for_linux_is_left_out_with_what_only_it_needs() -> None:
    lock = "".join(
        f"{name}==1 \\\n    --hash=sha256:{'0' * 64}\n" for name in ("nvidia-nvtx", "torch", "torch-like", "triton")
    )
    kept = without(lock, locks._FOR_ACCELERATORS)
    assert list(pins(kept)) == ["torch-like"]
    assert kept in lock
