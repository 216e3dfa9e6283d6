"""Text files as attachments: read as UTF-8 within limits, refused with a sentence otherwise. No Qt widgets."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QCoreApplication

from app.conversations.records import Attachment
from engine.errors import EngineError
from engine.quantities import format_size

MAX_BYTES = 1_000_000
MAX_FILES = 20


class UnreadableFile(EngineError):
    """A file that cannot go with a question."""


def read_text_file(path: Path) -> Attachment:
    """Raises ``UnreadableFile`` for what is too big, no text, or not there."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise UnreadableFile(
                QCoreApplication.translate("TextFiles", "“{name}” has {size}; up to {limit} can be attached.").format(
                    name=path.name, size=format_size(size), limit=format_size(MAX_BYTES)
                ),
                QCoreApplication.translate("TextFiles", "Copy the part you need into the message."),
            )
        raw = path.read_bytes()
    except OSError as error:
        raise UnreadableFile(
            QCoreApplication.translate("TextFiles", "“{name}” cannot be read.").format(name=path.name),
            detail=repr(error),
        ) from error
    return Attachment(path.name, _decode(path.name, raw))


def _decode(name: str, raw: bytes) -> str:
    encoding = "utf-16" if raw[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        text = "\x00"
    if "\x00" in text:
        raise UnreadableFile(
            QCoreApplication.translate("TextFiles", "“{name}” is not a text file.").format(name=name),
            QCoreApplication.translate("TextFiles", "Attach files of plain text, code or data."),
        )
    return text.replace("\r\n", "\n")
