"""Code in colours: Pygments' token kinds in a few shades that keep their contrast in the light and the dark theme."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Literal, Name, Number, Operator, Punctuation, String
from pygments.util import ClassNotFound

from app.tokens import Tokens

# Colouring a longer piece takes longer than a frame.
_MAX_COLOURED = 60_000


@dataclass(frozen=True, slots=True)
class ColouredRun:
    """``length`` characters from ``start`` in one colour."""

    start: int
    length: int
    colour: str
    is_italic: bool = False


@dataclass(frozen=True, slots=True)
class _Shades:
    keyword: str
    string: str
    number: str
    name: str
    comment: str


_LIGHT = _Shades(keyword="#8a3d8f", string="#2f6b2f", number="#9a4a12", name="#1f5fa8", comment="#6b665e")
_DARK = _Shades(keyword="#d3a0dd", string="#9ccf94", number="#e8b184", name="#8fbdf0", comment="#9d968d")


def coloured_runs(code: str, language: str, tokens: Tokens) -> list[ColouredRun]:
    """The runs that differ from plain text, in order. None for a language that is not known."""
    lexer = _lexer(language.lower()) if language and len(code) <= _MAX_COLOURED else None
    if lexer is None:
        return []
    shades = _DARK if tokens.is_dark else _LIGHT
    runs: list[ColouredRun] = []
    for start, kind, value in lexer.get_tokens_unprocessed(code):
        colour = _colour(kind, shades, tokens)
        if colour and value.strip():
            runs.append(ColouredRun(start, len(value), colour, kind in Comment))
    return runs


def code_html(code: str, language: str, tokens: Tokens) -> str:
    """For code inside other text. White space is kept by the ``pre`` around it."""
    parts: list[str] = []
    end = 0
    for run in coloured_runs(code, language, tokens):
        parts.append(escape(code[end : run.start]))
        end = run.start + run.length
        parts.append(f'<span style="color:{run.colour};">{escape(code[run.start : end])}</span>')
    return "".join([*parts, escape(code[end:])])


def language_title(language: str) -> str:
    """As people write it: ``py`` is Python."""
    lexer = _lexer(language.lower()) if language else None
    return str(lexer.name) if lexer is not None else language


@cache
def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _colour(kind: Any, shades: _Shades, tokens: Tokens) -> str:
    if kind in Comment:
        return shades.comment
    if kind in Keyword or kind in Operator.Word:
        return shades.keyword
    if kind in String:
        return shades.string
    if kind in Number or kind in Literal:
        return shades.number
    if (
        kind in Name.Function
        or kind in Name.Class
        or kind in Name.Tag
        or kind in Name.Decorator
        or kind in Name.Builtin
    ):
        return shades.name
    if kind in Punctuation or kind in Operator:
        return tokens.text_muted
    return ""
