"""What a model costs, as a sentence in time: "Runs from your disk, about 1.4 s per token, 7 min for …".

Pure functions from numbers to translated text. Never says that a model won't fit: it says how long it takes, or,
where not even one block fits, what is missing with both numbers. Knows no widgets.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.estimates import TYPICAL_ANSWER_TOKENS, Estimate, Pace, Shortage
from engine.api import ModelPlan
from engine.quantities import format_size

UNKNOWN = "?"
"""In place of a figure that could not be measured."""


def pace_text(pace: Pace) -> str:
    """One or two words, for a tag."""
    texts = {
        Pace.INSTANT: QCoreApplication.translate("Verdicts", "Instant"),
        Pace.COMFORTABLE: QCoreApplication.translate("Verdicts", "Comfortable"),
        Pace.SLOW: QCoreApplication.translate("Verdicts", "Slow"),
        Pace.OVERNIGHT: QCoreApplication.translate("Verdicts", "Overnight"),
        Pace.DAYS: QCoreApplication.translate("Verdicts", "For days"),
    }
    return texts[pace]


def verdict(found: Estimate | Shortage) -> str:
    """The sentence for a model of the catalogue or the library."""
    if isinstance(found, Shortage):
        return shortage_verdict(found.need, found.have)
    return time_verdict(found.s_per_token, found.streamed_bytes)


def plan_verdict(plan: ModelPlan) -> str:
    """The sentence for a model whose files the engine has looked at."""
    return time_verdict(plan.predicted_s_per_token, plan.streamed_bytes)


def time_verdict(s_per_token: float | None, streamed_bytes: int) -> str:
    """``s_per_token`` is None where the disk's speed could not be measured."""
    token, answer = duration_text(s_per_token), duration_text(answer_s(s_per_token))
    if streamed_bytes:
        return QCoreApplication.translate(
            "Verdicts", "Runs from your disk, about {token} per token, {answer} for a typical answer"
        ).format(token=token, answer=answer)
    return QCoreApplication.translate(
        "Verdicts", "Runs from memory, about {token} per token, {answer} for a typical answer"
    ).format(token=token, answer=answer)


def shortage_verdict(need: int, have: int) -> str:
    return QCoreApplication.translate(
        "Verdicts", "One block of this model needs {need} of memory at a time; {have} are free for it now"
    ).format(need=format_size(need), have=format_size(have))


def disk_verdict(peak: int, free: int, floor: int) -> str | None:
    """None where the drive has room for ``peak`` more bytes and ``floor`` beyond them."""
    if peak + floor <= free:
        return None
    return QCoreApplication.translate(
        "Verdicts", "This needs {need} on the drive while it is prepared and {floor} kept free; {have} are free"
    ).format(need=format_size(peak), floor=format_size(floor), have=format_size(free))


def answer_s(s_per_token: float | None) -> float | None:
    """Seconds for a typical answer."""
    return None if s_per_token is None else s_per_token * TYPICAL_ANSWER_TOKENS


def speed_text(bytes_per_second: float | None) -> str:
    if bytes_per_second is None:
        return UNKNOWN
    return QCoreApplication.translate("Verdicts", "{size}/s").format(size=format_size(bytes_per_second))


def reads_text(bytes_per_second: float) -> str:
    return QCoreApplication.translate("Verdicts", "Reads {size} a second").format(size=format_size(bytes_per_second))


def counted_text(seconds: float) -> str:
    """Of something that is being counted, in whole seconds: tenths would flicker."""
    if seconds >= 9.5:
        return duration_text(seconds)
    return QCoreApplication.translate("Verdicts", "{seconds} s").format(seconds=f"{seconds:.0f}")


def duration_text(seconds: float | None) -> str:
    """Coarse enough to read at a glance: ``3 ms``, ``0.04 s``, ``42 s``, ``4 min``, ``2 h 10 min``, ``2 d 3 h``.

    Below a hundredth of a second in milliseconds: 300 tokens of what was rounded up to 0.01 s would not add up.
    """
    if seconds is None:
        return UNKNOWN
    if 0 < seconds < 0.0095:
        decimals = 1 if seconds < 0.00095 else 0
        shown = max(1000 * seconds, 0.1)
        return QCoreApplication.translate("Verdicts", "{milliseconds} ms").format(milliseconds=f"{shown:.{decimals}f}")
    if seconds < 90:
        decimals = 2 if seconds < 0.095 else 1 if seconds < 9.95 else 0
        return QCoreApplication.translate("Verdicts", "{seconds} s").format(seconds=f"{seconds:.{decimals}f}")
    minutes = round(seconds / 60)
    if minutes < 90:
        return QCoreApplication.translate("Verdicts", "{minutes} min").format(minutes=minutes)
    if minutes < 48 * 60:
        hours, minutes = divmod(minutes, 60)
        return QCoreApplication.translate("Verdicts", "{hours} h {minutes} min").format(hours=hours, minutes=minutes)
    days, minutes = divmod(minutes, 24 * 60)
    return QCoreApplication.translate("Verdicts", "{days} d {hours} h").format(days=days, hours=minutes // 60)
