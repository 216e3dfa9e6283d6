"""One conversation with one loaded model: its tokens, its cache, and answers as events."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from transformers import PreTrainedTokenizerBase

from engine.cancel import Cancelled, CancelToken
from engine.errors import ContextOverflow, InvalidRequest, UnsupportedModel
from engine.events import (
    BytesMoved,
    Event,
    Finished,
    GenerationResult,
    Outcome,
    StopReason,
    TokenArrived,
)
from engine.generation.chat_format import ChatFormat, Message, Prompt
from engine.generation.context_size import cache_bytes, context_limit, planned_context
from engine.generation.image_prompt import ImageProcessor
from engine.generation.kv_cache import KvCache
from engine.generation.sampling import SamplingOptions, generation_kwargs
from engine.generation.text_stream import TextStream
from engine.generation.token_ids import require_known_ids
from engine.generation.torch_runner import TorchRunner
from engine.streaming.loaded_model import LoadedModel

Emit = Callable[[Event], None]

_MOST_OF_FREE = 15 / 16
"""Of the free memory, for a cache that was planned: the plan left more than this beside it."""

_MEASURED_TOKENS = 1 << 20
"""Far beyond every window, so that what sliding layers keep does not count for each token."""


class _NoText:
    """Stands in for a tokenizer that the model does not have: ids come, but no text."""

    text = ""

    def push(self, token_id: int) -> str:
        return ""

    def flush(self) -> str:
        return ""


@dataclass(slots=True)
class _Answer:
    """An answer while it grows."""

    stream: TextStream | _NoText
    started: float = field(default_factory=time.perf_counter)
    token_ids: list[int] = field(default_factory=list[int])
    arrival_times: list[float] = field(default_factory=list[float])

    def add(self, token_id: int) -> None:
        self.token_ids.append(token_id)
        self.arrival_times.append(time.perf_counter())


class Session:
    """Called from the compute thread. ``context`` caps the length, in tokens, below the model's own limit."""

    def __init__(
        self,
        loaded: LoadedModel,
        tokenizer: PreTrainedTokenizerBase | None,
        *,
        context: int | None = None,
        processor: ImageProcessor | None = None,
    ) -> None:
        self._loaded = loaded
        self._tokenizer = tokenizer
        self._processor = processor
        self._format = ChatFormat(tokenizer, processor=processor) if tokenizer is not None else None
        self._switched: dict[bool, ChatFormat] = {}
        self._runner = TorchRunner(loaded)
        self._cache = KvCache(loaded.model)
        self._cache.reset()
        self._previous: tuple[Prompt, list[int]] | None = None
        limit = context_limit(loaded.config)
        limits = [value for value in (limit, context) if value is not None]
        self.context: int | None = min(limits) if limits else None
        self._planned_tokens = planned_context(loaded.config, context)

    def answer(
        self,
        messages: Sequence[Message],
        options: SamplingOptions,
        *,
        so_far: Sequence[int] = (),
        thinking: bool | None = None,
        emit: Emit,
        cancel: CancelToken,
    ) -> Finished:
        """The assistant's next message, by the model's chat template. Only new tokens are computed.

        ``so_far`` are token ids of an answer that was interrupted: it goes on after them. ``thinking`` sets the
        template's switch, where it has one. Raises ``ContextOverflow`` before the pass, ``InvalidRequest``,
        ``UnsupportedModel`` without a template.
        """
        chat_format = self._format_for(thinking)
        if self._previous is None:
            prompt = chat_format.encode_prompt(messages)
        else:
            prompt = chat_format.encode_next_prompt(*self._previous, messages)
        stop = chat_format.stop_token_ids(self._loaded.generation_config.to_dict())
        token_ids = self.check_ids(so_far) if so_far else []
        try:
            self.check_ids(prompt.ids)
            return self._generate(prompt, options, stop, token_ids, emit, cancel)
        finally:
            self._previous = prompt, token_ids

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Tokens of a conversation that ends with a question, as ``answer`` would compute them."""
        if self._format is None:
            raise _no_tokenizer()
        return self._format.count_tokens(messages)

    def _format_for(self, thinking: bool | None) -> ChatFormat:
        if self._format is None:
            raise _no_tokenizer()
        if thinking is None or self._tokenizer is None:
            return self._format
        if thinking not in self._switched:
            self._switched[thinking] = ChatFormat(
                self._tokenizer, {"enable_thinking": thinking}, processor=self._processor
            )
        return self._switched[thinking]

    def complete(
        self, prompt: str | Sequence[int], options: SamplingOptions, *, emit: Emit, cancel: CancelToken
    ) -> Finished:
        """Continues a text, or token ids, as they are."""
        ids = self.encode(prompt) if isinstance(prompt, str) else self.check_ids(prompt)
        configured = self._loaded.generation_config.eos_token_id
        stop = frozenset(configured if isinstance(configured, list) else [configured])
        self._previous = None
        return self._generate(Prompt("", tuple(ids)), options, stop, [], emit, cancel)

    def encode_prompt(self, messages: Sequence[Message]) -> Prompt:
        """A conversation that ends with a question, as ``answer`` would compute it. Raises as ``answer`` does."""
        return self._format_for(None).encode_prompt(messages)

    def prompt_logits(self, prompt: Prompt, *, emit: Emit, cancel: CancelToken) -> torch.Tensor:
        """Logits of the prompt pass: float32 [tokens, vocabulary], on the CPU."""
        self._check_context(len(prompt.ids))
        return self._runner.prompt_logits(prompt.ids, image_inputs=prompt.image_inputs, emit=emit, cancel=cancel)

    def encode(self, text: str) -> list[int]:
        if not text:
            raise InvalidRequest("The prompt is empty.", "Write something for the model to continue.")
        if self._tokenizer is None:
            raise _no_tokenizer()
        return self.check_ids(self._tokenizer.encode(text, verbose=False))

    def check_ids(self, token_ids: Sequence[int]) -> list[int]:
        """Raises ``InvalidRequest`` for an empty prompt or ids the model has no embedding for."""
        require_known_ids(token_ids, self._loaded.vocabulary_rows)
        return list(token_ids)

    def _generate(
        self,
        prompt: Prompt,
        options: SamplingOptions,
        stop: frozenset[int | None],
        token_ids: list[int],
        emit: Emit,
        cancel: CancelToken,
    ) -> Finished:
        ids = [*prompt.ids, *token_ids]
        self._check_context(len(ids))
        cached = self._cache.keep_prefix_of(ids, images=prompt.images, text_starts=prompt.text_starts)
        moved = self._loaded.streamer.bytes_moved()
        stream = _NoText() if self._tokenizer is None else TextStream(self._tokenizer)
        for token_id in token_ids:
            stream.push(token_id)
        answer = _Answer(stream, token_ids=token_ids)
        kwargs = generation_kwargs(options, self._loaded.generation_config.to_dict())
        reason = StopReason.CANCELLED
        passes = self._runner.decode(
            ids,
            self._cache,
            kwargs,
            image_inputs=prompt.image_inputs,
            seed=options.seed,
            emit=emit,
            cancel=cancel,
        )
        try:
            for token_id in passes:
                found = self._stop_reason(answer, token_id, len(prompt.ids), options, stop)
                is_stop_token = found is StopReason.STOP_TOKEN
                answer.add(token_id)
                text = "" if is_stop_token else answer.stream.push(token_id)
                if found is not None:
                    text += answer.stream.flush()
                emit(TokenArrived(len(answer.token_ids) - 1, token_id, text))
                if found is not None:
                    reason = found
                    break
        except Cancelled:
            rest = answer.stream.flush()
            if rest:
                emit(TokenArrived(len(answer.token_ids) - 1, answer.token_ids[-1], rest))
        finally:
            passes.close()
        outcome = Outcome.CANCELLED if reason is StopReason.CANCELLED else Outcome.DONE
        return Finished(outcome, self._result(answer, reason, len(prompt.ids), cached, moved))

    def _stop_reason(
        self,
        answer: _Answer,
        token_id: int,
        prompt_tokens: int,
        options: SamplingOptions,
        stop: frozenset[int | None],
    ) -> StopReason | None:
        count = len(answer.token_ids) + 1
        if token_id in stop:
            return StopReason.STOP_TOKEN
        if count >= options.max_new_tokens:
            return StopReason.LENGTH_LIMIT
        if self.context is not None and prompt_tokens + count >= self.context:
            return StopReason.CONTEXT_FULL
        return None

    def _result(
        self, answer: _Answer, reason: StopReason, prompt_tokens: int, cached: int, before: BytesMoved
    ) -> GenerationResult:
        now = self._loaded.streamer.bytes_moved()
        times = answer.arrival_times
        gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
        return GenerationResult(
            text=answer.stream.text,
            token_ids=tuple(answer.token_ids),
            stop_reason=reason,
            prompt_tokens=prompt_tokens,
            cached_tokens=cached,
            first_token_s=times[0] - answer.started if times else None,
            s_per_token=statistics.median(gaps) if gaps else None,
            total_s=time.perf_counter() - answer.started,
            bytes_moved=BytesMoved(now.device - before.device, now.host - before.host, now.disk - before.disk),
        )

    def _check_context(self, tokens: int) -> None:
        """Before a pass: the model's limit, the user's, and the memory that is free for the cache now."""
        limit = self._limit_now()
        if limit is not None and tokens >= limit:
            raise ContextOverflow(
                f"The conversation has {tokens:,} tokens; there is room for {limit:,}.",
                "Shorten it, start a new conversation, or allow a larger context.",
                need=tokens + 1,
                have=limit,
            )

    def _limit_now(self) -> int | None:
        """The context in tokens, cut to what the free memory holds besides what the cache has already.

        Half of it, or as much as the plan kept free for the cache, as far as that is still there.
        """
        per_token = self._bytes_per_token()
        if per_token <= 0:
            return self.context
        cached, free = len(self._cache.token_ids), self._loaded.backend.memory().free
        planned = max(self._planned_tokens - cached, 0) * per_token
        held = cached + int(max(free / 2, min(planned, free * _MOST_OF_FREE)) / per_token)
        return held if self.context is None else min(self.context, held)

    @property
    def cache_bytes(self) -> int:
        """What the conversation's keys and values take now."""
        return int(len(self._cache.token_ids) * self._bytes_per_token())

    def _bytes_per_token(self) -> float:
        itemsize = getattr(torch, self._loaded.manifest.dtype).itemsize
        return cache_bytes(self._loaded.config, _MEASURED_TOKENS, itemsize) / _MEASURED_TOKENS


def _no_tokenizer() -> UnsupportedModel:
    return UnsupportedModel(
        "This model has no tokenizer that can be read, so text cannot be turned into tokens.",
        "Give token ids with --prompt-ids, or add tokenizer.json to its original and cut it again.",
    )
