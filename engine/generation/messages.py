"""What a conversation is made of, and what becomes of it before a model. Plain: loads nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation, as plain text."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What goes into the model. ``text`` is the template's output that ``ids`` stand for.

    Keep it beside the session: the next turn is encoded against it. In ``text``, U+FDD0 splits special tokens
    that a message merely quotes.
    """

    text: str
    ids: tuple[int, ...]
