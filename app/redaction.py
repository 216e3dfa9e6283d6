"""Takes secrets out of text before it is logged or copied: known values, and what looks like one. Pure, no Qt."""

from __future__ import annotations

import re
from collections.abc import Iterable

HIDDEN = "[removed]"

_HUB_TOKEN = re.compile(r"\bhf_[A-Za-z0-9]{8,}")
_AUTHORIZATION = re.compile(r"(?i)\b(authorization\W{1,4}(?:bearer|basic|token)?\s*|bearer\s+)[A-Za-z0-9._~+/=-]{8,}")
_URL_PASSWORD = re.compile(r"(://)[^/\s:@]+:[^/\s@]+@")
_NAMED_VALUE = re.compile(r"(?i)\b((?:[a-z_]*token|api_?key|password|secret)[\"']?\s*[=:]\s*[\"']?)[^\s\"',;)\]}]{6,}")


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """``text`` without these secrets, hub tokens, authorization headers and passwords in addresses."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, HIDDEN)
    text = _HUB_TOKEN.sub(HIDDEN, text)
    text = _AUTHORIZATION.sub(rf"\g<1>{HIDDEN}", text)
    text = _URL_PASSWORD.sub(rf"\g<1>{HIDDEN}@", text)
    return _NAMED_VALUE.sub(rf"\g<1>{HIDDEN}", text)
