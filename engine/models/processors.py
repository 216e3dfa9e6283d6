"""The processor that comes with a model that looks at images: transformers' own, with or without torchvision.

``tests/unit/engine/test_images.py`` fails loudly when a release moves what is used here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from transformers import AutoConfig, PreTrainedTokenizerBase, ProcessorMixin
from transformers.models.auto.processing_auto import PROCESSOR_MAPPING, processor_class_from_name
from transformers.utils.import_utils import is_torchvision_available

from engine.errors import UnsupportedModel
from engine.models.own_models import read_own_processor

_CLASS_FILES = ("processor_config.json", "preprocessor_config.json", "tokenizer_config.json")
_PROBLEMS = (ValueError, OSError, ImportError, KeyError, AttributeError, TypeError, RuntimeError)


def load_processor(folder: Path, tokenizer: PreTrainedTokenizerBase) -> ProcessorMixin:
    """The processor in ``folder``, around a tokenizer that is there already.

    Raises ``UnsupportedModel`` where there is none, or one that cannot be built here. transformers 5.24 has image
    processors that need no torchvision, but its processors of models that also take videos insist on a video
    processor, which does. Without torchvision such a processor goes without.
    """
    try:
        own = read_own_processor(folder, tokenizer)
        if own is not None:
            return own
        kind = _processor_class(folder)
        parts = {"given_tokenizer": tokenizer, "left_out": () if is_torchvision_available() else ("video_processor",)}
        laid_over: Any = type(kind.__name__, (_GivenParts, kind), parts)
        return laid_over.from_pretrained(folder, trust_remote_code=False)
    except _PROBLEMS as error:
        raise UnsupportedModel(
            "The image processor of this model cannot be loaded, so it reads text only.",
            "Remove the image, or choose another version of the model.",
            detail=repr(error),
        ) from error


def _processor_class(folder: Path) -> type[Any]:
    """As ``AutoProcessor`` finds it: by the name in the model's own files, else by the kind of its config."""
    for file in _CLASS_FILES:
        if (folder / file).is_file():
            settings: Any = json.loads((folder / file).read_text(encoding="utf-8"))
            name = settings.get("processor_class")
            if name and (found := processor_class_from_name(name)) is not None:
                return found
    return cast(Any, PROCESSOR_MAPPING)[type(AutoConfig.from_pretrained(folder, trust_remote_code=False))]


class _GivenParts:
    """Laid over a processor class: its tokenizer is a given one, and some of its parts are left out."""

    given_tokenizer: PreTrainedTokenizerBase
    left_out: tuple[str, ...]

    @classmethod
    def get_attributes(cls) -> list[str]:
        parts: list[str] = cast(Any, super()).get_attributes()
        return [part for part in parts if part not in cls.left_out]

    @classmethod
    def _load_tokenizer_from_pretrained(cls, *_: object, **__: object) -> PreTrainedTokenizerBase:
        return cls.given_tokenizer
