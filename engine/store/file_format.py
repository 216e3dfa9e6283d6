"""What a file is, judged by its first bytes: weights, or one of the things people find saved in their place. No torch.

Every check reads at most a few kilobytes, so a wrong file of any size is recognised at once.
"""

from __future__ import annotations

import os
import re
from enum import StrEnum
from pathlib import Path

from engine.errors import SourceError

HEAD_BYTES = 512
DOWNLOAD_AGAIN = "Download this file again."


class FileFormat(StrEnum):
    """``PICKLE`` is any file torch.save writes; ``UNKNOWN`` is anything that is not listed here."""

    GGUF = "GGUF"
    SAFETENSORS = "safetensors"
    PICKLE = "pickle"
    HTML = "html"
    LFS_POINTER = "lfs"
    EMPTY = "empty"
    UNKNOWN = "unknown"


def read_head(path: Path) -> bytes:
    """The first bytes of a file. Raises ``SourceError`` where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        raise SourceError(
            f"{path.name} cannot be read: {os.strerror(error.errno or 0)}.",
            "Check that the file is there and that you may read it.",
            detail=repr(error),
        ) from error


def recognise(head: bytes) -> FileFormat:
    """What the first ``HEAD_BYTES`` of a file say it is."""
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not head:
        return FileFormat.EMPTY
    if head.startswith(b"GGUF"):
        return FileFormat.GGUF
    if head.startswith(b"version https://git-lfs.github.com/spec/"):
        return FileFormat.LFS_POINTER
    if text.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<!--")):
        return FileFormat.HTML
    # Length of the header, then its JSON. A length with bytes above 2^40 cannot be one.
    if len(head) > 8 and head[5:8] == b"\0\0\0" and head[8:9] == b"{":
        return FileFormat.SAFETENSORS
    if head.startswith((b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04")):
        return FileFormat.PICKLE
    return FileFormat.UNKNOWN


def require_format(path: Path, wanted: FileFormat) -> None:
    """Raises ``SourceError`` that names the file and says what it is instead of ``wanted``."""
    head = read_head(path)
    found = recognise(head)
    if found is wanted:
        return
    size = path.stat().st_size
    if found is FileFormat.HTML:
        raise SourceError(
            f"{path.name} is a web page (HTML), not weights: what was saved is an error or a login page.",
            DOWNLOAD_AGAIN + " A model behind a licence needs you to be logged in.",
        )
    if found is FileFormat.LFS_POINTER:
        match = re.search(rb"size (\d+)", head)
        stands_for = f" It stands for {int(match[1]):,} bytes." if match else ""
        raise SourceError(
            f"{path.name} is a git-lfs pointer ({size} bytes): the real file was never downloaded.{stands_for}",
            "Run “git lfs pull” in that folder, or download the file again.",
        )
    if found is FileFormat.EMPTY:
        raise SourceError(f"{path.name} is empty (0 bytes).", DOWNLOAD_AGAIN)
    raise SourceError(
        f"{path.name} ({size:,} bytes) is not a {wanted.value} file"
        + (f": it is a {found.value} file." if found is not FileFormat.UNKNOWN else "."),
        DOWNLOAD_AGAIN,
        detail=f"first bytes {head[:32]!r}",
    )
