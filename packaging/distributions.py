"""Which installed distributions go where: those the window needs are frozen, the engine's become a folder of packages.

Owns the closure of what ``pyproject.toml`` asks for, as it is installed in this Python's environment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement

PROJECT = "strata"


def engine_distributions() -> dict[str, Distribution]:
    """By normal name: everything the engine imports, directly or not."""
    return _closure(_requirements(distribution(PROJECT), {"", "quant"}))


def window_distributions() -> dict[str, Distribution]:
    """By normal name: everything the window imports, directly or not."""
    project = distribution(PROJECT)
    return _closure(_requirements(project, {"app"}) - _requirements(project, {""}))


def top_level_modules(of: Distribution) -> set[str]:
    """Names that ``import`` takes."""
    parts = [file.parts for file in of.files or () if file.suffix in (".py", ".so", ".pyd")]
    names = {part[0].split(".")[0] for part in parts if not part[0].startswith(".")}
    return {name for name in names if name.isidentifier()}


def normal_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _closure(wanted: Iterable[Requirement]) -> dict[str, Distribution]:
    found: dict[str, Distribution] = {}
    extras: dict[str, set[str]] = {}
    waiting = list(wanted)
    while waiting:
        requirement = waiting.pop()
        name = normal_name(requirement.name)
        new = {"", *requirement.extras} - extras.setdefault(name, set())
        if new:
            found[name] = distribution(requirement.name)
            extras[name] |= new
            waiting += _requirements(found[name], new)
    return dict(sorted(found.items()))


def _requirements(of: Distribution, extras: set[str]) -> set[Requirement]:
    """Those that hold on this platform for any of these extras; "" is none."""
    every = [Requirement(text) for text in of.requires or ()]
    return {each for each in every if any(_holds(each, extra) for extra in extras)}


def _holds(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})
