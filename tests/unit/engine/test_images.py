"""Images in a conversation: the tokens, logits and answers of plain transformers, at every residency and turn."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
import torch
from PIL import Image
from transformers import AutoTokenizer

from engine.cancel import CancelToken
from engine.errors import EngineError, InvalidRequest, UnsupportedModel
from engine.events import GenerationResult
from engine.generation.chat_format import ChatFormat
from engine.generation.image_prompt import ImageProcessor
from engine.generation.images import MOST_PIXELS, check_images, decode_image, read_images
from engine.generation.messages import ImageSource, Message, Prompt
from engine.generation.sampling import SamplingOptions
from engine.generation.session import Session
from engine.models import structure
from engine.store.manifest import read_manifest
from engine.streaming.loaded_model import LoadedModel
from tests.helpers.splits import cut, load, residency, streamed_outputs
from tests.helpers.vision_models import FAMILIES, make_vision_checkpoint, picture, plain_answer

GREEDY = SamplingOptions(greedy=True, max_new_tokens=16)
RESIDENCIES = ("all resident", "one slot", "device, one slot")


@pytest.fixture(autouse=True)
def towers_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny tower is cut and streamed as a large one."""
    monkeypatch.setattr(structure, "STREAMED_PART_BYTES", 4096)


def open_session(loaded: LoadedModel) -> Session:
    tokenizer = AutoTokenizer.from_pretrained(loaded.folder)
    return Session(loaded, tokenizer, processor=ImageProcessor(loaded.folder, tokenizer))


def ask(session: Session, *messages: Message, options: SamplingOptions = GREEDY) -> GenerationResult:
    finished = session.answer(messages, options, emit=lambda event: None, cancel=CancelToken())
    assert isinstance(finished.result, GenerationResult)
    return finished.result


def logits_of(session: Session, prompt: Prompt) -> torch.Tensor:
    return session.prompt_logits(prompt, emit=lambda event: None, cancel=CancelToken())


def question(text: str, *images: ImageSource) -> Message:
    return Message("user", text, tuple(images))


def parts(text: str, *images: bytes) -> dict[str, object]:
    shown: list[dict[str, object]] = [{"type": "image", "image": image} for image in images]
    return {"role": "user", "content": [*shown, {"type": "text", "text": text}]}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_an_image_gives_the_logits_and_tokens_of_plain_transformers(family: str, tmp_path: Path) -> None:
    checkpoint = make_vision_checkpoint(family, tmp_path / "checkpoint")
    images = picture(), picture(width=16, height=24, seed=1)
    plain = plain_answer(checkpoint, family, [parts("What is it?", *images)])
    split = cut(checkpoint, tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(split)
    prompt = ChatFormat(tokenizer, processor=ImageProcessor(split, tokenizer)).encode_prompt(
        [question("What is it?", *images)]
    )
    assert prompt.ids == plain.prompt_ids
    for name in RESIDENCIES:
        loaded = load(split, *residency(split, name))
        try:
            logits, tokens = streamed_outputs(loaded, prompt.ids, 16, prompt.image_inputs)
        finally:
            loaded.close()
        assert torch.equal(logits, plain.logits), name
        assert tuple(tokens) == plain.token_ids, name


def stop_nowhere(session: Session) -> None:
    """Plain transformers is run on past every stop token, and so is this session."""
    assert session._format is not None
    vars(session._format)["stop_token_ids"] = lambda config=None: frozenset[int]()
