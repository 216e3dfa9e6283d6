"""Whether a model can look at images, as its small files tell before it is loaded. No torch."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from engine.models.own_models import OWN_MODEL_TYPES

NEED_TORCHVISION = frozenset({
    "Apertus1p5ImageProcessor", "Cohere2VisionImageProcessor", "Gemma4UnifiedImageProcessor",
    "Inkling2ImageProcessor", "InklingImageProcessor", "Kimi_K25ImageProcessor", "Lfm2VlImageProcessor",
    "Llama4ImageProcessor", "MiniCPMOcrImageProcessor", "MiniMaxM3VLImageProcessor", "Molmo2ImageProcessor",
    "MuseGlimmerImageProcessor", "NemotronH_Omni_Reasoning_V3ImageProcessor", "PI0ImageProcessor",
    "PPFormulaNetImageProcessor", "PerceptionLMImageProcessor", "PixtralProcessor", "Step3p7ImageProcessor",
    "UnlimitedOcrImageProcessor",
})  # fmt: skip
"""Of transformers 5.24's processors, those without a form for Pillow. torchvision is no dependency of ours: built for
another torch than the one that is there, it cannot even be imported."""

_NEED_TIMM = ("gemma3n_vision", "timm_wrapper")
_FILES = ("preprocessor_config.json", "processor_config.json")
_KINDS = ("image_processor_type", "processor_class")


def accepts_images(config: Mapping[str, Any], side_files: Collection[str], root: Path) -> bool:
    """Its config has a vision part, and an image processor came with it that can run here.

    ``root`` is where the side files are; one that is not there yet (on the hub) is taken to be what is wanted.
    """
    vision: Any = config.get("vision_config")
    if not isinstance(vision, Mapping) or not any(name in side_files for name in _FILES):
        return False
    if config.get("model_type") in OWN_MODEL_TYPES:  # whose processors are code of their own
        return False
    if vision.get("model_type") in _NEED_TIMM and importlib.util.find_spec("timm") is None:
        return False
    needs = any(not NEED_TORCHVISION.isdisjoint(_kinds(root / name)) for name in _FILES)
    return not needs or importlib.util.find_spec("torchvision") is not None


def _kinds(file: Path) -> set[str]:
    """The classes a processor's file names."""
    try:
        settings: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return set()
    if not isinstance(settings, dict):
        return set()
    nested = settings.get("image_processor")
    places = [settings, nested] if isinstance(nested, dict) else [settings]
    return {str(place.get(kind, "")).removesuffix("Fast") for place in places for kind in _KINDS}
