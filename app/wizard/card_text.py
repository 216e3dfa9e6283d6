"""A model card as it can be read: its Markdown without the table of settings at its top and without web markup. Pure.

Cards are written for a web page. Pictures are left out: nothing of a card is fetched.
"""

from __future__ import annotations

import re
from html import unescape

_FRONT_MATTER = re.compile(r"\A\ufeff?\s*---\s*\n.*?\n(?:---|\.\.\.)\s*(?:\n|\Z)", re.DOTALL)
_FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,}).*?(?:^ {0,3}\2[`~]*\s*$|\Z)", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_SILENT = re.compile(r"<(script|style|svg|video|audio|iframe)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_LINKED_IMAGE = re.compile(r"\[\s*!\[[^\]]*\]\([^)]*\)\s*\]\([^)]*\)")
_IMAGE = re.compile(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])")
_LINK = re.compile(r"<a\b[^>]*?href\s*=\s*[\"']([^\"']*)[\"'][^>]*>(.*?)</a\s*>", re.DOTALL | re.IGNORECASE)
_HEADING = re.compile(r"<h([1-6])\b[^>]*>(.*?)</h\1\s*>", re.DOTALL | re.IGNORECASE)
_STRONG = re.compile(r"</?(?:b|strong)\s*>", re.IGNORECASE)
_CODE = re.compile(r"</?code\s*>", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*/?>|</?(?:p|div|center|details|summary|table|tr|ul|ol)\b[^>]*>", re.IGNORECASE)
_ITEM = re.compile(r"<li\b[^>]*>", re.IGNORECASE)
_CELL_END = re.compile(r"</t[dh]\s*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z][a-z0-9-]*(?:\s[^<>]*)?/?>", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")


def readable_card(card: str) -> str:
    """Code stays as it is written."""
    text = _FRONT_MATTER.sub("", card.replace("\r\n", "\n"), count=1)
    parts: list[str] = []
    end = 0
    for fence in _FENCE.finditer(text):
        parts += [_without_markup(text[end : fence.start()]), fence[0]]
        end = fence.end()
    parts.append(_without_markup(text[end:]))
    return "".join(parts).strip()


def _without_markup(text: str) -> str:
    text = _SILENT.sub("", _COMMENT.sub("", text))
    text = _IMAGE.sub("", _LINKED_IMAGE.sub("", text))
    text = _LINK.sub(_link, text)
    text = _HEADING.sub(lambda found: f"\n{'#' * int(found[1])} {_one_line(found[2])}\n", text)
    text = _CODE.sub("`", _STRONG.sub("**", text))
    text = _ITEM.sub("\n- ", _CELL_END.sub(" ", _BREAK.sub("\n\n", text)))
    return _BLANK_LINES.sub("\n\n", unescape(_TAG.sub("", text)))


def _link(found: re.Match[str]) -> str:
    """One around a picture alone says nothing without it."""
    text = _one_line(found[2])
    return f"[{text}]({found[1].strip()})" if text else ""


def _one_line(markup: str) -> str:
    return " ".join(_TAG.sub("", markup).split())
