"""Small texts about an offer that the choice and the library share. Pure, translated."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.catalogue import CatalogueEntry
from app.estimates import Pace
from engine.quantities import format_size

PACE_ROLES = {
    Pace.INSTANT: "badge",
    Pace.COMFORTABLE: "badge",
    Pace.SLOW: "badge-muted",
    Pace.OVERNIGHT: "badge-warning",
    Pace.DAYS: "badge-warning",
}
"""The look of a pace's tag, by ``app.stylesheet``."""


def size_text(nbytes: int, *, is_approximate: bool = False) -> str:
    size = format_size(nbytes)
    return QCoreApplication.translate("Offers", "about {size}").format(size=size) if is_approximate else size


def parameters_text(entry: CatalogueEntry) -> str:
    """``8.2 billion parameters``, and how many of them work on a token where that is fewer."""
    total = _billions(entry.parameters)
    if entry.active_parameters == entry.parameters:
        return QCoreApplication.translate("Offers", "{total} billion parameters").format(total=total)
    return QCoreApplication.translate("Offers", "{total} billion parameters, {active} at work on each token").format(
        total=total, active=_billions(entry.active_parameters)
    )


def context_text(entry: CatalogueEntry) -> str:
    return QCoreApplication.translate("Offers", "conversations of up to {tokens} tokens").format(
        tokens=f"{entry.context:,}"
    )


def dtype_text(dtype: str) -> str:
    """The precision of weights, for people."""
    names = {
        "bfloat16": QCoreApplication.translate("Offers", "16-bit (bfloat16)"),
        "float16": QCoreApplication.translate("Offers", "16-bit (float16)"),
        "float32": QCoreApplication.translate("Offers", "32-bit (float32)"),
        "float8_e4m3fn": QCoreApplication.translate("Offers", "8-bit (FP8)"),
        "mxfp4": QCoreApplication.translate("Offers", "4-bit (MXFP4)"),
    }
    return names.get(dtype, dtype)


def _billions(parameters: int) -> str:
    billions = parameters / 1e9
    return f"{billions:.2f}" if billions < 1 else f"{billions:.1f}" if billions < 100 else f"{billions:.0f}"
