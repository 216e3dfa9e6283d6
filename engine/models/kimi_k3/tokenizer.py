"""Kimi K3's tokenizer, from the files it is published as, without the Python code beside them.

``tiktoken.model`` has the vocabulary, a token and its rank in each line; the 256 ids behind it are control tokens,
some of them named in ``tokenizer_config.json``. What the model writes as tags comes out as text: the end of its
thinking as "</think>", the other tags as nothing.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, decoders
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import TikTokenConverter

from engine.models.kimi_k3.chat_template import CHAT_TEMPLATE

VOCABULARY_FILE = "tiktoken.model"
CONTROL_TOKENS = 256
_TAG_TOKENS = ("<|open|>", "<|close|>", "<|sep|>")
"""Not "special", or decoding would leave them out before the words between them are known to be a tag."""

# Words are cut at capitals, Chinese characters apart from all else (moonshotai/Kimi-K3, tokenization_kimi.py).
_LETTER = r"\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]"
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_BEFORE = r"[^\r\n\p{L}\p{N}]?"
_WORDS = "|".join(
    [
        r"[\p{Han}]+",
        rf"{_BEFORE}[\p{{Lu}}\p{{Lt}}{_LETTER}]*[\p{{Ll}}{_LETTER}]+{_ENDING}",
        rf"{_BEFORE}[\p{{Lu}}\p{{Lt}}{_LETTER}]+[\p{{Ll}}{_LETTER}]*{_ENDING}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
_TAGS = [
    (r"<\|open\|>think<\|sep\|>", "<think>"),
    (r"<\|close\|>think<\|sep\|>", "</think>"),
    (r"<\|(open|close)\|>[^<]*<\|sep\|>", ""),
    (r"<\|(open|close)\|>[^<]*\z", ""),  # a tag that is still being written
]


class _Converter(TikTokenConverter):
    """transformers', without its dependency on tiktoken for reading a list of words."""

    @staticmethod
    def load_tiktoken_bpe(tiktoken_url: str) -> dict[bytes, int]:
        ranks: dict[bytes, int] = {}
        for line in Path(tiktoken_url).read_bytes().splitlines():
            token, _, rank = line.partition(b" ")
            ranks[base64.b64decode(token, validate=True)] = int(rank)
        return ranks


def read_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """Raises ``OSError``, ``ValueError`` or ``KeyError`` where the files are not there or not what they should be."""
    settings: dict[str, Any] = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    named = {int(number): token["content"] for number, token in settings["added_tokens_decoder"].items()}
    tokenizer = _Converter(vocab_file=str(folder / VOCABULARY_FILE), pattern=_WORDS).converted()
    first = tokenizer.get_vocab_size()
    tokens = [named.get(number, f"<|reserved_token_{number}|>") for number in range(first, first + CONTROL_TOKENS)]
    missing = {"<|end_of_msg|>", *_TAG_TOKENS} - set(tokens)
    if missing:
        raise ValueError(f"tokenizer_config.json names no {min(missing)}, as Kimi K3's does")
    for token in tokens:
        if token in _TAG_TOKENS:
            tokenizer.add_tokens([AddedToken(token, normalized=False, special=False)])
        else:
            tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True)])
    replaced = [decoders.Replace(Regex(pattern), text) for pattern, text in _TAGS]
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), *replaced])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="[BOS]" if "[BOS]" in tokens else None,
        eos_token="<|end_of_msg|>",
        pad_token="[PAD]" if "[PAD]" in tokens else None,
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )
