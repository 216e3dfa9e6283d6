"""The decoding loop on a transformers model: one pass per token, events in between.

``generate`` of transformers prepares everything a family needs (position ids, masks, processors, cache) and
hands it to ``custom_generate``; the loop itself is ours, so that it yields between passes, can be cancelled
inside one and keeps its cache for the next turn. The private calls it shares with transformers' own loop are
named in ``_PRIVATE_CALLS``; a test fails loudly when a release moves one.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from transformers import GenerationConfig

from engine.cancel import CancelToken
from engine.collection import collection_paused
from engine.errors import NotFinite, OutOfMemory
from engine.events import LayerProgress, PassKind
from engine.generation.image_prompt import continued_inputs
from engine.generation.kv_cache import KvCache
from engine.streaming.loaded_model import LoadedModel

_PRIVATE_CALLS = (
    "_prefill", "_prepare_position_ids_for_generation", "_supports_default_dynamic_cache",
    "_update_model_kwargs_for_generation",
)  # fmt: skip

Emit = Callable[[LayerProgress], None]


@dataclass(slots=True)
class _Prepared:
    """What transformers worked out before the first pass."""

    input_ids: torch.Tensor
    logits_processor: Any
    generation_config: GenerationConfig
    model_kwargs: dict[str, Any]


def _keep_prepared(
    model: Any,
    input_ids: torch.Tensor,
    logits_processor: Any,
    stopping_criteria: Any,
    generation_config: GenerationConfig,
    **model_kwargs: Any,
) -> _Prepared:
    return _Prepared(input_ids, logits_processor, generation_config, model_kwargs)


class TorchRunner:
    """Runs passes over one loaded model. Everything is called from the compute thread."""

    def __init__(self, loaded: LoadedModel) -> None:
        self._loaded = loaded
        self._model: Any = loaded.model
        self._device = loaded.backend.device

    def prompt_logits(
        self,
        token_ids: Sequence[int],
        *,
        image_inputs: Mapping[str, Any] | None = None,
        emit: Emit,
        cancel: CancelToken,
    ) -> torch.Tensor:
        """Logits of one pass over ``token_ids``: float32 [tokens, vocabulary] on the CPU."""
        ids = torch.tensor([list(token_ids)], device=self._device)
        with torch.inference_mode(), self._pass(PassKind.PREFILL, 0, bool(image_inputs), emit, cancel):
            logits = self._model(input_ids=ids, **self._on_device(image_inputs or {})).logits
            self._check_finite(logits)
        return logits[0].float().cpu()

    def decode(
        self,
        token_ids: Sequence[int],
        cache: KvCache,
        generation_kwargs: dict[str, object],
        *,
        image_inputs: Mapping[str, Any] | None = None,
        seed: int | None,
        emit: Emit,
        cancel: CancelToken,
    ) -> Generator[int]:
        """Yields new token ids without end; the caller decides where to stop.

        ``cache`` holds a true prefix of ``token_ids`` and is kept up to date: after the k-th yield it holds the
        prompt and the first k - 1 new tokens. ``image_inputs`` are of all images among the tokens; a cache that holds
        anything holds all of these. Raises ``Cancelled`` within a block, with the cache cut back.
        """
        known = list(token_ids)
        has_images = bool(image_inputs) and not cache.token_ids
        with torch.inference_mode():
            with self._pass_keeping(cache, PassKind.PREFILL, 0, has_images, emit, cancel):
                # Inside the pass, since some models look at their images while this is prepared.
                prepared = self._prepare(token_ids, cache, generation_kwargs, image_inputs or {})
                outputs = self._model._prefill(prepared.input_ids, prepared.generation_config, prepared.model_kwargs)
            sampler = _Sampler(prepared.generation_config, self._device, seed)
            while True:
                cache.token_ids = list(known)
                prepared.model_kwargs = self._model._update_model_kwargs_for_generation(
                    outputs, prepared.model_kwargs, is_encoder_decoder=False
                )
                logits = outputs.logits[:, -1].to(torch.float32)
                self._check_finite(logits)
                token = sampler.next_token(prepared.logits_processor(prepared.input_ids, logits))
                prepared.input_ids = torch.cat([prepared.input_ids, token[:, None]], dim=-1)
                known.append(int(token))
                yield known[-1]
                index = len(known) - len(token_ids)
                with self._pass_keeping(cache, PassKind.DECODE, index, False, emit, cancel):
                    inputs = self._model.prepare_inputs_for_generation(
                        prepared.input_ids, next_sequence_length=1, **prepared.model_kwargs
                    )
                    outputs = self._model(**inputs, return_dict=True)

    def _prepare(
        self,
        token_ids: Sequence[int],
        cache: KvCache,
        generation_kwargs: dict[str, object],
        image_inputs: Mapping[str, Any],
    ) -> _Prepared:
        config: Any = GenerationConfig.from_dict(self._loaded.generation_config.to_dict())
        config.update(**generation_kwargs, use_cache=True, max_length=None, cache_implementation=None)
        # The stop tokens are the session's business; here the model only never ends by itself.
        config.update(stop_strings=None, eos_token_id=None, max_new_tokens=1 << 30, num_beams=1, num_return_sequences=1)
        if config.pad_token_id is None:
            config.pad_token_id = 0
        ids = torch.tensor([list(token_ids)], device=self._device)
        mask = torch.ones_like(ids)
        images = self._on_device(continued_inputs(image_inputs, len(token_ids)))
        extra = {} if cache.cache is None else {"cache": cache.cache}
        return self._model.generate(
            ids,
            generation_config=config,
            attention_mask=mask,
            custom_generate=_keep_prepared,
            **extra,
            **self._positions(ids, mask, images),
            **({} if cache.token_ids else images),
        )

    def _positions(self, ids: torch.Tensor, mask: torch.Tensor, images: dict[str, Any]) -> dict[str, torch.Tensor]:
        """Positions of the whole sequence, for models that look at images; others get theirs from ``generate``.

        Some such models (Qwen's) count in three dimensions and note on themselves how far text is shifted by the
        images before it, for whatever conversation came last. Asked for all of a sequence, they always know.
        """
        is_counted = "position_ids" in inspect.signature(self._model.forward).parameters
        if not is_counted or "image" not in self._model.input_modalities:
            return {}
        return {
            "position_ids": self._model._prepare_position_ids_for_generation(ids, {"attention_mask": mask, **images})
        }

    def _on_device(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: value.to(self._device) if isinstance(value, torch.Tensor) else value for name, value in inputs.items()
        }

    @contextmanager
    def _pass_keeping(
        self, cache: KvCache, kind: PassKind, index: int, has_images: bool, emit: Emit, cancel: CancelToken
    ) -> Generator[None]:
        try:
            with self._pass(kind, index, has_images, emit, cancel):
                yield
        except BaseException:
            cache.undo_broken_pass()
            raise

    @contextmanager
    def _pass(self, kind: PassKind, index: int, has_images: bool, emit: Emit, cancel: CancelToken) -> Generator[None]:
        """One forward."""
        backend, streamer = self._loaded.backend, self._loaded.streamer
        is_decoding = kind is PassKind.DECODE
        if is_decoding:
            backend.before_decoding_pass()
        run = streamer.run_pass(kind, index, with_images=has_images, emit=emit, cancel=cancel)
        with collection_paused():
            with _memory_errors_explained(), run:
                yield
                backend.synchronize()
            if is_decoding and streamer.last_pass_s is not None:
                backend.after_decoding_pass(streamer.last_pass_s)

    def _check_finite(self, logits: torch.Tensor) -> None:
        if bool(torch.isfinite(logits).all()):
            return
        dtype = self._loaded.manifest.dtype
        cause = "float16 overflows in deep models" if dtype == "float16" else "its weights may be damaged"
        raise NotFinite(
            f"{self._loaded.manifest.model} produced numbers that are not finite ({cause}).",
            "Verify the model, or choose a version of it in bfloat16.",
            detail=f"dtype {dtype}",
        )


class _Sampler:
    """Greedy, or a draw from the processed distribution with a generator of its own."""

    def __init__(self, config: GenerationConfig, device: torch.device, seed: int | None) -> None:
        self._is_greedy = not config.do_sample
        self._generator = torch.Generator(device=device)
        self._generator.manual_seed(time.time_ns() if seed is None else seed)

    def next_token(self, scores: torch.Tensor) -> torch.Tensor:
        """``scores`` float32 [1, vocabulary] → token id int64 [1]."""
        if self._is_greedy:
            return torch.argmax(scores, dim=-1)
        probabilities = torch.softmax(scores, dim=-1)
        return torch.multinomial(probabilities, num_samples=1, generator=self._generator).squeeze(1)


@contextmanager
def _memory_errors_explained() -> Generator[None]:
    """torch reports a full device, and a full host, each in its own way."""
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError, RuntimeError) as error:
        if type(error) is RuntimeError and "allocate memory" not in str(error):
            raise
        raise OutOfMemory(
            "There was not enough memory left to compute with this conversation.",
            "Close other programs, start a new conversation, or allow the model less memory (--ram, --vram).",
            detail=repr(error),
        ) from error
