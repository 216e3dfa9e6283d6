"""One small tokenizer of each kind that models ship, trained here on a page of many languages.

All know the special tokens of ``SPECIAL_TOKENS``. Built once per process; ``with_template`` copies one
and gives it a chat template.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

SPECIAL_TOKENS = (
    "<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|end_of_text|>", "<|start_header_id|>",
    "<|end_header_id|>", "<|eot_id|>", "<|user|>", "<|assistant|>",
)  # fmt: skip

CORPUS = (
    "The quick brown fox jumps over the lazy dog. Hello there, how are you today? I am fine, thank you.",
    "Die Straße führt über schöne Hügel, größer als gedacht. L'été, où êtes-vous? ¿Qué pasó, señor?",
    "今天天气很好，我们去公园散步吧。你好世界，欢迎使用这个程序。日本語のテキストもあります。",
    "مرحبا بالعالم، كيف حالك اليوم؟ هذا نص قصير للتجربة.",
    "Привет, мир! Как дела? Это небольшой текст для проверки. नमस्ते दुनिया",
    "😀😀😃 🎉🎉 👍🏽 👩\u200d👩\u200d👧\u200d👦 🏳\ufe0f\u200d🌈 ❤\ufe0f 🇩🇪🇫🇷 cafe\u0301 z\u0336a\u0336",
    "def walk(tree):\n\tfor node in tree:\n\t\tif node is None:\n            return {'a': [1, 2.5, -3]}\n\n",
    "<html>\n  <p class='x'>a  b   c</p>\r\n</html>  =>  x != y && z || w; // it's done, isn't it?",
)

# What answers are made of, and what streams and templates trip over.
SNIPPETS = (
    "Hello", " world", "  two spaces", " ", "\n", "\n\n", "\t", "\t\tdef f(x):\n", "    return x", "it's",
    " ,", "{'a': [1]}", "<p>", "0", "3.14", ".", "ß", "ελ", "Привет", "你好", "世界，", "天", "日本語",
    "한국어", "नमस्ते", "مرحبا", " بالعالم", "ﷺ", "ﬁ", "e\u0301", "z\u0336a\u0336", "\u200d", "\u00a0",
    "\U00020bb7", "𝄞", "😀", "😀😀😀", " 🎉",
    "👍🏽", "👩\u200d👩\u200d👧\u200d👦", "🏳\ufe0f\u200d🌈", "❤\ufe0f", "🇩🇪🇫🇷",
    "\ufffd", "\ufffd\ufffd\ufffd\ufffd\ufffd",
)  # fmt: skip


@cache
def byte_level_bpe() -> PreTrainedTokenizerFast:
    """As GPT-2, Llama 3 and Qwen: every byte is a letter, so a token may hold parts of characters."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return _wrapped(tokenizer)


@cache
def byte_fallback_bpe() -> PreTrainedTokenizerFast:
    """As Llama 2 and Mistral: a ▁ before each word, and a token per byte of what is not in the vocabulary."""
    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    trained.pre_tokenizer = pre_tokenizers.Sequence(  # no token ends with a space or crosses a line
        [pre_tokenizers.Split("\n", "isolated"), pre_tokenizers.Metaspace()]
    )
    latin = [line for line in CORPUS if line.isascii() or "ß" in line]
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=list(SPECIAL_TOKENS), show_progress=False, max_token_length=8
    )
    trained.train_from_iterator(latin, trainer)
    model = json.loads(trained.to_str())["model"]
    vocab: dict[str, int] = model["vocab"]
    for byte in range(256):
        vocab[f"<0x{byte:02X}>"] = len(vocab)
    merges = [tuple(pair) for pair in model["merges"]]
    tokenizer = Tokenizer(
        models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)  # pyright: ignore[reportArgumentType]
    )
    tokenizer.normalizer = _sentencepiece_spaces()
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
    return _wrapped(tokenizer)


@cache
def metaspace_unigram() -> PreTrainedTokenizerFast:
    """As T5 and newer SentencePiece models: a ▁ before the first word only, no bytes, <unk> for the rest."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    trainer = trainers.UnigramTrainer(
        vocab_size=400, special_tokens=list(SPECIAL_TOKENS), unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return _wrapped(tokenizer)


@cache
def wordpiece() -> PreTrainedTokenizerFast:
    """As BERT: a space before every token unless it starts with ##."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=True)
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=list(SPECIAL_TOKENS), show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return _wrapped(tokenizer)


ALL_KINDS: tuple[Callable[[], PreTrainedTokenizerFast], ...] = (
    byte_level_bpe,
    byte_fallback_bpe,
    metaspace_unigram,
    wordpiece,
)


def with_template(tokenizer: PreTrainedTokenizerFast, template: str | dict[str, str] | None) -> PreTrainedTokenizerFast:
    """A copy that chats by ``template``."""
    copied = copy.deepcopy(tokenizer)
    copied.chat_template = template  # pyright: ignore[reportAttributeAccessIssue]
    return copied


def _sentencepiece_spaces() -> normalizers.Normalizer:
    return normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])


def _wrapped(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        additional_special_tokens=list(SPECIAL_TOKENS[3:]),
        clean_up_tokenization_spaces=False,
    )
