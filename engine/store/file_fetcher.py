"""One file from the hub to the disk: resumed by range, tried again with patience, verified, refetched where bad.

Runs in the thread of whoever calls; ``interrupt`` may come from another one and takes effect at once. No torch.
"""

from __future__ import annotations

import errno
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2

from engine.cancel import CancelToken
from engine.errors import DamagedFile, EngineError, HubUnreachable
from engine.quantities import format_duration, format_size
from engine.store.download_folder import DownloadFolder
from engine.store.hub import HubClient, HubFile, HubRepo
from engine.store.hub_errors import explain_network
from engine.store.model_store import not_writable
from engine.store.original_files import nearest_existing
from engine.store.part_file import PartFile
from engine.store.patience import PASSING, Patience
from engine.store.transfer import Transfer

SEGMENT_BYTES = 8 << 30
"""Asked for at once. The hub's storage sends no answer of over 50 GB (``huggingface_hub`` 2.4); ranges always work."""
_ROOM_STEP_BYTES = 32 << 20
_ROOM_PAUSE_S = 2.0
_BAD_LIMIT = 3


class FileFetcher:
    """``floor_bytes`` stay free on the drive: below it the transfer pauses until there is room again."""

    def __init__(
        self,
        hub: HubClient,
        repo: HubRepo,
        folder: DownloadFolder,
        transfer: Transfer,
        *,
        stop: CancelToken,
        floor_bytes: int,
        patience: Patience,
        wait: Callable[[float], bool] | None = None,
        free_bytes: Callable[[Path], int] | None = None,
    ) -> None:
        self._hub = hub
        self._repo = repo
        self._folder = folder
        self._transfer = transfer
        self._stop = stop
        self._floor = floor_bytes
        self._patience = patience
        self._wait = wait or stop.wait
        self._free_bytes = free_bytes or (lambda path: shutil.disk_usage(nearest_existing(path)).free)
        self._socket: socket.socket | None = None

    def fetch(self, file: HubFile, head: bytes = b"") -> None:
        """``head`` are the file's first bytes, where they are known already.

        Raises ``HubError``, ``DamagedFile``, ``TargetNotWritable``, and ``Cancelled`` after ``interrupt``.
        """
        if self._folder.has(file.name):
            return
        bad = failures = 0
        while True:
            before = self._folder.bytes_there(file.name)
            try:
                if self._fetch_rest(file, head):
                    self._folder.put(file.name, self._repo.modified_ns)
                    return
                bad += 1
                self._discard(file, bad)
                head = b""
            except PASSING as error:
                self._stop.raise_if_cancelled()
                failures = 1 if self._folder.bytes_there(file.name) > before else failures + 1
                self._wait_after(error, failures)
            except OSError as error:
                self._explain_write(error)

    def interrupt(self) -> None:
        """Breaks the connection that is read from, so that ``fetch`` need not wait for its timeout."""
        connection = self._socket  # the thread that fetches may be done with it meanwhile
        if connection is not None:
            try:
                # Below its encryption: an encrypted one's own shutdown takes the keys from whoever reads just now.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
            except OSError:
                return

    def has_room(self, nbytes: int) -> bool:
        """Whether there is room for so much above the floor; says so where there is none."""
        free = self._free_bytes(self._folder.path)
        if free >= self._floor + nbytes:
            return True
        self._transfer.pause(
            f"Paused: {format_size(free)} are free on the drive of {self._folder.path.parent}, and "
            f"{format_size(self._floor)} stay free. It goes on when there is room."
        )
        return False

    def _fetch_rest(self, file: HubFile, head: bytes) -> bool:
        """Whether the file is whole and sound now."""
        self._room_for(min(file.size, _ROOM_STEP_BYTES))
        with PartFile(self._folder.part_of(file.name), file, self._stop) as part:
            if part.size == 0 and head:
                part.write(head[: file.size])
                self._transfer.advance(part.size)
            while part.size < file.size:
                self._fetch_segment(file, part, min(part.size + SEGMENT_BYTES, file.size))
            return part.is_sound()

    def _fetch_segment(self, file: HubFile, part: PartFile, end: int) -> None:
        start = part.size
        with self._hub.stream(self._repo, file, start, end) as (first, response):
            self._socket = _socket_of(response)
            try:
                if first != start:
                    self._transfer.advance(-start)
                    part.restart()
                self._stop.raise_if_cancelled()
                self._transfer.flow()
                self._write_body(response, part, end)
            except httpx2.HTTPError as error:
                self._stop.raise_if_cancelled()
                raise explain_network(error, self._hub.access, str(response.url)) from error
            finally:
                self._socket = None
        if part.size == start:
            raise HubUnreachable("The hub sent nothing.", "Try again later; what is already there is kept.")

    def _write_body(self, response: httpx2.Response, part: PartFile, end: int) -> None:
        checked_at = part.size
        for chunk in response.iter_bytes():
            self._stop.raise_if_cancelled()
            data = chunk[: end - part.size]
            if part.size + len(data) - checked_at > _ROOM_STEP_BYTES:
                self._room_for(_ROOM_STEP_BYTES)
                checked_at = part.size
            part.write(data)
            self._transfer.advance(len(data))
            if part.size >= end:
                return

    def _room_for(self, nbytes: int) -> None:
        """Returns when there is room for so much above the floor."""
        while not self.has_room(nbytes):
            self._wait(_ROOM_PAUSE_S)
            self._stop.raise_if_cancelled()

    def _wait_after(self, error: EngineError, failures: int) -> None:
        delay_s = self._patience.delay_s(failures, error)
        if delay_s is None:
            raise error
        self._transfer.hold(f"{error.message} Trying again in {format_duration(delay_s)}.", error.detail)
        self._wait(delay_s)
        self._stop.raise_if_cancelled()

    def _discard(self, file: HubFile, bad: int) -> None:
        """Throws away a file whose digest is wrong. Raises ``DamagedFile`` where it comes wrong again and again."""
        self._folder.part_of(file.name).unlink(missing_ok=True)
        self._transfer.advance(-file.size)
        if bad >= _BAD_LIMIT:
            raise DamagedFile(
                f"{file.name} arrives damaged: {bad} times it was not what the hub says it is.",
                "Try another network or mirror; the files that arrived whole are kept.",
                files=(file.name,),
            )
        self._transfer.hold(f"{file.name} arrived damaged, so this one file is fetched again.")

    def _explain_write(self, error: OSError) -> None:
        """A full drive is a pause. Raises ``TargetNotWritable`` for everything else."""
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise not_writable(self._folder.path, error) from error
        self._transfer.pause("Paused: the drive is full. It goes on when there is room.")
        self._wait(_ROOM_PAUSE_S)
        self._stop.raise_if_cancelled()


def _socket_of(response: httpx2.Response) -> socket.socket | None:
    stream: Any = response.extensions.get("network_stream")
    found: Any = stream.get_extra_info("socket") if stream is not None else None
    return found if isinstance(found, socket.socket) else None
