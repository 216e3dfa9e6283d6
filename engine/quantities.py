"""Sizes and durations as people write and read them. Pure."""

from __future__ import annotations

import re

from engine.errors import InvalidRequest

_UNITS = {
    "": 1, "B": 1,
    "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40,
    "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40,
}  # fmt: skip


def parse_size(text: str) -> int:
    """``4GiB``, ``800MB``, ``1.5 GB`` or plain bytes, as a number of bytes. Raises ``InvalidRequest``."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", text)
    factor = _UNITS.get(match[2].upper()) if match else None
    if match is None or factor is None:
        raise InvalidRequest(f"“{text}” is not a size.", "Write it like 4GiB, 800MB or 1500000000.")
    return int(float(match[1]) * factor)


def format_size(nbytes: float) -> str:
    """Decimal units with three significant digits, as drives are sold: ``41.2 GB``."""
    value = float(nbytes)
    for unit in ("B", "kB", "MB", "GB"):
        if abs(value) < 999.5:
            return f"{value:.0f} B" if unit == "B" else f"{_three_digits(value)} {unit}"
        value /= 1000
    return f"{_three_digits(value)} TB"


def format_duration(seconds: float) -> str:
    """Coarse enough to read at a glance: ``0.8 s``, ``42 s``, ``4 min``, ``2 h 10 min``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes // 1440} d {minutes % 1440 // 60} h"


def _three_digits(value: float) -> str:
    decimals = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:.{decimals}f}"
