"""The hours in which jobs may start by themselves. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta


@dataclass(frozen=True, slots=True)
class NightHours:
    """From ``start`` until before ``end``, over midnight where ``end`` is earlier. Equal times mean the whole day."""

    start: time
    end: time

    @classmethod
    def parse(cls, start: str, end: str) -> NightHours:
        """``"23:00"`` and ``"07:00"``, as the settings hold them."""
        return cls(time.fromisoformat(start), time.fromisoformat(end))

    def contains(self, moment: datetime) -> bool:
        now = moment.time()
        if self.start < self.end:
            return self.start <= now < self.end
        if self.start > self.end:
            return now >= self.start or now < self.end
        return True

    def next_start(self, moment: datetime) -> datetime:
        """The moment itself where it is night already."""
        if self.contains(moment):
            return moment
        today = datetime.combine(moment.date(), self.start, moment.tzinfo)
        return today if today > moment else today + timedelta(days=1)
