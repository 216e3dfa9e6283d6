"""Chatting with the local engine: the thinking switch of a template, and counting without loading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.api import CancelToken, LoadOptions, Message, SamplingOptions
from engine.errors import NotLoaded
from engine.events import Finished, GenerationResult
from engine.local import LocalEngine
from engine.store.model_store import ModelStore
from tests.helpers.splits import make_split

QUESTION = [Message("user", "Why?")]
TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{{ eos_token }}{% endfor %}<|assistant|>"
    "{% if enable_thinking is defined and not enable_thinking %}do not think{% endif %}"
)


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Path:
    _, split = make_split("llama", tmp_path_factory.mktemp("chat"), with_tokenizer=True)
    (split / "chat_template.jinja").write_text(TEMPLATE)
    return split


@pytest.fixture
def engine(split: Path) -> Iterator[LocalEngine]:
    with LocalEngine(ModelStore(split.parent.parent)) as engine:
        yield engine


def prompt_tokens(engine: LocalEngine, *, thinking: bool | None) -> int:
    options = SamplingOptions(greedy=True, max_new_tokens=1)
    *_, last = engine.answer(QUESTION, options, CancelToken(), thinking=thinking)
    assert isinstance(last, Finished)
    assert isinstance(last.result, GenerationResult)
    return last.result.prompt_tokens


def test_the_thinking_switch_reaches_the_template(engine: LocalEngine, split: Path) -> None:
    for _ in engine.load(split, LoadOptions(), CancelToken()):
        pass
    as_it_is = prompt_tokens(engine, thinking=None)
    assert prompt_tokens(engine, thinking=True) == as_it_is
    assert prompt_tokens(engine, thinking=False) > as_it_is
    assert prompt_tokens(engine, thinking=None) == as_it_is


def test_tokens_are_counted_as_an_answer_would_compute_them(engine: LocalEngine, split: Path) -> None:
    with pytest.raises(NotLoaded):
        engine.count_tokens(QUESTION)
    counted = engine.count_tokens(QUESTION, folder=split)
    for _ in engine.load(split, LoadOptions(), CancelToken()):
        pass
    assert engine.count_tokens(QUESTION) == counted == prompt_tokens(engine, thinking=None)
