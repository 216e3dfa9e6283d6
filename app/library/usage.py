"""When a model was last used, in words."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import QCoreApplication

from app.days import day_text


def used_text(used_at: float | None, now: datetime) -> str:
    """``last used yesterday``; with the year only where it is another one."""
    if used_at is None:
        return QCoreApplication.translate("Library", "not used yet")
    day = datetime.fromtimestamp(used_at).date()
    days = (now.date() - day).days
    if days <= 0:
        return QCoreApplication.translate("Library", "last used today")
    if days == 1:
        return QCoreApplication.translate("Library", "last used yesterday")
    said = day_text(day, with_year=day.year != now.year)
    return QCoreApplication.translate("Library", "last used on {day}").format(day=said)
