"""Images as the tokens and tensors a model takes for them, by the processor that came with the model.

Owns what stands in a prompt in place of an image. The text around it is encoded as any prompt is: the
processor is given a stand-in for its tokenizer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from transformers import BatchEncoding, PreTrainedTokenizerBase

from engine.errors import InvalidRequest
from engine.generation.images import ReadImage, decode_image
from engine.models.processors import load_processor

Encode = Callable[[str], list[int]]

_TOKEN_TYPES = ("mm_token_type_ids", "token_type_ids")
"""Names processors use for what says of each token whether it stands for a part of an image (not 0)."""

# What processors raise for an image, or a number of images, they cannot place.
_REFUSALS = (ValueError, TypeError, LookupError, ArithmeticError, RuntimeError, AttributeError)


@dataclass(frozen=True, slots=True)
class ImagePrompt:
    """A prompt with images: token ids, and the model's further arguments (tensors on the CPU) by name.

    From ``text_starts`` on, ``ids`` are text alone.
    """

    ids: tuple[int, ...]
    inputs: Mapping[str, Any]
    text_starts: int


class ImageProcessor:
    """The processor that comes with the model in ``folder``, loaded with the first image. One thread at a time."""

    def __init__(self, folder: Path, tokenizer: PreTrainedTokenizerBase) -> None:
        self._folder = folder
        self._tokenizer = tokenizer

    @cached_property
    def _processor(self) -> Any:
        return load_processor(self._folder, self._tokenizer)

    def expand(self, text: str, images: Sequence[ReadImage], encode: Encode) -> ImagePrompt:
        """The ids of a template's output in which each image is one placeholder, and the tensors of the images.

        ``encode`` turns the expanded text into ids. Raises ``InvalidRequest`` for an image that cannot be read, or
        that this processor refuses; ``UnsupportedModel`` where the processor cannot be loaded.
        """
        pictures = [decode_image(image) for image in images]
        self._processor.tokenizer = _EncodeInstead(self._tokenizer, encode)
        try:
            made = dict(self._processor(text=[text], images=[pictures], return_tensors="pt"))
        except _REFUSALS as error:
            raise InvalidRequest(
                f"The model's image processor refuses this conversation: {_reason(error)}.",
                "Choose another image, or start a new conversation.",
                detail=repr(error),
            ) from error
        finally:
            self._processor.tokenizer = self._tokenizer
        ids: torch.Tensor = made.pop("input_ids")[0]
        made.pop("attention_mask", None)  # all ones: there is one prompt, and no padding
        return ImagePrompt(tuple(ids.tolist()), made, self._text_starts(ids, made))

    def _text_starts(self, ids: torch.Tensor, inputs: Mapping[str, Any]) -> int:
        """After the last token that stands for an image; all of them where this processor does not say which do."""
        image_ids = [each for each in self._processor.image_token_ids if isinstance(each, int)]
        is_image = torch.isin(ids, torch.tensor(image_ids, dtype=ids.dtype))
        for name in _TOKEN_TYPES:
            if name in inputs:
                is_image |= inputs[name][0] != 0
        return int(torch.nonzero(is_image)[-1]) + 1 if is_image.any() else len(ids)


class _EncodeInstead:
    """Has every attribute of a tokenizer, but texts are encoded by ``encode``."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, encode: Encode) -> None:
        self._tokenizer = tokenizer
        self._encode = encode

    def __call__(self, text: str | list[str], **_: object) -> BatchEncoding:
        ids = [self._encode(each) for each in ([text] if isinstance(text, str) else text)]
        return BatchEncoding({"input_ids": ids, "attention_mask": [[1] * len(each) for each in ids]})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)


def continued_inputs(inputs: Mapping[str, Any], length: int) -> dict[str, Any]:
    """The arguments for a prompt that goes on with text up to ``length`` tokens."""
    return {name: _padded(value, length) if name in _TOKEN_TYPES else value for name, value in inputs.items()}


def _padded(types: torch.Tensor, length: int) -> torch.Tensor:
    return torch.nn.functional.pad(types, (0, length - types.shape[-1]))


def _reason(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "").rstrip(".") or type(error).__name__
