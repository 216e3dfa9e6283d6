"""A runtime from the server to the moment it has computed: room first, fetch, unpack aside, put in place, try.

Runs in the thread of whoever calls; ``stop`` may come from another. Until it returns nothing that is in use has
changed. Must not know the window.
"""

from __future__ import annotations

import errno
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QCoreApplication

from app.engine_texts import shown_text
from app.engine_trial import TrialFailed, try_runtime
from app.gpu.archives import BadArchive, unpack
from app.gpu.choice import RuntimeLabel, read_label
from app.gpu.meter import Amount, Meter
from app.gpu.part_download import Interrupted, PartDownload
from app.gpu.runtime_folders import RuntimeFolders, rename_folder
from app.signed_list import RuntimeEntry
from app.web import open_client
from engine.api import DeviceCheck
from engine.errors import DamagedFile, DiskFull, EngineError
from engine.quantities import format_size

DEVICE = "cuda"
_TELL_S = 0.2


class Phase(StrEnum):
    FETCHING = "fetching"
    UNPACKING = "unpacking"
    TRYING = "trying"


class Installation:
    """``shipped`` are the program's own runtimes, that stay behind it; ``floor_bytes`` of the drive stay free.

    ``told`` gets the phase and the bytes a few times a second, ``said`` a sentence about what goes on, or "".
    """

    def __init__(
        self,
        folders: RuntimeFolders,
        *,
        shipped: Sequence[Path],
        floor_bytes: int,
        proxy: str,
        device: str = DEVICE,
        told: Callable[[Phase, Amount], None],
        said: Callable[[str], None],
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self._folders = folders
        self._shipped = tuple(shipped)
        self._floor = floor_bytes
        self._proxy = proxy
        self._device = device
        self._told = told
        self._said = said
        self._stop = threading.Event()
        self._wait = wait
        self._download: PartDownload | None = None
        self._told_at = 0.0

    def stop(self) -> None:
        """``install`` and ``try_again`` raise ``Interrupted`` soon. What was downloaded is kept."""
        self._stop.set()
        download = self._download
        if download is not None:
            download.interrupt()

    def install(self, entry: RuntimeEntry) -> DeviceCheck:
        """When this returns, the runtime is in its folder and has computed. Raises ``EngineError``, ``Interrupted``."""
        folder = self._folders.folder(entry.folder_name)
        try:
            if not folder.is_dir():
                self._require_room(entry)
                self._fetch(entry)
                self._unpack(entry, folder)
        except OSError as error:
            raise self._explain_drive(error, entry) from error
        try:
            found = self._try(folder)
        except EngineError as error:
            # What was downloaded stays: the card may only have been busy.
            self._folders.remove(entry.folder_name)
            raise _nothing_changed(error) from error
        self._folders.discard_download()
        return found

    def try_again(self, name: str) -> DeviceCheck:
        """One that is there. Raises ``EngineError``, ``Interrupted``."""
        return self._try(self._folders.folder(name))

    def _fetch(self, entry: RuntimeEntry) -> None:
        meter = Meter(entry.nbytes, entry.nbytes - self._folders.missing_bytes(entry), time.monotonic())
        before = 0
        with open_client(self._proxy) as client:
            for part in entry.parts:

                def advanced(done: int, before: int = before) -> None:
                    meter.advance(before + done, time.monotonic())
                    self._tell(Phase.FETCHING, meter.amount(time.monotonic()))

                self._download = PartDownload(
                    part,
                    self._folders.archive(part),
                    client,
                    stop=self._stop,
                    advanced=advanced,
                    said=self._said,
                    wait=self._wait,
                )
                self._download.fetch()
                self._download = None
                before += part.nbytes

    def _unpack(self, entry: RuntimeEntry, folder: Path) -> None:
        self._said("")
        shutil.rmtree(self._folders.staging, ignore_errors=True)
        staged = self._folders.staging / entry.folder_name
        try:
            unpack(
                [self._folders.archive(part) for part in entry.parts],
                staged,
                nbytes=entry.unpacked_bytes,
                advanced=lambda done: self._tell(Phase.UNPACKING, Amount(done, entry.unpacked_bytes)),
                check=self._raise_if_stopped,
            )
            if read_label(staged) != RuntimeLabel(entry.abi, entry.torch, entry.platform):
                raise BadArchive("its label is not what the list says")
        except BadArchive as error:
            self._folders.discard_download()
            raise DamagedFile(
                QCoreApplication.translate(
                    "Gpu", "What was downloaded is not the software for the card, so it was thrown away."
                ),
                QCoreApplication.translate("Gpu", "Nothing has changed. Please report this with its details."),
                detail=str(error),
            ) from error
        else:
            rename_folder(staged, folder)
        finally:
            shutil.rmtree(self._folders.staging, ignore_errors=True)

    def _try(self, folder: Path) -> DeviceCheck:
        self._told(Phase.TRYING, Amount(0, 0))
        found = try_runtime((folder, *self._shipped), self._folders.trial, self._device, check=self._raise_if_stopped)
        if Path(found.torch.folder).resolve() != folder.resolve():
            raise TrialFailed(
                QCoreApplication.translate("Gpu", "The engine did not use the software for the card."),
                detail=repr(found),
            )
        return found

    def _require_room(self, entry: RuntimeEntry) -> None:
        self._folders.root.mkdir(parents=True, exist_ok=True)
        need, have = needed_bytes(self._folders, entry), shutil.disk_usage(self._folders.root).free
        if have < need + self._floor:
            raise no_room(self._folders.root, need, self._floor, have)

    def _explain_drive(self, error: OSError, entry: RuntimeEntry) -> EngineError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            have = shutil.disk_usage(self._folders.root).free
            return no_room(self._folders.root, needed_bytes(self._folders, entry), self._floor, have)
        return EngineError(
            QCoreApplication.translate("Gpu", "The folder {folder} could not be written to.").format(
                folder=self._folders.root
            ),
            QCoreApplication.translate("Gpu", "Look at the drive and its permissions, then try again."),
            detail=repr(error),
        )

    def _tell(self, phase: Phase, amount: Amount) -> None:
        now = time.monotonic()
        if now - self._told_at >= _TELL_S or amount.done == amount.total:
            self._told_at = now
            self._told(phase, amount)

    def _raise_if_stopped(self) -> None:
        if self._stop.is_set():
            raise Interrupted


def _nothing_changed(error: EngineError) -> TrialFailed:
    said = QCoreApplication.translate("Gpu", "The trial on the card failed, so nothing has changed. {reason}")
    return TrialFailed(said.format(reason=shown_text(error.message)), shown_text(error.next_step), detail=error.detail)


def needed_bytes(folders: RuntimeFolders, entry: RuntimeEntry) -> int:
    """On the drive, while it is installed: what is to come, and all of it unpacked; none where it is there."""
    if folders.folder(entry.folder_name).is_dir():
        return 0
    return folders.missing_bytes(entry) + entry.unpacked_bytes


def no_room(folder: Path, need: int, floor: int, have: int) -> DiskFull:
    said = QCoreApplication.translate(
        "Gpu", "This needs {need} on the drive of {folder} and {floor} kept free; {have} are free."
    )
    return DiskFull(
        said.format(need=format_size(need), floor=format_size(floor), have=format_size(have), folder=folder),
        QCoreApplication.translate("Gpu", "Make room, then try again. What was downloaded is kept."),
        need=need + floor,
        have=have,
    )
