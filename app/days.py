"""Days in words, as the language has them."""

from __future__ import annotations

from datetime import date

from PySide6.QtCore import QDate, QLocale


def day_text(day: date, *, with_year: bool) -> str:
    """``14 March 2026``: the system's long form has the weekday too, which is too much in a line."""
    if QLocale().language() is QLocale.Language.Chinese:
        form = "yyyy年M月d日" if with_year else "M月d日"
    else:
        form = "d MMMM yyyy" if with_year else "d MMMM"
    return QLocale().toString(QDate(day.year, day.month, day.day), form)
