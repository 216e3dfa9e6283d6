"""Images in a conversation: the tokens, logits and answers of plain transformers, at every residency and turn."""

from __future__ import annotations

import importlib.util
import json
import pickle
import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
import torch
from PIL import Image
from transformers import AutoTokenizer
from transformers.models.auto.auto_mappings import IMAGE_PROCESSOR_MAPPING_NAMES
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

from engine.cancel import CancelToken
from engine.errors import EngineError, InvalidRequest, UnsupportedModel
from engine.events import Event, GenerationResult, Outcome
from engine.generation.chat_format import ChatFormat
from engine.generation.image_prompt import ImageProcessor
from engine.generation.images import MOST_PIXELS, check_images, decode_image, read_images
from engine.generation.messages import ImageSource, Message
from engine.generation.sampling import SamplingOptions
from engine.generation.session import Session
from engine.models import structure
from engine.store.image_support import NEED_TORCHVISION, accepts_images
from engine.store.manifest import read_manifest
from engine.streaming.loaded_model import LoadedModel
from tests.helpers.splits import cut, load, residency, streamed_outputs
from tests.helpers.vision_models import (
    FAMILIES,
    make_vision_checkpoint,
    picture,
    plain_answer,
    plain_inputs,
    plain_tokens,
)

GREEDY = SamplingOptions(greedy=True, max_new_tokens=16)
RESIDENCIES = ("all resident", "one slot", "device, one slot")
ON_REQUEST = ("qwen2_5_vl", "qwen3_vl")
"""Families whose vision is close to that of one that is always tried."""


@pytest.fixture(autouse=True)
def towers_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny tower is cut and streamed as a large one."""
    monkeypatch.setattr(structure, "STREAMED_PART_BYTES", 4096)


def open_session(loaded: LoadedModel) -> Session:
    """One that goes on past every stop token, as plain transformers is run."""
    tokenizer = AutoTokenizer.from_pretrained(loaded.folder)
    session = Session(loaded, tokenizer, processor=ImageProcessor(loaded.folder, tokenizer))
    vars(session._format)["stop_token_ids"] = lambda config=None: frozenset[int]()
    return session


def ask(session: Session, *messages: Message, options: SamplingOptions = GREEDY) -> GenerationResult:
    finished = session.answer(messages, options, emit=lambda event: None, cancel=CancelToken())
    assert isinstance(finished.result, GenerationResult)
    return finished.result


def question(text: str, *images: ImageSource) -> Message:
    return Message("user", text, tuple(images))


def parts(text: str, *images: bytes) -> dict[str, object]:
    shown: list[dict[str, object]] = [{"type": "image", "image": image} for image in images]
    return {"role": "user", "content": [*shown, {"type": "text", "text": text}]}


@pytest.mark.slow
@pytest.mark.parametrize(
    "family",
    [pytest.param(each, marks=[pytest.mark.family_walk] if each in ON_REQUEST else []) for each in FAMILIES],
)
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


@pytest.fixture(scope="module")
def split_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Path, Path]]]:
    """(checkpoint, split) of two families in float32: one that can go on with its cache, one that cannot."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(structure, "STREAMED_PART_BYTES", 4096)
        made: dict[str, tuple[Path, Path]] = {}
        for family in ("qwen3_vl", "qwen3_5"):
            folder = tmp_path_factory.mktemp(family)
            checkpoint = make_vision_checkpoint(family, folder / "checkpoint", dtype=torch.float32)
            made[family] = checkpoint, cut(checkpoint, folder)
        yield made


@pytest.fixture
def session(split_of: dict[str, tuple[Path, Path]]) -> Iterator[Session]:
    split = split_of["qwen3_vl"][1]
    loaded = load(split, *residency(split, "two slots"))
    yield open_session(loaded)
    loaded.close()


def test_a_tower_is_cut_into_blocks_that_fit_the_slots_of_layers(split_of: dict[str, tuple[Path, Path]]) -> None:
    manifest = read_manifest(split_of["qwen3_vl"][1])
    towers = [block for block in manifest.blocks if block.kind == "tower"]
    assert [block.module for block in towers if "blocks" in block.name] == [
        f"model.visual.blocks.{index}" for index in range(3)
    ]
    assert all(block.data_nbytes > 0 for block in towers)


def test_a_text_pass_reads_nothing_of_a_tower(session: Session) -> None:
    streamer = session._loaded.streamer
    ask(session, question("Hello"))
    before = streamer.bytes_moved().disk
    result = ask(session, question("Hello again"), options=SamplingOptions(greedy=True, max_new_tokens=1))
    sizes = {block.name: block for block in session._loaded.manifest.blocks}
    streamed = [sizes[name].data_nbytes for name, tier in session._loaded.plan.tiers if tier.value == "disk"]
    towers = [
        sizes[name].data_nbytes
        for name, tier in session._loaded.plan.tiers
        if tier.value == "disk" and sizes[name].kind == "tower"
    ]
    assert towers
    rows = result.prompt_tokens - result.cached_tokens
    assert streamer.bytes_moved().disk - before <= sum(streamed) - sum(towers) + rows * 64 * 4


