"""What a conversation is made of, and what becomes of it before a model. Plain: loads nothing heavy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Role = Literal["system", "user", "assistant"]

ImageSource = Path | bytes
"""An image file (PNG, JPEG or WebP), or the whole contents of one."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation: plain text, and the images a user puts before it."""

    role: Role
    text: str
    images: tuple[ImageSource, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """What goes into the model. ``text`` is the template's output that ``ids`` stand for.

    Keep it beside the session: the next turn is encoded against it. In ``text``, U+FDD0 splits special tokens
    that a message merely quotes. ``images`` are the sha256 of the conversation's images, in order;
    ``image_inputs`` what the model's processor made of them, by the model's own argument names; from
    ``text_starts`` on, ``ids`` are text alone.
    """

    text: str
    ids: tuple[int, ...]
    images: tuple[str, ...] = ()
    image_inputs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    text_starts: int = 0
