"""A long job in the terminal: one line that says what is done, how fast, and how long it still takes."""

from __future__ import annotations

import sys
import time

from engine.events import Event, JobProgress, Loaded, LoadProgress, Notice
from engine.quantities import format_duration, format_size

_OF_FILES = ("checking", "downloading", "waiting", "paused")


class JobLine:
    """Redraws one line on standard error. Where that is no terminal, it prints a line every ten seconds."""

    def __init__(self) -> None:
        self._is_live = sys.stderr.isatty()
        self._interval_s = 0.1 if self._is_live else 10.0
        self._last = -self._interval_s
        self._is_drawn = False

    def show(self, event: Event) -> None:
        if isinstance(event, Notice):
            self.clear()
            print(event.text, file=sys.stderr)
            return
        text = describe_job(event)
        if text is None or time.monotonic() - self._last < self._interval_s:
            return
        self._last = time.monotonic()
        if self._is_live:
            sys.stderr.write(f"\r{text}\x1b[K")
            self._is_drawn = True
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def clear(self) -> None:
        if self._is_drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._is_drawn = False


def describe_job(event: Event) -> str | None:
    if isinstance(event, JobProgress):
        parts = [event.phase]
        if event.blocks:
            parts.append(f"{'file' if event.phase in _OF_FILES else 'block'} {event.block} of {event.blocks}")
        if event.bytes_total:
            parts.append(f"{format_size(event.bytes_done)} of {format_size(event.bytes_total)}")
        if event.bytes_per_second:
            parts.append(f"{format_size(event.bytes_per_second)}/s")
        if event.seconds_left is not None:
            parts.append(f"about {format_duration(event.seconds_left)} left")
        return " · ".join(parts)
    if isinstance(event, LoadProgress):
        return f"loading · {format_size(event.bytes_done)} of {format_size(event.bytes_total)}"
    if isinstance(event, Loaded) and event.streamed_bytes:
        kept = event.device_bytes + event.host_bytes
        line = f"{format_size(kept)} stay in memory, {format_size(event.streamed_bytes)} stream for every token"
        if event.predicted_s_per_token is not None:
            line += f" · about {format_duration(event.predicted_s_per_token)} a token"
        return line
    return None
