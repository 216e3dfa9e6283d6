"""The images of all conversations, each once: a file named by the sha256 of its contents. No Qt.

Owns the folder. A file is whole or not there: it is written beside its place, flushed and renamed. Any thread may
call. Must not know which conversation an image is in, nor what it shows.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

_SIGNATURES = {b"\x89PNG\r\n\x1a\n": ".png", b"\xff\xd8\xff": ".jpg"}
_UNFINISHED = ".part"


class ImageFolder:
    def __init__(self, folder: Path) -> None:
        """Made when the first image comes."""
        self._folder = folder

    def add(self, data: bytes) -> str:
        """The name of the file that holds exactly ``data`` from now on. Raises ``OSError``, and ``ValueError`` for
        what does not begin as a PNG, JPEG or WebP file does.
        """
        suffix = image_suffix(data)
        if suffix is None:
            raise ValueError("not the contents of a PNG, JPEG or WebP file")
        name = hashlib.sha256(data).hexdigest() + suffix
        try:
            os.utime(self.path(name))  # it is needed again: see ``remove_unused``
        except FileNotFoundError:
            self._folder.mkdir(parents=True, exist_ok=True)
            beside = self._folder / f"{uuid.uuid4().hex}{_UNFINISHED}"
            try:
                with beside.open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                beside.replace(self.path(name))
            finally:
                beside.unlink(missing_ok=True)
        return name

    def path(self, name: str) -> Path:
        """Where the image of that name is; only the last part of ``name`` counts."""
        return self._folder / Path(name).name

    def remove_unused(self, used: Collection[str], before: float) -> None:
        """Deletes what nobody uses and nobody has added since ``before`` (as ``time.time`` counts), also what was
        left half written.
        """
        for path in self._files():
            with suppress(OSError):  # the next start tries again
                if path.name not in used and path.stat().st_mtime < before:
                    path.unlink()

    def _files(self) -> Iterator[Path]:
        """Our own files only."""
        with suppress(OSError):
            for path in self._folder.iterdir():
                if path.suffix in {".png", ".jpg", ".webp", _UNFINISHED} and path.is_file():
                    yield path


def image_suffix(data: bytes) -> str | None:
    """What kind of image file begins like this; None for any that models are not given."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return ".webp"
    return next((suffix for signature, suffix in _SIGNATURES.items() if data.startswith(signature)), None)
