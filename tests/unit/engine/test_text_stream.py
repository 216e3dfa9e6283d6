"""Streamed text equals the text decoded at once, for every kind of tokenizer, and nothing waits for long."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import pytest
from transformers import PreTrainedTokenizerFast

from engine.generation.text_stream import TextStream
from tests.helpers.tiny_tokenizers import (
    ALL_KINDS,
    SNIPPETS,
    byte_fallback_bpe,
    byte_level_bpe,
    metaspace_unigram,
)

Build = Callable[[], PreTrainedTokenizerFast]
every_kind = pytest.mark.parametrize("build", ALL_KINDS, ids=lambda build: build.__name__)


def streamed(tokenizer: PreTrainedTokenizerFast, ids: Iterable[int]) -> list[str]:
    """Every piece, the flush last."""
    stream = TextStream(tokenizer)
    pieces = [stream.push(token_id) for token_id in ids]
    pieces.append(stream.flush())
    assert stream.text == "".join(pieces)
    return pieces


def decoded_at_once(tokenizer: PreTrainedTokenizerFast, ids: list[int]) -> str:
    text = tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    assert isinstance(text, str)
    return text


def random_text(rng: random.Random) -> str:
    return "".join(rng.choices(SNIPPETS, k=rng.randint(1, 40)))


def byte_ids(tokenizer: PreTrainedTokenizerFast, data: bytes) -> list[int]:
    ids = tokenizer.convert_tokens_to_ids([f"<0x{byte:02X}>" for byte in data])
    assert isinstance(ids, list)
    return ids


@every_kind
def test_pieces_of_any_text_add_up_to_the_text_decoded_at_once(build: Build) -> None:
    tokenizer = build()
    rng = random.Random(1)
    for _ in range(150):
        ids = tokenizer.encode(random_text(rng), add_special_tokens=False)
        assert "".join(streamed(tokenizer, ids)) == decoded_at_once(tokenizer, ids)


@every_kind
def test_special_tokens_anywhere_leave_no_trace(build: Build) -> None:
    tokenizer = build()
    specials = tokenizer.all_special_ids
    rng = random.Random(2)
    for _ in range(80):
        ids = tokenizer.encode(random_text(rng), add_special_tokens=False)
        for _ in range(rng.randint(1, 12)):
            ids.insert(rng.randint(0, len(ids)), rng.choice(specials))
        assert "".join(streamed(tokenizer, ids)) == decoded_at_once(tokenizer, ids)


@pytest.mark.parametrize("build", [kind for kind in ALL_KINDS if kind is not byte_fallback_bpe])
def test_random_tokens_add_up_too_even_where_they_are_no_text(build: Build) -> None:
    tokenizer = build()
    rng = random.Random(3)
    for _ in range(150):
        ids = [rng.randrange(len(tokenizer)) for _ in range(rng.randint(1, 80))]
        assert "".join(streamed(tokenizer, ids)) == decoded_at_once(tokenizer, ids)


def test_byte_level_noise_is_never_kept_back_longer_than_three_characters() -> None:
    tokenizer = byte_level_bpe()
    not_ascii = [i for i in range(len(tokenizer)) if not decoded_at_once(tokenizer, [i]).isascii()]
    rng = random.Random(4)
    ids = [rng.choice(not_ascii) for _ in range(500)]
    stream = TextStream(tokenizer)
    for count, token_id in enumerate(ids, start=1):
        stream.push(token_id)
        assert len(decoded_at_once(tokenizer, ids[:count])) - len(stream.text) <= 3
    stream.flush()
    assert stream.text == decoded_at_once(tokenizer, ids)


def test_random_bytes_in_a_byte_fallback_vocabulary_never_stall_and_keep_what_was_shown() -> None:
    tokenizer = byte_fallback_bpe()
    rng = random.Random(5)
    for _ in range(60):
        ids = [rng.randrange(len(tokenizer)) for _ in range(rng.randint(20, 200))]
        stream = TextStream(tokenizer)
        silent = 0
        for token_id in ids:
            silent = 0 if stream.push(token_id) or token_id in tokenizer.all_special_ids else silent + 1
            assert silent <= 6  # three bytes of a character, then three replacement characters
        before = stream.text
        stream.flush()
        assert stream.text.startswith(before)


def test_a_character_of_several_tokens_comes_whole_with_its_last_one() -> None:
    tokenizer = byte_fallback_bpe()
    ids = [*tokenizer.encode("Hello", add_special_tokens=False), *byte_ids(tokenizer, "😀你".encode())]
    assert streamed(tokenizer, ids)[-8:] == ["", "", "", "😀", "", "", "你", ""]


def test_an_answer_cut_inside_a_character_ends_with_the_replacement_character() -> None:
    tokenizer = byte_level_bpe()
    ids = tokenizer.encode("ab\U00020bb7", add_special_tokens=False)[:-1]
    pieces = streamed(tokenizer, ids)
    assert pieces[-1] == "\ufffd"
    assert "".join(pieces) == decoded_at_once(tokenizer, ids) == "ab\ufffd"


def test_a_cut_character_after_whole_ones_does_not_take_them_back() -> None:
    """decode() of all ids would turn both characters of this run of byte tokens into U+FFFD."""
    tokenizer = byte_fallback_bpe()
    ids = byte_ids(tokenizer, "你好".encode()[:-1])
    assert "".join(streamed(tokenizer, ids)) == "你\ufffd\ufffd"


def test_an_invalid_byte_costs_itself_only() -> None:
    tokenizer = byte_fallback_bpe()
    hello = tokenizer.encode("Hello", add_special_tokens=False)
    ids = [*hello, *byte_ids(tokenizer, "你".encode() + b"\xff"), *hello, *byte_ids(tokenizer, "好".encode())]
    assert "".join(streamed(tokenizer, ids)) == "Hello你\ufffd Hello好"


def test_a_long_run_of_bytes_that_is_no_text_is_given_out_piece_by_piece() -> None:
    tokenizer = byte_fallback_bpe()
    hello = tokenizer.encode("Hello", add_special_tokens=False)
    ids = [*byte_ids(tokenizer, b"\xff" + "你好".encode() * 100), *hello]
    text = "".join(streamed(tokenizer, ids))
    assert text.startswith("\ufffd" * 100)
    assert text.endswith(" Hello")


@every_kind
def test_ids_that_the_vocabulary_does_not_have_are_no_text(build: Build) -> None:
    """Heads are padded to a round size, so a model can choose such an id."""
    tokenizer = build()
    ids = [*tokenizer.encode("Hello", add_special_tokens=False), len(tokenizer) + 5]
    assert "".join(streamed(tokenizer, ids)) == "Hello"


def test_a_model_that_writes_replacement_characters_for_ever_is_still_streamed() -> None:
    tokenizer = byte_level_bpe()
    ids = tokenizer.encode("\ufffd" * 400, add_special_tokens=False)
    stream = TextStream(tokenizer)
    for token_id in ids:
        stream.push(token_id)
    assert len(stream.text) >= 397
    assert stream.text + stream.flush() == "\ufffd" * 400


def test_the_first_word_has_no_space_and_later_ones_keep_theirs() -> None:
    for tokenizer in (byte_fallback_bpe(), metaspace_unigram()):
        ids = tokenizer.encode("Hello there Hello", add_special_tokens=False)
        assert "".join(streamed(tokenizer, ids)) == "Hello there Hello"
        after_special = tokenizer.encode("</s>", add_special_tokens=False)[-1:]
        assert "".join(streamed(tokenizer, [*after_special, *ids])) == "Hello there Hello"


def test_an_empty_answer_is_an_empty_text() -> None:
    assert streamed(byte_level_bpe(), []) == [""]
    assert streamed(byte_level_bpe(), byte_level_bpe().encode("</s>")) == ["", ""]


def test_a_long_answer_is_decoded_through_a_short_window() -> None:
    class CountingTokenizer:
        """Decodes as the real one, and remembers the longest list it was given."""

        def __init__(self) -> None:
            self.added_tokens_decoder = byte_level_bpe().added_tokens_decoder
            self.longest = 0
            self.calls = 0

        def decode(self, ids: list[int], **kwargs: bool) -> str | list[str]:
            self.longest = max(self.longest, len(ids))
            self.calls += 1
            return byte_level_bpe().decode(ids, **kwargs)

        def convert_ids_to_tokens(self, token_id: int) -> str | list[str]:
            return byte_level_bpe().convert_ids_to_tokens(token_id)

    rng = random.Random(6)
    ids = byte_level_bpe().encode("".join(rng.choices(SNIPPETS, k=3000)), add_special_tokens=False)
    counting = CountingTokenizer()
    pieces = streamed(counting, ids)  # pyright: ignore[reportArgumentType]
    assert "".join(pieces) == decoded_at_once(byte_level_bpe(), ids)
    assert counting.longest <= 32
    assert counting.calls <= 1.5 * len(ids)
