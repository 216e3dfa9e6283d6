"""What the engine says, in the user's language and in the window's own words.

Owns the matching: a sentence of the engine is recognised by its template, its numbers and names go into the translated
one. A sentence nobody knows is shown as it is. Must not know errors, events or pages: texts go in, texts come out.
"""

from __future__ import annotations

import re
from functools import cache

from PySide6.QtCore import QCoreApplication

from app.engine_advice import ENGINE_ADVICE
from app.engine_sentences import ENGINE_SENTENCES

_PLACEHOLDER = re.compile(r"\\\{(\w+)\\\}")
_SENTENCE_END = re.compile(r"(?<=\.) (?=\S)")
# What another program said may be several sentences; a name or a number is never the end of one.
_SENTENCES = ("reason", "cause_text")
_FREE = ".*?"
_WITHIN_SENTENCE = r"(?:(?!\.\s+[A-Z]).)*?"


def shown_text(text: str) -> str:
    """One or several sentences of the engine. Known ones are translated, also where they stand beside others."""
    said = _said(text)
    if said is not None:
        return said
    for end in _SENTENCE_END.finditer(text):
        said = _said(text[: end.start()])
        if said is not None:
            return _join(said, shown_text(text[end.end() :]))
    return text


def is_known(text: str) -> bool:
    """Whether every part of it has a template."""
    if _said(text) is not None:
        return True
    ends = list(_SENTENCE_END.finditer(text))
    return any(_said(text[: end.start()]) is not None and is_known(text[end.end() :]) for end in ends)


def _said(sentence: str) -> str | None:
    for pattern, words in _patterns():
        found = pattern.fullmatch(sentence)
        if found is not None:
            values = {
                name: shown_text(value) if name.endswith("_text") else value
                for name, value in found.groupdict().items()
            }
            return QCoreApplication.translate("Engine", words).format(**values)
    return None


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """The most telling first: "{file} is damaged." must not be found where something longer is meant."""
    words = {each: each for each in ENGINE_SENTENCES} | dict(ENGINE_ADVICE)
    templates = sorted(words, key=lambda template: -len(re.sub(r"\{\w+\}", "", template)))
    return tuple((_pattern(template), words[template]) for template in templates)


def _pattern(template: str) -> re.Pattern[str]:
    def group(found: re.Match[str]) -> str:
        name = found[1]
        return f"(?P<{name}>{_FREE if name in _SENTENCES else _WITHIN_SENTENCE})"

    return re.compile(_PLACEHOLDER.sub(group, re.escape(template)), re.DOTALL)


def _join(first: str, second: str) -> str:
    """Chinese sentences follow each other without a space."""
    return first + ("" if first.endswith(("。", "：")) else " ") + second
