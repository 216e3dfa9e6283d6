"""One conversation's KV cache: which tokens it holds, and how much of it the next turn can keep."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from transformers import DynamicCache, PreTrainedModel


class KvCache:
    """One conversation's keys and values, and the token ids and images (their sha256, in order) they belong to."""

    def __init__(self, model: PreTrainedModel) -> None:
        self._model: Any = model
        takes_cache = "cache" in inspect.signature(model.forward).parameters
        self._is_dynamic: bool = takes_cache and self._model._supports_default_dynamic_cache()
        self.cache: DynamicCache | None = None
        self.token_ids: list[int] = []
        self.images: tuple[str, ...] = ()

    def keep_prefix_of(self, token_ids: Sequence[int], *, images: tuple[str, ...] = (), text_starts: int = 0) -> int:
        """Cuts the cache back to what it shares with ``token_ids`` and returns how many tokens that is.

        At least the last token is always left to compute. What cannot be cut back starts anew, and so does what
        would leave an image to compute: from ``text_starts`` on there is none. Different images have equal ids, and
        a part of them is seen from both sides by some models.
        """
        is_same = images == self.images
        self.images = images
        shared = 0
        for ours, theirs in zip(self.token_ids, token_ids[:-1], strict=False):
            if ours != theirs:
                break
            shared += 1
        is_kept = is_same and shared > 0 and shared >= text_starts
        if self.cache is None or not is_kept or not self._is_reusable() or not self._crop_to(shared):
            self.reset()
            return 0
        return shared

    def reset(self) -> None:
        self.token_ids = []
        self.cache = DynamicCache(config=self._model.config.get_text_config(decoder=True)) if self._is_dynamic else None

    def undo_broken_pass(self) -> None:
        """After a pass that did not end: some layers hold its tokens, some do not. Cuts all to what was whole."""
        if self.cache is None or not self._is_reusable() or not self._crop_to(len(self.token_ids)):
            self.reset()

    def _is_reusable(self) -> bool:
        """A linear state (Mamba, gated delta nets) holds its whole past in one: it cannot go back or be resumed
        over several tokens exactly, so such models compute each turn from the start."""
        return self.cache is not None and not any(self.cache.is_linear)

    def _crop_to(self, length: int) -> bool:
        if length == 0 or self.cache is None:
            return False
        layers: list[Any] = list(self.cache.layers)
        try:
            for layer in layers:
                surplus = layer.get_seq_length() - length
                if surplus > 0:
                    layer.crop(-surplus)
        except (RuntimeError, NotImplementedError):
            return False  # a sliding window that has already let go of what lies before
        self.token_ids = self.token_ids[:length]
        return all(layer.get_seq_length() in (0, length) for layer in layers)
