"""A conversation: template, stop tokens, reuse of the cache, limits, cancel, continuing an interrupted answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer

from engine.backends.base import MemoryFigures
from engine.cancel import CancelToken
from engine.errors import ContextOverflow, InvalidRequest, UnsupportedModel
from engine.events import Event, Finished, GenerationResult, Outcome, StopReason, TokenArrived
from engine.generation.chat_format import Message
from engine.generation.context_size import cache_bytes
from engine.generation.sampling import SamplingOptions
from engine.generation.session import Session
from engine.streaming.loaded_model import LoadedModel
from tests.helpers.families import load_plain
from tests.helpers.splits import PROMPT, load, make_split, residency

GREEDY = SamplingOptions(greedy=True, max_new_tokens=12)


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("session")
    return make_split("llama", folder, with_tokenizer=True, dtype=torch.float32)


@pytest.fixture(scope="module")
def loaded(split: tuple[Path, Path]) -> Iterator[LoadedModel]:
    model = load(split[1], *residency(split[1], "two slots"))
    yield model
    model.close()


@pytest.fixture
def session(loaded: LoadedModel) -> Session:
    return Session(loaded, AutoTokenizer.from_pretrained(loaded.folder))


def ask(
    session: Session, *texts: str, options: SamplingOptions = GREEDY, so_far: tuple[int, ...] = ()
) -> tuple[GenerationResult, list[Event]]:
    roles = ["user", "assistant"]
    messages = [Message(roles[i % 2], text) for i, text in enumerate(texts)]  # pyright: ignore[reportArgumentType]
    events: list[Event] = []
    finished = session.answer(messages, options, so_far=so_far, emit=events.append, cancel=CancelToken())
    assert isinstance(finished.result, GenerationResult)
    return finished.result, events


def test_the_texts_that_arrive_make_the_answer_and_nothing_of_the_prompt(session: Session) -> None:
    result, events = ask(session, "Hello there")
    arrived = [event for event in events if isinstance(event, TokenArrived)]
    assert "".join(event.text for event in arrived) == result.text
    assert [event.token_id for event in arrived] == list(result.token_ids)
    assert [event.index for event in arrived] == list(range(len(arrived)))
    assert "Hello there" not in result.text
    assert "<|" not in result.text


def test_the_answer_ends_at_the_limit_and_says_so(session: Session) -> None:
    result, _ = ask(session, "Hello", options=SamplingOptions(greedy=True, max_new_tokens=5))
    assert len(result.token_ids) == 5
    assert result.stop_reason is StopReason.LENGTH_LIMIT


def test_the_default_limit_leaves_room_for_a_long_answer() -> None:
    assert SamplingOptions().max_new_tokens >= 1024


def test_a_stop_token_ends_the_answer_without_showing(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    free, _ = ask(session, "Hello")
    stop = free.token_ids[4]
    first = free.token_ids.index(stop)
    monkeypatch.setattr(type(session._format), "stop_token_ids", lambda self, config=None: frozenset({stop}))
    result, _ = ask(session, "Hello")
    assert result.stop_reason is StopReason.STOP_TOKEN
    assert result.token_ids == free.token_ids[: first + 1]
    tokenizer = AutoTokenizer.from_pretrained(session._loaded.folder)
    assert result.text == tokenizer.decode(result.token_ids[:-1], skip_special_tokens=True)


def test_the_next_turn_computes_only_what_is_new(session: Session) -> None:
    first, _ = ask(session, "Hello there")
    second, _ = ask(session, "Hello there", first.text, "And now?")
    assert first.cached_tokens == 0
    assert second.cached_tokens == first.prompt_tokens + len(first.token_ids) - 1


def test_a_reused_cache_answers_as_a_fresh_one_in_float32(session: Session, loaded: LoadedModel) -> None:
    first, _ = ask(session, "Hello there")
    reused, _ = ask(session, "Hello there", first.text, "And now?")
    fresh = Session(loaded, AutoTokenizer.from_pretrained(loaded.folder))
    assert reused.cached_tokens > 0
    ids = [*session._previous[0].ids] if session._previous else []
    computed = fresh.complete(ids, GREEDY, emit=lambda event: None, cancel=CancelToken())
    assert isinstance(computed.result, GenerationResult)
    assert computed.result.token_ids[:12] == reused.token_ids[:12]


def test_an_edited_question_keeps_the_common_beginning_of_the_cache(session: Session) -> None:
    ask(session, "Tell me about rivers")
    edited, _ = ask(session, "Tell me about mountains")
    assert 0 < edited.cached_tokens < edited.prompt_tokens


def test_an_interrupted_answer_goes_on_as_if_it_had_not_been(session: Session, loaded: LoadedModel) -> None:
    whole, _ = ask(session, "Hello there")
    fresh = Session(loaded, AutoTokenizer.from_pretrained(loaded.folder))
    continued, events = ask(fresh, "Hello there", so_far=whole.token_ids[:5])
    assert continued.token_ids == whole.token_ids
    assert continued.text == whole.text
    assert next(event.index for event in events if isinstance(event, TokenArrived)) == 5


def test_a_cancelled_answer_keeps_what_came_and_the_session_works_on(session: Session) -> None:
    whole, _ = ask(session, "Hello there")
    cancel = CancelToken()
    events: list[Event] = []

    def note(event: Event) -> None:
        events.append(event)
        if isinstance(event, TokenArrived) and event.index == 3:
            cancel.cancel()

    finished = session.answer([Message("user", "Hello there")], GREEDY, emit=note, cancel=cancel)
    assert finished.outcome is Outcome.CANCELLED
    assert isinstance(finished.result, GenerationResult)
    assert finished.result.token_ids == whole.token_ids[:4]
    assert finished.result.stop_reason is StopReason.CANCELLED
    again, _ = ask(session, "Hello there")
    assert again.token_ids == whole.token_ids


def test_a_conversation_longer_than_the_context_is_refused_before_anything_is_computed(
    loaded: LoadedModel,
) -> None:
    session = Session(loaded, AutoTokenizer.from_pretrained(loaded.folder), context=20)
    before = loaded.streamer.bytes_moved()
    with pytest.raises(ContextOverflow) as caught:
        ask(session, "a long question " * 20)
    assert caught.value.have == 20
    assert caught.value.need > 20
    assert loaded.streamer.bytes_moved() == before


@pytest.mark.parametrize(("free_tokens", "room"), [(1000, 100), (112, 100), (64, 60), (0, 0)])
def test_what_the_plan_kept_free_for_the_conversation_is_the_conversations(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch, free_tokens: int, room: int
) -> None:
    """Beyond a plan a conversation gets half of what is free; here all of it was planned: 15 of 16."""
    session = Session(loaded, AutoTokenizer.from_pretrained(loaded.folder), context=100)
    per_token = cache_bytes(loaded.config, 1000, itemsize=4) // 1000
    monkeypatch.setattr(loaded.backend, "memory", lambda: MemoryFigures(1 << 40, free_tokens * per_token))
    with pytest.raises(ContextOverflow) as caught:
        ask(session, "a long question " * 60)
    assert caught.value.have == room


def test_an_answer_that_fills_the_context_stops_and_says_so(loaded: LoadedModel) -> None:
    probe = Session(loaded, AutoTokenizer.from_pretrained(loaded.folder))
    tokens = probe.count_tokens([Message("user", "Hi")])
    session = Session(loaded, AutoTokenizer.from_pretrained(loaded.folder), context=tokens + 3)
    result, _ = ask(session, "Hi")
    assert result.stop_reason is StopReason.CONTEXT_FULL
    assert len(result.token_ids) == 3


def test_a_seed_repeats_the_draw_and_another_one_does_not(session: Session) -> None:
    drawn = [
        ask(session, "Hello", options=SamplingOptions(temperature=1.5, seed=seed, max_new_tokens=12))[0].token_ids
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize("penalty", [None, 1.3])
def test_greedy_tokens_with_a_penalty_equal_those_of_transformers(
    split: tuple[Path, Path], session: Session, penalty: float | None
) -> None:
    options = SamplingOptions(greedy=True, repetition_penalty=penalty, max_new_tokens=12)
    finished = session.complete(PROMPT, options, emit=lambda event: None, cancel=CancelToken())
    plain = load_plain(split[0])
    kwargs = {} if penalty is None else {"repetition_penalty": penalty}
    generate: Any = plain.generate
    want = generate(
        torch.tensor([PROMPT]), do_sample=False, max_new_tokens=12, min_new_tokens=12, eos_token_id=None, **kwargs
    )
    assert isinstance(finished.result, GenerationResult)
    assert list(finished.result.token_ids) == want[0, len(PROMPT) :].tolist()


def test_ids_outside_the_vocabulary_are_refused_with_the_range(session: Session) -> None:
    with pytest.raises(InvalidRequest, match="288 is not a token of this model"):
        session.complete([3, 288], GREEDY, emit=lambda event: None, cancel=CancelToken())


@pytest.mark.parametrize("prompt", ["", []])
def test_an_empty_prompt_is_refused(session: Session, prompt: str | list[int]) -> None:
    with pytest.raises(InvalidRequest, match="empty"):
        session.complete(prompt, GREEDY, emit=lambda event: None, cancel=CancelToken())


def test_a_model_without_a_tokenizer_still_continues_token_ids(loaded: LoadedModel) -> None:
    session = Session(loaded, None)
    finished = session.complete(PROMPT, GREEDY, emit=lambda event: None, cancel=CancelToken())
    assert isinstance(finished.result, GenerationResult)
    assert len(finished.result.token_ids) == 12
    with pytest.raises(UnsupportedModel, match="no tokenizer"):
        session.complete("text", GREEDY, emit=lambda event: None, cancel=CancelToken())
    with pytest.raises(UnsupportedModel, match="no tokenizer"):
        session.answer([Message("user", "Hi")], GREEDY, emit=lambda event: None, cancel=CancelToken())


def test_the_result_counts_time_tokens_and_bytes(session: Session, loaded: LoadedModel) -> None:
    result, events = ask(session, "Hello there")
    assert not any(isinstance(event, Finished) for event in events)
    assert result.first_token_s is not None
    assert result.s_per_token is not None
    assert 0 < result.first_token_s <= result.total_s
    streamed = loaded.plan.streamed_bytes
    assert result.bytes_moved.disk >= streamed * 0.9 * len(result.token_ids)


def test_a_conversation_that_free_memory_cannot_hold_is_refused(
    session: Session, loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.backends.base import MemoryFigures

    monkeypatch.setattr(type(loaded.backend), "memory", lambda self: MemoryFigures(1 << 30, 100_000))
    with pytest.raises(ContextOverflow) as caught:
        ask(session, "a long question " * 20)
    assert 0 < caught.value.have < caught.value.need


def test_a_template_that_makes_ids_the_model_does_not_have_is_refused(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.generation.chat_format import ChatFormat, Prompt

    monkeypatch.setattr(ChatFormat, "encode_prompt", lambda self, messages: Prompt("x", (3, 999)))
    with pytest.raises(InvalidRequest, match="999"):
        ask(session, "Hello")
