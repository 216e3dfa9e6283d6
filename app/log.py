"""The log: one rotated file in the data folder, without secrets.

Owns the format and where it goes. Must not know what is logged. No Qt, except that Qt's messages arrive in it through
``app.crash``.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable
from logging.handlers import RotatingFileHandler
from pathlib import Path

from app.redaction import redacted

MAX_BYTES = 1_000_000
KEPT_FILES = 5
_FORMAT = "%(asctime)s %(levelname)-7s %(name)s [%(threadName)s] %(message)s"


class RedactingFormatter(logging.Formatter):
    """Formats the whole record, traceback included, then takes the secrets out."""

    def __init__(self, secrets: Callable[[], Iterable[str]]) -> None:
        super().__init__(_FORMAT)
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record), self._secrets())


def start_log(file: Path, secrets: Callable[[], Iterable[str]], *, level: int = logging.INFO) -> logging.Handler:
    """Logs to ``file`` from now on, and warnings to stderr where there is one. Raises ``OSError``."""
    handler = RotatingFileHandler(file, maxBytes=MAX_BYTES, backupCount=KEPT_FILES, encoding="utf-8", delay=True)
    handler.setFormatter(RedactingFormatter(secrets))
    root = logging.getLogger()
    root.setLevel(level)
    root.addHandler(handler)
    # It notes every address at INFO (2.16), and what a storage server signs there is as good as a password.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    # A windowed program on Windows has no stderr.
    if sys.stderr is not None:
        console = logging.StreamHandler(sys.stderr)
        console.setFormatter(RedactingFormatter(secrets))
        console.setLevel(logging.WARNING)
        root.addHandler(console)
    return handler


def last_lines(file: Path, count: int = 60) -> str:
    """The end of the log, for a report; empty where it cannot be read."""
    try:
        with file.open("rb") as opened:
            opened.seek(0, 2)
            opened.seek(max(opened.tell() - 200 * count, 0))
            lines = opened.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-count:])
