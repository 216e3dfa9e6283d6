"""A conversation as the token ids its model was trained on, by the model's own chat template.

Owns roles, the template's quirks, the end of a turn and the seam between what the KV cache already holds
and what a new turn adds. Knows nothing of passes or caches: it compares texts and returns ids.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from jinja2 import TemplateError

from engine.errors import InvalidRequest, UnsupportedModel
from engine.generation.images import ReadImage, read_images
from engine.generation.messages import Message as Message
from engine.generation.messages import Prompt as Prompt
from engine.generation.messages import Role as Role
from engine.generation.text_stream import TextStream

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from engine.generation.image_prompt import ImageProcessor

# raise_exception in a template is a TemplateError; the rest is what its expressions raise on data they did
# not expect, and what transformers raises about the template itself.
_TEMPLATE_FAILURES = (TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)

# Words no template looks for: where they come out again shows what a template does with a message.
_SYSTEM_PROBE = "Zsysprobe"
_USER_PROBE = "Zuserprobe"
_ANSWER_PROBE = "Zanswerprobe"

_CONTROL_TOKEN = re.compile(r"<\|.+\|>")

# Splits a special token that somebody merely wrote. A Unicode noncharacter: no text uses it.
_BREAK = "\ufdd0"


class ChatFormat:
    """The chat template of one tokenizer. Between calls it remembers a count and nothing else; one thread at a time.

    ``template_kwargs`` reach the template as they are, for example ``{"enable_thinking": False}``.

    A system message that the template refuses or leaves out goes to the head of the first user message.
    Empty system messages are dropped, so the template's own default applies. A special token quoted in a
    message (``<|im_end|>`` in a pasted log, ``<s>`` in HTML) is encoded as ordinary text. Apart from these,
    the ids of a prompt equal ``tokenizer.apply_chat_template(messages, add_generation_prompt=True)``, and with
    images, which a ``processor`` is needed for, those of the processor's method of that name.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        template_kwargs: Mapping[str, Any] | None = None,
        *,
        processor: ImageProcessor | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        self._template_kwargs = dict(template_kwargs or {})
        self._processor = processor
        # The tokens that the images of the conversation counted last take beyond their placeholders.
        self._counted: tuple[tuple[str, ...], int] = ((), 0)

    @property
    def has_template(self) -> bool:
        """Whether the model can chat at all. Without a template it only continues texts."""
        return bool(self._tokenizer.chat_template)

    @property
    def supports_thinking_switch(self) -> bool:
        """Whether the template reads ``enable_thinking``."""
        template = self._tokenizer.chat_template
        texts = template.values() if isinstance(template, dict) else (template or "",)
        return any("enable_thinking" in text for text in texts)

    def stop_token_ids(self, generation_config: Mapping[str, object] | None = None) -> frozenset[int]:
        """Tokens that end an answer: the model's, the tokenizer's and the template's own end of a turn.

        ``generation_config`` is generation_config.json as loaded; its ``eos_token_id`` is a number or a list.
        """
        configured = (generation_config or {}).get("eos_token_id")
        candidates = cast("list[object]", configured) if isinstance(configured, list) else [configured]
        ids = [*candidates, self._tokenizer.eos_token_id, self._turn_end_id]
        return frozenset(each for each in ids if isinstance(each, int) and not isinstance(each, bool))

    def encode_prompt(self, messages: Sequence[Message]) -> Prompt:
        """The whole conversation, open for the assistant's answer.

        Raises ``UnsupportedModel`` without a chat template, or with images for a model that reads text only;
        ``InvalidRequest`` for an empty question, a conversation that the template refuses, or an image that cannot
        be read.
        """
        return self._encode_anew(self._render_conversation(messages), self._read_images(messages))

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """How many ids ``encode_prompt`` gives. Images that were counted before are not looked at again."""
        text, images = self._render_conversation(messages), self._read_images(messages)
        if not images:
            return len(self._encode(text))
        bare = len(self._encode_expanded(text))
        digests = _digests(images)
        if self._counted[0] != digests:
            self._counted = digests, len(self._encode_anew(text, images).ids) - bare
        return bare + self._counted[1]

    def encode_next_prompt(self, previous: Prompt, answer_ids: Sequence[int], messages: Sequence[Message]) -> Prompt:
        """The whole conversation again, where ``answer_ids`` were generated after ``previous``.

        ``messages`` are the previous ones, the answer, and the new question. If the template still writes the
        previous prompt and that answer (give or take white space around it), the ids are the previous ids,
        the answer's ids as generated, and only the rest encoded: all of it that the KV cache holds is reused,
        and text that would encode differently a second time is not encoded a second time. A stop token
        at the end of ``answer_ids`` may be there or not. The same conversation once more, for another version
        of the answer, is the previous prompt.

        If the template rewrites history (drops the thinking, moves the system text), or the messages were
        edited, or the answer is another than the generated one, all is encoded anew. In either case the
        caller compares the ids with what its cache holds. Raises as ``encode_prompt`` does.
        """
        text, images = self._render_conversation(messages), self._read_images(messages)
        if _digests(images) != previous.images:
            return self._encode_anew(text, images)
        if text == previous.text:
            return previous
        answer_ids = self._without_trailing_special(answer_ids)
        rest = _rest_after_answer(text, previous.text, self._quote(self._decode(answer_ids)))
        if rest is None:
            return self._encode_anew(text, images)
        return replace(previous, text=text, ids=(*previous.ids, *answer_ids, *self._encode(rest, is_continuation=True)))

    def _read_images(self, messages: Sequence[Message]) -> tuple[ReadImage, ...]:
        sources = [image for message in messages for image in message.images]
        if sources and self._processor is None:
            raise UnsupportedModel(
                "This model reads text only; it cannot look at images.",
                "Remove the image, or choose a model that accepts images.",
            )
        return read_images(sources)

    def _encode_anew(self, text: str, images: tuple[ReadImage, ...]) -> Prompt:
        if not images or self._processor is None:
            return Prompt(text, tuple(self._encode(text)))
        made = self._processor.expand(text, images, self._encode_expanded)
        return Prompt(text, made.ids, _digests(images), made.inputs, made.text_starts)

    def _encode_expanded(self, text: str) -> list[int]:
        """As processors do it: where the template does not write the begin token, the tokenizer puts its own."""
        begin = self._tokenizer.bos_token
        is_begun = isinstance(begin, str) and text.startswith(begin)
        return self._encode(text, add_special_tokens=not is_begun)

    def _render_conversation(self, messages: Sequence[Message]) -> str:
        if not self.has_template:
            raise UnsupportedModel(
                "This model has no chat template, so it can continue a text but not hold a conversation.",
                "Give it a text to continue with --prompt, or choose a model made for chat.",
            )
        if not messages or messages[-1].role != "user":
            raise InvalidRequest("A conversation must end with a message of the user.")
        if not messages[-1].text.strip() and not messages[-1].images:
            raise InvalidRequest("The message is empty.", "Write something to send.")
        messages = [each for each in messages if each.role != "system" or each.text.strip()]
        if not self._takes_system:
            messages = _with_system_in_first_question(messages)
        try:
            return self._render(messages)
        except _TEMPLATE_FAILURES as error:
            reason = str(error).strip().rstrip(".") or type(error).__name__
            raise InvalidRequest(
                f"The model's chat template refuses this conversation: {reason}.",
                "Start a new conversation, or give the model a text to continue with --prompt.",
                detail=repr(error),
            ) from error

    def _render(self, messages: Sequence[Message], *, in_parts: bool | None = None, opens_answer: bool = True) -> str:
        """The template's output. ``in_parts`` None: as this template takes content."""
        in_parts = self._takes_parts if in_parts is None else in_parts
        conversation = [
            {"role": each.role, "content": _content(self._quote(each.text), len(each.images), in_parts=in_parts)}
            for each in messages
        ]
        rendered = self._tokenizer.apply_chat_template(
            cast("list[dict[str, str]]", conversation),
            tokenize=False,
            add_generation_prompt=opens_answer,
            **self._template_kwargs,
        )
        return cast("str", rendered)

    def _probe(self, messages: Sequence[Message], *, in_parts: bool | None = None, opens_answer: bool = True) -> str:
        """As ``_render``, but "" where the template refuses."""
        try:
            return self._render(messages, in_parts=in_parts, opens_answer=opens_answer)
        except _TEMPLATE_FAILURES:
            return ""

    @cached_property
    def _takes_parts(self) -> bool:
        """Some templates made for images drop a plain string without a word: they want a list of parts."""
        question = [Message("user", _USER_PROBE)]
        if _USER_PROBE in self._probe(question, in_parts=False):
            return False
        return _USER_PROBE in self._probe(question, in_parts=True)

    @cached_property
    def _takes_system(self) -> bool:
        """Whether a system message comes out. Not to know (nothing renders at all) counts as yes."""
        question = Message("user", _USER_PROBE)
        if _SYSTEM_PROBE in self._probe([Message("system", _SYSTEM_PROBE), question]):
            return True
        return _USER_PROBE not in self._probe([question])

    @cached_property
    def _turn_end_id(self) -> int | None:
        """The added token the template writes directly after an answer.

        The last answer of a conversation is asked first: where templates tell a message's end from a turn's
        end, only that one ends the turn. Templates that leave it open show the end before the next question.
        """
        question, answer = Message("user", _USER_PROBE), Message("assistant", _ANSWER_PROBE)
        if not self.has_template:
            return None
        for messages in ([question, answer], [question, answer, question]):
            text = self._probe(messages, opens_answer=False)
            _, found, tail = text.rpartition(_ANSWER_PROBE)
            token_id = self._turn_end_in(tail) if found else None
            if token_id is not None:
                return token_id
        return None

    def _turn_end_in(self, tail: str) -> int | None:
        """The token that ``tail`` starts with; where that only closes a tag (Kimi K3), the special one behind it."""
        token_id = self._leading_added_token(tail)
        added = self._tokenizer.added_tokens_decoder
        if token_id is None or added[token_id].special:
            return token_id
        special = {token_id: token.content for token_id, token in added.items() if token.special}
        behind = [(tail.index(content), token_id) for token_id, content in special.items() if content in tail]
        return min(behind)[1] if behind else token_id

    def _leading_added_token(self, text: str) -> int | None:
        text = text.lstrip()
        matches = [
            (len(token.content), token_id)
            for token_id, token in self._tokenizer.added_tokens_decoder.items()
            if token.content.strip() and text.startswith(token.content.strip())
        ]
        return max(matches)[1] if matches else None

    @cached_property
    def _special_tokens(self) -> dict[int, str]:
        """Those that decoding leaves out, and those that are written like them."""
        added = self._tokenizer.added_tokens_decoder
        return {
            token_id: token.content
            for token_id, token in added.items()
            if token.special or _CONTROL_TOKEN.fullmatch(token.content)
        }

    def _quote(self, text: str) -> str:
        """Breaks special tokens in a message after their first character, so that they stay text."""
        text = text.replace(_BREAK, "")
        quoted = [token for token in self._special_tokens.values() if len(token) > 1 and token in text]
        if not quoted:
            return text
        starts = rf"(?=(?:{'|'.join(map(re.escape, quoted))}))(.)"
        return re.sub(starts, rf"\1{_BREAK}", text, flags=re.DOTALL)

    def _encode(self, text: str, *, is_continuation: bool = False, add_special_tokens: bool = False) -> list[int]:
        """Ids of a template's output, or of its end where ``is_continuation``."""
        head, *pieces = text.split(_BREAK)
        ids = self._encode_inside(head) if is_continuation else self._encode_plain(head, add_special_tokens)
        for piece in pieces:
            ids += self._encode_inside(piece)
        return ids

    def _encode_inside(self, text: str) -> list[int]:
        """Ids of a text that something else precedes.

        SentencePiece vocabularies put a space before the first word of whatever is encoded. A newline in
        front takes it; where the newline would melt into the text, the vocabulary adds no such space.
        """
        newline_ids = self._encode_plain("\n")
        ids = self._encode_plain("\n" + text)
        if ids[: len(newline_ids)] == newline_ids:
            return ids[len(newline_ids) :]
        return self._encode_plain(text)

    def _encode_plain(self, text: str, add_special_tokens: bool = False) -> list[int]:
        # verbose: no warning about lengths. The context is the session's to check, with its own numbers.
        return self._tokenizer.encode(text, add_special_tokens=add_special_tokens, verbose=False)

    def _decode(self, ids: Sequence[int]) -> str:
        """The text as it was streamed, which is the text that came back in the conversation."""
        stream = TextStream(self._tokenizer)
        for token_id in ids:
            stream.push(token_id)
        stream.flush()
        return stream.text

    def _without_trailing_special(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Without the stop token. The template writes its own end of the turn."""
        end = len(ids)
        while end and ids[end - 1] in self._special_tokens:
            end -= 1
        return tuple(ids[:end])


def _content(text: str, images: int, *, in_parts: bool) -> object:
    """What a template is given of a message: its text, or a list of parts, with the images before the text."""
    if not images and not in_parts:
        return text
    parts = [{"type": "image"}] * images
    return [*parts, {"type": "text", "text": text}] if text.strip() or not images else parts


def _digests(images: Sequence[ReadImage]) -> tuple[str, ...]:
    return tuple(image.digest for image in images)


def _with_system_in_first_question(messages: Sequence[Message]) -> list[Message]:
    """For templates without a system role: its text becomes the head of the first question."""
    system = [each.text for each in messages if each.role == "system"]
    turns = [each for each in messages if each.role != "system"]
    first = next((index for index, each in enumerate(turns) if each.role == "user"), None)
    if system and first is not None:
        turns[first] = replace(turns[first], text="\n\n".join([*system, turns[first].text]))
    return turns


def _rest_after_answer(text: str, prompt: str, answer: str) -> str | None:
    """What ``text`` goes on with after ``prompt`` and ``answer``, or None if it does not start with them.

    White space around the answer may differ: templates trim it, SentencePiece decoders drop the first space,
    some templates write one of their own.
    """
    if not text.startswith(prompt):
        return None
    tail = text[len(prompt) :]
    if tail.startswith(answer):
        return tail[len(answer) :]
    trimmed, core = tail.lstrip(), answer.strip()
    return trimmed[len(core) :] if core and trimmed.startswith(core) else None
