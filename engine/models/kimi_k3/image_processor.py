"""Images as Kimi K3's tower takes them, and the tokens that stand for them in a prompt.

Its repository has only Python code for it. Called as transformers' processors are, but knows images only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from transformers import PreTrainedTokenizerBase

SETTINGS_FILE = "preprocessor_config.json"
PLACEHOLDER = "<|media_pad|>"
"""What the chat template writes for an image; one stands for each embedding of the image in the end."""


class KimiK3Processor:
    """``tokenizer`` may be exchanged for another that is called in the same way."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, settings: Mapping[str, Any]) -> None:
        """``settings`` are the checkpoint's "media_proc_cfg". Raises ``KeyError`` or ``ValueError`` for odd ones."""
        self.tokenizer: Any = tokenizer
        self.image_token_ids: list[Any] = [tokenizer.convert_tokens_to_ids(PLACEHOLDER)]
        if settings.get("fixed_output_tokens") is not None:
            raise ValueError("images of a fixed number of tokens")
        self._patch = int(settings["patch_size"])
        self._merge = int(settings["merge_kernel_size"])
        self._most_patches = int(settings["in_patch_limit"])
        self._most_on_a_side = int(settings["patch_limit_on_one_side"])
        self._mean = np.asarray(settings["image_mean"], dtype=np.float32)
        self._std = np.asarray(settings["image_std"], dtype=np.float32)

    def __call__(
        self, *, text: Sequence[str], images: Sequence[Sequence[Image.Image]], return_tensors: str = "pt"
    ) -> dict[str, torch.Tensor]:
        """Ids of the one text, [1, tokens], with the tensors of its images as ``KimiK3VisionTower`` takes them.

        Raises ``ValueError`` where the text has another number of placeholders than there are images.
        """
        ((prompt,), (pictures,)) = text, images
        parts = prompt.split(PLACEHOLDER)
        if len(parts) != len(pictures) + 1:
            raise ValueError(f"{len(parts) - 1} places in the text for {len(pictures)} images")
        patches: list[torch.Tensor] = []
        grids: list[list[int]] = []
        expanded = parts[0]
        for picture, rest in zip(pictures, parts[1:], strict=True):
            made = self._patches(picture)
            rows, columns = made.shape[:2]
            patches.append(made.flatten(0, 1))
            grids.append([1, rows, columns])
            pads = PLACEHOLDER * (rows * columns // self._merge**2)
            size = f"image {picture.width}x{picture.height}"
            expanded += f"<|media_begin|>{size}<|media_content|>{pads}<|media_end|>{rest}"
        ids = torch.tensor(self.tokenizer([expanded])["input_ids"])
        return {"input_ids": ids, "pixel_values": torch.cat(patches), "grid_thws": torch.tensor(grids)}

    def _patches(self, picture: Image.Image) -> torch.Tensor:
        """float32 [rows, columns, 3, patch, patch]; black fills up what is no whole square of patches."""
        width, height = self._size(picture.width, picture.height)
        pixels = np.asarray(picture.resize((width, height), Image.Resampling.BICUBIC), dtype=np.float32)
        square = self._patch * self._merge
        padded = np.pad(pixels, ((0, -height % square), (0, -width % square), (0, 0)))
        normal = torch.from_numpy((padded / 255 - self._mean) / self._std)
        rows, columns = padded.shape[0] // self._patch, padded.shape[1] // self._patch
        return normal.view(rows, self._patch, columns, self._patch, 3).permute(0, 2, 4, 1, 3)

    def _size(self, width: int, height: int) -> tuple[int, int]:
        """Smaller where the image has too many patches, in all or on one side."""
        across, down = max(1, width // self._patch), max(1, height // self._patch)
        longest = self._most_on_a_side * self._patch
        scale = min(1.0, math.sqrt(self._most_patches / (across * down)), longest / width, longest / height)
        return max(1, int(width * scale)), max(1, int(height * scale))


def read_processor(folder: Path, tokenizer: PreTrainedTokenizerBase) -> KimiK3Processor:
    """Raises ``OSError``, ``ValueError`` or ``KeyError`` where its settings are not there or odd."""
    settings: dict[str, Any] = json.loads((folder / SETTINGS_FILE).read_text(encoding="utf-8"))
    return KimiK3Processor(tokenizer, settings["media_proc_cfg"])
