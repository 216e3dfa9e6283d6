"""The shapes of what the conversation store keeps: frozen, plain, without SQL and without Qt."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, Literal, cast

from engine.api import Message, SamplingOptions
from engine.errors import EngineError, InvalidRequest

Role = Literal["system", "user", "assistant"]


class StoreError(EngineError):
    """The conversations cannot be opened or changed; one sentence and a next step, as every ``EngineError``."""


class AnswerState(StrEnum):
    """Where a message stands. A question is always ``DONE``."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


WORKING = (AnswerState.WAITING, AnswerState.RUNNING)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text file that goes with a question. The text is kept: the file may change or vanish."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class StoredImage:
    """An image that goes with a question. ``name`` is for people; ``file`` is its name in the folder of images.

    ``width`` and ``height`` in pixels, as it is seen: upright.
    """

    name: str
    file: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """What an answer cost, as its ``GenerationResult`` said. Seconds; None where unknown."""

    tokens: int = 0
    prompt_tokens: int = 0
    first_token_s: float | None = None
    s_per_token: float | None = None
    total_s: float | None = None
    stop_reason: str = ""


_NO_FIGURES = AnswerFigures()


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One message. ``version`` of ``versions`` counts from 1 among the siblings that answer the same parent.

    ``is_blind``: an answer of a model that reads text only, so that no image was sent to it.
    """

    id: int
    conversation_id: int
    parent_id: int | None
    role: Role
    text: str
    created_at: float
    state: AnswerState = AnswerState.DONE
    error: str = ""
    model: str = ""
    thinking_s: float | None = None
    attachments: tuple[Attachment, ...] = ()
    images: tuple[StoredImage, ...] = ()
    is_blind: bool = False
    figures: AnswerFigures = field(default_factory=AnswerFigures)
    version: int = 1
    versions: int = 1


@dataclass(frozen=True, slots=True)
class Conversation:
    """One chat without its messages. ``context_start_id``: what precedes that message is not sent to the model."""

    id: int
    title: str
    is_title_manual: bool
    created_at: float
    updated_at: float
    folder_id: int | None = None
    is_pinned: bool = False
    is_unread: bool = False
    is_working: bool = False
    model: str = ""
    system_prompt: str = ""
    thinking: bool | None = None
    sampling: SamplingOptions = field(default_factory=SamplingOptions)
    context_start_id: int | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """What stands in the composer and was not sent."""

    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    images: tuple[StoredImage, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Nothing in it is worth sending."""
        return not (self.text.strip() or self.attachments or self.images)


@dataclass(frozen=True, slots=True)
class Folder:
    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Preset:
    """A system prompt and sampling under a name."""

    id: int
    name: str
    system_prompt: str
    sampling: SamplingOptions


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A conversation that matches; ``message_id`` None and an empty ``excerpt`` where its title matched."""

    conversation_id: int
    title: str
    message_id: int | None
    excerpt: str
    updated_at: float


@dataclass(frozen=True, slots=True)
class UnfinishedAnswer:
    """All it takes to go on: ``messages`` are the prompt, ``token_ids`` and ``text`` what arrived so far."""

    conversation_id: int
    message_id: int
    model: str
    messages: tuple[Message, ...]
    sampling: SamplingOptions
    thinking: bool | None
    token_ids: tuple[int, ...]
    text: str
    state: AnswerState


def sampling_to_json(sampling: SamplingOptions) -> str:
    """Only what differs from the defaults, so that a later default reaches old conversations."""
    default = _as_dict(SamplingOptions())
    return json.dumps({name: value for name, value in _as_dict(sampling).items() if value != default[name]})


def sampling_from_json(text: str | None) -> SamplingOptions:
    """Whatever is readable in it. A field that is unknown or out of range is left at its default."""
    options = SamplingOptions()
    for name, value in _object(text).items():
        if name not in SamplingOptions.__dataclass_fields__:
            continue
        try:
            options = SamplingOptions(**{**_as_dict(options), name: value})
        except (InvalidRequest, TypeError):
            continue
    return options


def attachments_to_json(attachments: tuple[Attachment, ...]) -> str:
    return json.dumps([{"name": each.name, "text": each.text} for each in attachments], ensure_ascii=False)


def attachments_from_json(text: str | None) -> tuple[Attachment, ...]:
    if text == "[]":
        return ()
    return tuple(Attachment(str(each.get("name", "")), str(each.get("text", ""))) for each in _objects(text))


def images_to_json(images: tuple[StoredImage, ...]) -> str:
    return json.dumps([asdict(each) for each in images], ensure_ascii=False)


def images_from_json(text: str | None) -> tuple[StoredImage, ...]:
    """Those that say which file they are."""
    if text == "[]":
        return ()
    return tuple(
        StoredImage(str(each.get("name", "")), str(each["file"]), _whole(each.get("width")), _whole(each.get("height")))
        for each in _objects(text)
        if each.get("file")
    )


def figures_to_json(figures: AnswerFigures) -> str:
    return json.dumps({each.name: getattr(figures, each.name) for each in fields(figures)})


def figures_from_json(text: str | None) -> AnswerFigures:
    if text == "{}":
        return _NO_FIGURES
    values = _object(text)
    return AnswerFigures(
        tokens=int(_number(values.get("tokens")) or 0),
        prompt_tokens=int(_number(values.get("prompt_tokens")) or 0),
        first_token_s=_number(values.get("first_token_s")),
        s_per_token=_number(values.get("s_per_token")),
        total_s=_number(values.get("total_s")),
        stop_reason=str(values.get("stop_reason") or ""),
    )


def _whole(value: object) -> int:
    return max(int(_number(value) or 0), 0)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _as_dict(options: SamplingOptions) -> dict[str, Any]:
    return {each.name: getattr(options, each.name) for each in fields(options)}


def _object(text: str | None) -> dict[str, Any]:
    parsed = _parsed(text)
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}


def _objects(text: str | None) -> list[dict[str, Any]]:
    parsed = _parsed(text)
    entries = cast("list[object]", parsed) if isinstance(parsed, list) else []
    return [cast("dict[str, Any]", each) for each in entries if isinstance(each, dict)]


def _parsed(text: str | None) -> object:
    try:
        return json.loads(text) if text else None
    except (TypeError, ValueError):
        return None
