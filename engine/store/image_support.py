"""Whether a model can look at images, as its small files tell before it is loaded. No torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

PROCESSOR_FILES = frozenset({"preprocessor_config.json", "processor_config.json"})


def accepts_images(config: Mapping[str, Any], side_files: Iterable[str]) -> bool:
    """Its config has a vision part, and the settings of its image processor came with it.

    Loading the processor may still fail; ``engine.events.Loaded`` says what came of it.
    """
    return isinstance(config.get("vision_config"), Mapping) and not PROCESSOR_FILES.isdisjoint(side_files)
