"""Days in words: when a model was last used, since when something counts."""

from __future__ import annotations

from datetime import date, datetime

from PySide6.QtCore import QCoreApplication, QDate, QLocale


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


def day_text(day: date, *, with_year: bool) -> str:
    """``14 March 2026``: the system's long form has the weekday too, which is too much in a line."""
    if QLocale().language() is QLocale.Language.Chinese:
        form = "yyyy年M月d日" if with_year else "M月d日"
    else:
        form = "d MMMM yyyy" if with_year else "d MMMM"
    return QLocale().toString(QDate(day.year, day.month, day.day), form)
