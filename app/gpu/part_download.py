"""One archive from a server to the disk: gone on with by range, tried again with patience, believed only by its digest.

Runs in the thread of whoever calls; ``interrupt`` may come from another. Must not know what is in the archive.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from PySide6.QtCore import QCoreApplication

from app.signed_list import Part
from app.web import explain_web, socket_of
from engine.errors import DamagedFile, EngineError, HubBusy, HubUnreachable

if TYPE_CHECKING:
    import httpx2

WAITS_S = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Before another try, as long as nothing has come since the last one."""
DAMAGED_TRIES = 3
ETAG_SUFFIX = ".etag"
_CHUNK_BYTES = 1 << 18


class Interrupted(Exception):
    """The user wants no more of it. What has come is kept."""


class PartDownload:
    """``part`` into ``file``; until it is whole and sound it is ``file`` with ``.part`` behind its name.

    ``advanced`` gets the bytes that are there; ``said`` a sentence when something is tried again, "" when it goes on.
    """

    def __init__(
        self,
        part: Part,
        file: Path,
        client: httpx2.Client,
        *,
        stop: threading.Event,
        advanced: Callable[[int], None],
        said: Callable[[str], None],
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self._part = part
        self._file = file
        self._partial = partial_file(file)
        self._validator_file = file.with_name(f"{file.name}{ETAG_SUFFIX}")
        self._client = client
        self._stop = stop
        self._advanced = advanced
        self._said = said
        self._wait = wait or stop.wait
        self._socket: socket.socket | None = None

    def fetch(self) -> None:
        """Returns at once where it is there. Raises ``EngineError``, ``OSError`` of the drive, ``Interrupted``."""
        if self._file.exists():
            return
        failures = damaged = 0
        while True:
            before = _size(self._partial)
            try:
                if self._fetch_rest():
                    self._put()
                    return
                damaged += 1
                self._discard(damaged)
            except (HubUnreachable, HubBusy) as error:
                self._raise_if_stopped()
                failures = 0 if _size(self._partial) > before else failures
                if failures >= len(WAITS_S):
                    raise
                self._said(error.message)
                self._wait(WAITS_S[failures])
                failures += 1
            self._raise_if_stopped()

    def interrupt(self) -> None:
        """After ``stop`` was set: breaks off what is being waited for."""
        connection = self._socket
        if connection is not None:
            try:
                # Below its encryption: an encrypted one's own shutdown takes the keys from whoever reads just now.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
            except OSError:
                return

    def _fetch_rest(self) -> bool:
        """Whether the whole file is there and what the list says it is."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._partial.open("a+b") as file:
            digest = self._hash_what_is_there(file)
            if file.tell() < self._part.nbytes:
                digest = self._receive(file, digest)
            file.flush()
            os.fsync(file.fileno())
            if file.tell() < self._part.nbytes:
                raise explain_short(self._part.url)
            return digest.hexdigest() == self._part.sha256

    def _hash_what_is_there(self, file: BinaryIO) -> hashlib._Hash:  # pyright: ignore[reportPrivateUsage]
        digest = hashlib.sha256()
        if _size(self._partial) > self._part.nbytes:
            file.truncate(0)
        file.seek(0)
        while piece := file.read(_CHUNK_BYTES):
            self._raise_if_stopped()
            digest.update(piece)
        self._advanced(file.tell())
        return digest

    def _receive(self, file: BinaryIO, digest: hashlib._Hash) -> hashlib._Hash:  # pyright: ignore[reportPrivateUsage]
        """The digest of all that is in the file then. What the server sends beyond the end is not taken."""
        import httpx2

        try:
            with self._client.stream("GET", self._part.url, headers=self._range_of(file.tell())) as response:
                self._socket = socket_of(response)
                self._raise_if_stopped()  # whoever stopped it before had no connection to break off
                if response.status_code == 416:  # no such range: another file than before
                    self._restart(file)
                    raise explain_short(self._part.url)
                response.raise_for_status()
                if file.tell() and not _continues(response, file.tell()):
                    self._restart(file)
                    digest = hashlib.sha256()
                self._note_validator(response)
                self._said("")
                for chunk in response.iter_raw():
                    self._raise_if_stopped()
                    data = chunk[: self._part.nbytes - file.tell()]
                    file.write(data)
                    digest.update(data)
                    self._advanced(file.tell())
                    if file.tell() == self._part.nbytes:
                        break
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            self._raise_if_stopped()
            raise explain_web(error, self._part.url) from error
        finally:
            self._socket = None
        return digest

    def _range_of(self, start: int) -> dict[str, str]:
        """If the server's file is another by now, it sends all of it."""
        if not start:
            return {}
        headers = {"Range": f"bytes={start}-"}
        with suppress(OSError, ValueError):  # without a strong one the digest decides in the end
            headers["If-Range"] = json.loads(self._validator_file.read_text(encoding="utf-8"))
        return headers

    def _note_validator(self, response: httpx2.Response) -> None:
        etag = response.headers.get("ETag", "")
        if etag and etag.isascii() and not etag.startswith("W/"):
            self._validator_file.write_text(json.dumps(etag), encoding="utf-8")
        else:
            self._validator_file.unlink(missing_ok=True)

    def _restart(self, file: BinaryIO) -> None:
        file.truncate(0)
        file.seek(0)
        self._advanced(0)

    def _put(self) -> None:
        self._partial.replace(self._file)
        self._validator_file.unlink(missing_ok=True)

    def _discard(self, damaged: int) -> None:
        self._partial.unlink()
        self._validator_file.unlink(missing_ok=True)
        self._advanced(0)
        if damaged >= DAMAGED_TRIES:
            raise DamagedFile(
                QCoreApplication.translate("Gpu", "The download arrived damaged {count} times.").format(count=damaged),
                QCoreApplication.translate("Gpu", "Try again later, or on another network. Nothing has changed."),
                files=(self._file.name,),
            )
        self._said(QCoreApplication.translate("Gpu", "A part arrived damaged, so it is fetched again."))

    def _raise_if_stopped(self) -> None:
        if self._stop.is_set():
            raise Interrupted


def partial_file(file: Path) -> Path:
    return file.with_name(f"{file.name}.part")


def bytes_there(file: Path) -> int:
    """Of a download that is whole, or under way."""
    return _size(file) or _size(partial_file(file))


def explain_short(url: str) -> EngineError:
    import httpx2

    return explain_web(httpx2.ReadError("ended early"), url)


def _continues(response: httpx2.Response, start: int) -> bool:
    return response.status_code == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {start}-")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
