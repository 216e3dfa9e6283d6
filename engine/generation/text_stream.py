"""Token ids in, text out, piece by piece: a decoder that never decodes the whole answer again.

Owns the few tokens whose text may still change. Knows nothing of models, prompts or stop tokens.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Why not tokenizers.decoders.DecodeStream (0.23.3): it keeps everything back while the text ends with a real
# U+FFFD, has no flush for the rest, and after an invalid byte following valid ones it raises "Invalid prefix"
# at every further token.

_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
_UNDECODABLE = "\ufffd"
# A UTF-8 character has at most four bytes, so at most three can wait for their last one.
_MAX_WAITING = 3
# The window is decoded at every token. It needs one visible token before the new ones (decoders treat the
# first token of a text differently); more of them make a safe place to cut it more likely.
_WINDOW_TOKENS = 16
_KEPT_TOKENS = 6
# Past this many tokens without a safe cut (a long run of invalid bytes) it is cut anyway.
_WINDOW_LIMIT = 128


class TextStream:
    """Decodes one answer while it is generated. Special tokens are left out. Not thread-safe.

    The pieces add up to what ``tokenizer.decode`` makes of all ids at once (``skip_special_tokens=True``,
    ``clean_up_tokenization_spaces=False``). One exception, in vocabularies with byte-fallback tokens: for an
    invalid byte, decode() turns the whole run of bytes into U+FFFD, even characters that have long been
    shown; here they stay. Use ``text`` rather than a second decode where both must agree.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        added = tokenizer.added_tokens_decoder
        self._special_ids = frozenset(token_id for token_id, token in added.items() if token.special)
        self._pieces: list[str] = []
        self._window: list[int] = []
        self._settled = 0  # tokens of the window whose text has been given out completely
        self._shown = ""  # text of the window that has been given out
        self._bytes = b""  # the last tokens, as far as each of them is one byte

    @property
    def text(self) -> str:
        """All text given out so far."""
        return "".join(self._pieces)

    def push(self, token_id: int) -> str:
        """The text that became certain with this token: "" inside a character of several bytes."""
        if token_id in self._special_ids:
            return ""
        self._window.append(token_id)
        byte = self._byte_of(token_id)
        self._bytes = (self._bytes + byte)[-_MAX_WAITING:] if byte else b""
        if _is_inside_character(self._bytes):
            return ""
        decoded = self._decode(self._window)
        if not decoded.startswith(self._shown):
            decoded = self._restart_after_settled()
        waiting = _count_waiting(decoded)
        piece = self._give_out(decoded, len(decoded) - waiting)
        if not waiting:
            self._settled = len(self._window)
        if len(self._window) >= _WINDOW_TOKENS:
            piece += self._shorten(decoded, waiting)
        return piece

    def flush(self) -> str:
        """The rest, once no more tokens come: what is left of a broken character, as U+FFFD."""
        decoded = self._decode(self._window)
        if not decoded.startswith(self._shown):
            decoded = self._restart_after_settled()
        self._settled = len(self._window)
        return self._give_out(decoded, len(decoded))

    def _give_out(self, decoded: str, end: int) -> str:
        if end <= len(self._shown):
            return ""
        piece = decoded[len(self._shown) : end]
        self._shown = decoded[:end]
        self._pieces.append(piece)
        return piece

    def _restart_after_settled(self) -> str:
        """An invalid byte changed the text before it: decode what is not settled by itself."""
        self._window = self._window[self._settled :]
        self._settled = 0
        self._shown = ""
        return self._decode(self._window)

    def _shorten(self, decoded: str, waiting: int) -> str:
        """Drops old tokens where the rest decodes to the same text without them.

        A cut inside a character is safe too if all that it leaves is U+FFFD at the start of the window.
        Returns what an unsafe cut, at the window's limit, has to give out first.
        """
        piece = ""
        kept = self._window[-_KEPT_TOKENS:]
        text = self._decode(kept)
        endings = (text, text.lstrip(_UNDECODABLE))
        if any(len(end) > waiting and decoded.endswith(end) for end in endings):
            self._settled = max(0, self._settled - (len(self._window) - len(kept)))
            self._shown = text[: len(text) - waiting]
        elif len(self._window) >= _WINDOW_LIMIT:
            piece = self._give_out(decoded, len(decoded))
            self._settled = len(kept)
            self._shown = text
        else:
            return ""
        self._window = kept
        return piece

    def _byte_of(self, token_id: int) -> bytes:
        """What a byte-fallback token stands for; nothing for any other token.

        Its bytes have to be looked at, because decode() makes U+FFFD of a whole run of them while the last
        character is incomplete: the characters before it seem lost, and real ones cannot be told apart.
        """
        match = _BYTE_TOKEN.fullmatch(str(self._tokenizer.convert_ids_to_tokens(token_id)))
        return bytes.fromhex(match[1]) if match else b""

    def _decode(self, ids: list[int]) -> str:
        return str(self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))


def _is_inside_character(data: bytes) -> bool:
    """Whether UTF-8 data ends with the beginning of a character (RFC 3629, section 3)."""
    for length, byte in enumerate(reversed(data), start=1):
        if byte >= 0xC0:
            return length < (4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2)
        if byte < 0x80:
            return False
    return False


def _count_waiting(decoded: str) -> int:
    """How many characters at the end may yet become part of another one."""
    tail = decoded[-_MAX_WAITING:]
    return len(tail) - len(tail.rstrip(_UNDECODABLE))