def test_passes_with_and_without_images_are_read_ahead_each_in_its_own_order(session: Session) -> None:
    streamer = session._loaded.streamer
    for _ in range(2):
        ask(session, question("Hello"))
        ask(session, question("What is it?", picture()))
    before = streamer.mispredictions
    ask(session, question("Hello"))
    ask(session, question("What is it?", picture()))
    assert streamer.mispredictions == before


@pytest.mark.parametrize("family", ["qwen3_vl", "qwen3_5"])
def test_the_next_turn_answers_as_plain_transformers_about_the_whole_conversation(
    family: str, split_of: dict[str, tuple[Path, Path]]
) -> None:
    checkpoint, split = split_of[family]
    image = picture()
    loaded = load(split, *residency(split, "one slot"))
    try:
        session = open_session(loaded)
        first = ask(session, question("What is it?", image))
        messages = question("What is it?", image), Message("assistant", first.text), question("And what colour?")
        second = ask(session, *messages)
        assert session._previous is not None
        prompt_ids = session._previous[0].ids
    finally:
        loaded.close()
    # A linear state holds its whole past in one and cannot be resumed exactly: it is computed anew, image and all.
    is_kept = family == "qwen3_vl"
    assert second.cached_tokens == (first.prompt_tokens + len(first.token_ids) - 1 if is_kept else 0)
    assert prompt_ids[first.prompt_tokens :][: len(first.token_ids)] == first.token_ids
    inputs = plain_inputs(checkpoint, family, [parts("What is it?", image)])
    assert plain_tokens(checkpoint, prompt_ids, inputs) == list(second.token_ids)


def test_another_image_of_the_same_size_is_another_conversation(session: Session) -> None:
    one = ask(session, question("What is it?", picture(seed=1)))
    other = ask(session, question("What is it?", picture(seed=2)))
    assert other.cached_tokens == 0
    assert other.token_ids != one.token_ids
    assert other.token_ids == ask(open_session(session._loaded), question("What is it?", picture(seed=2))).token_ids


def test_text_after_a_conversation_with_an_image_is_counted_from_its_own_start(session: Session) -> None:
    """Qwen's models note on themselves how far an image has shifted the text after it."""
    alone = ask(open_session(session._loaded), question("Hello there"))
    ask(session, question("Hello there", picture(width=64, height=64)))
    after = ask(session, question("Hello there"))
    assert after.token_ids == alone.token_ids


def test_the_same_question_once_more_keeps_what_is_known_of_the_image(session: Session) -> None:
    first = ask(session, question("What is it?", picture()))
    again = ask(session, question("What is it?", picture()))
    assert again.cached_tokens == first.prompt_tokens - 1
    assert again.token_ids == first.token_ids


def test_an_interrupted_answer_about_an_image_goes_on(session: Session) -> None:
    whole = ask(session, question("What is it?", picture()))
    fresh = open_session(session._loaded)
    finished = fresh.answer(
        [question("What is it?", picture())], GREEDY, so_far=whole.token_ids[:5], emit=lambda event: None,
        cancel=CancelToken(),
    )  # fmt: skip
    assert isinstance(finished.result, GenerationResult)
    assert finished.result.token_ids == whole.token_ids


def test_tokens_are_counted_as_they_will_be_computed_and_an_image_is_looked_at_once(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = picture(width=32, height=48)
    computed = ask(session, question("What is it?", image)).prompt_tokens
    assert session.count_tokens([question("What is it?", image)]) == computed
    monkeypatch.setattr(ImageProcessor, "expand", None)
    assert session.count_tokens([question("What is it?", image)]) == computed
    longer = [question("What is it?", image), Message("assistant", "A fox."), question("And the dog?")]
    more = session.count_tokens(longer)
    monkeypatch.undo()
    assert more == len(session.encode_prompt(longer).ids) > computed


def test_a_placeholder_that_somebody_merely_wrote_stays_text(session: Session) -> None:
    written = session.encode_prompt([question("What is <|image_pad|>?", picture())])
    image_id = session._loaded.config.image_token_id
    plain = session.encode_prompt([question("What is it?", picture())])
    assert written.ids.count(image_id) == plain.ids.count(image_id) == 6


def test_the_processors_without_a_form_for_pillow_are_those_we_know_of() -> None:
    known = IMAGE_PROCESSOR_MAPPING_NAMES.items()
    without = {
        kinds["torchvision"]
        for family, kinds in known
        if family in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES and not kinds.get("pil")
    }
    assert without | {"PixtralProcessor"} == NEED_TORCHVISION


@pytest.mark.parametrize(
    ("file", "settings", "accepts"),
    [
        ("preprocessor_config.json", {"image_processor_type": "CLIPImageProcessor"}, True),
        ("preprocessor_config.json", {"image_processor_type": "Llama4ImageProcessorFast"}, False),
        ("processor_config.json", {"image_processor": {"image_processor_type": "Llama4ImageProcessor"}}, False),
        ("processor_config.json", {"processor_class": "PixtralProcessor"}, False),
        ("tokenizer_config.json", {}, False),
    ],
)
def test_a_model_accepts_images_where_its_processor_can_run(
    file: str, settings: dict[str, object], accepts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / file).write_text(json.dumps(settings))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert accepts_images({"vision_config": {}}, {file}, tmp_path) is accepts
    assert not accepts_images({"text_config": {}}, {file}, tmp_path)
    assert not accepts_images({"vision_config": {}, "model_type": "kimi_k3"}, {file}, tmp_path)


def test_orientation_noted_by_a_camera_is_applied() -> None:
    upright = Image.open(BytesIO(picture(width=24, height=16)))
    exif = Image.Exif()
    exif[0x0112] = 6
    file = BytesIO()
    upright.transpose(Image.Transpose.ROTATE_90).save(file, "PNG", exif=exif)
    (read,) = read_images([file.getvalue()])
    assert decode_image(read).tobytes() == upright.tobytes()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_the_three_formats_are_read(kind: str) -> None:
    (read,) = read_images([picture(format=kind)])
    assert decode_image(read).size == (24, 16)


def bomb(width: int, height: int) -> bytes:
    """A PNG whose head promises far more pixels than the file has."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    body = struct.pack(">I", len(head)) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return b"\x89PNG\r\n\x1a\n" + body + struct.pack(">I", 1 << 20) + b"IDAT"


@pytest.mark.parametrize(
    ("contents", "sentence"),
    [
        (b"", "is empty"),
        (b"just some words", "is no PNG, JPEG or WebP image"),
        (picture(format="GIF"), "is no PNG, JPEG or WebP image"),
        (picture(width=400, height=400)[:-300], "is damaged or incomplete"),
        (picture(width=400, height=400, format="JPEG")[:2000], "is damaged or incomplete"),
        (bomb(10_000, 10_000), "has 100 million pixels; images of up to 64 million are read"),
        (bomb(40_000, 40_000), "has 1600 million pixels"),
    ],
    ids=["empty", "text", "gif", "cut png", "cut jpeg", "bomb", "huge bomb"],
)
def test_a_bad_image_is_refused_in_one_sentence(contents: bytes, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "photo.png"
    file.write_bytes(contents)
    for source in (file, contents):
        with pytest.raises(InvalidRequest, match=sentence) as caught:
            check_images([source])
        assert caught.value.next_step
    assert MOST_PIXELS == 64_000_000


def test_a_missing_image_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"The image holiday\.jpg cannot be read: No such file"):
        check_images([tmp_path / "holiday.jpg"])


def test_a_bad_image_leaves_a_session_that_works(session: Session) -> None:
    first = ask(session, question("Hello"))
    with pytest.raises(EngineError):
        ask(session, question("What is it?", b"nothing"))
    assert ask(session, question("Hello")).token_ids == first.token_ids


def test_an_answer_cancelled_while_the_model_looks_at_an_image_leaves_a_session_that_works(session: Session) -> None:
    messages = [question("What is it?", picture())]
    whole = ask(session, *messages)
    fresh = open_session(session._loaded)
    cancel = CancelToken()
    session._loaded.streamer._last_emit = 0.0

    def stop(event: Event) -> None:
        cancel.cancel()

    finished = fresh.answer(messages, GREEDY, emit=stop, cancel=cancel)
    assert finished.outcome is Outcome.CANCELLED
    assert isinstance(finished.result, GenerationResult)
    assert finished.result.token_ids == ()
    assert ask(fresh, *messages).token_ids == whole.token_ids


def test_a_message_with_images_crosses_to_another_process() -> None:
    message = question("What is it?", Path("photo.png"), picture())
    assert pickle.loads(pickle.dumps(message)) == message
    assert hash(message)


def test_a_model_that_reads_text_only_says_so(session: Session) -> None:
    tokenizer = AutoTokenizer.from_pretrained(session._loaded.folder)
    text_only = Session(session._loaded, tokenizer)
    with pytest.raises(UnsupportedModel, match="reads text only"):
        ask(text_only, question("What is it?", picture()))
