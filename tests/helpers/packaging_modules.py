"""Modules of ``packaging/``, which is no package: PyPI's ``packaging`` has the name."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[2] / "packaging"


def packaging_module(place: str) -> ModuleType:
    """Of the file ``place`` in ``packaging/``, loaded once."""
    name = "strata_packaging_" + place.removesuffix(".py").replace("/", "_")
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, FOLDER / place)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]
