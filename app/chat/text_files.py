"""Text files as attachments: read as UTF-8 within limits, refused with a sentence otherwise. No Qt widgets."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QCoreApplication

from app.conversations.records import Attachment
from engine.errors import EngineError
from engine.quantities import format_size

MAX_BYTES = 1_000_000


class UnreadableFile(EngineError):
    """A file that cannot go with a question."""


def read_file(path: Path, most_bytes: int) -> bytes:
    """All of it. Raises ``UnreadableFile`` for what is too big or not there."""
    try:
        size = path.stat().st_size
        if size > most_bytes:
            raise _too_big(path.name, size, most_bytes)
        return path.read_bytes()
    except OSError as error:
        raise UnreadableFile(
            QCoreApplication.translate("TextFiles", "“{name}” cannot be read.").format(name=path.name),
            detail=repr(error),
        ) from error


def text_attachment(name: str, data: bytes) -> Attachment:
    """Raises ``UnreadableFile`` for what is too big or no text."""
    if len(data) > MAX_BYTES:
        raise _too_big(name, len(data), MAX_BYTES)
    encoding = "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = "\x00"
    if "\x00" in text:
        raise UnreadableFile(
            QCoreApplication.translate("TextFiles", "“{name}” is not a text file.").format(name=name),
            QCoreApplication.translate("TextFiles", "Attach files of plain text, code or data."),
        )
    return Attachment(name, text.replace("\r\n", "\n"))


def _too_big(name: str, size: int, limit: int) -> UnreadableFile:
    return UnreadableFile(
        QCoreApplication.translate("TextFiles", "“{name}” has {size}; up to {limit} can be attached.").format(
            name=name, size=format_size(size), limit=format_size(limit)
        ),
        QCoreApplication.translate("TextFiles", "Copy the part you need into the message."),
    )
