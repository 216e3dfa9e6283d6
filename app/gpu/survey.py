"""What there is for the card: in the computer, on the disk, in the published list.

Everything here waits: only in a thread of its own. Must not know the engine, nor what becomes of what it finds.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.gpu.choice import NothingSuits, RuntimeLabel, choose_runtime, read_label, runtime_order
from app.gpu.driver import Driver
from app.gpu.installation import needed_bytes, no_room
from app.gpu.runtime_folders import Kept, RuntimeFolders, nbytes_of
from app.gpu.status import Offer
from app.gpu.texts import explain_nothing
from app.published_list import ListSource
from app.signed_list import RuntimeEntry

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """``has_newer``: the list that was seen last has something newer than what is installed."""

    kept: Kept
    driver: Driver | None
    downloaded: int
    installed: int
    has_newer: bool


class Survey:
    """``label`` is what a runtime must agree with; None where this program can use none."""

    def __init__(
        self,
        folders: RuntimeFolders,
        source: ListSource,
        label: RuntimeLabel | None,
        *,
        floor_bytes: Callable[[], int],
        look: Callable[[], Driver | None],
    ) -> None:
        self._folders = folders
        self._source = source
        self._label = label
        self._floor_bytes = floor_bytes
        self._look = look

    def usable(self, name: str) -> tuple[Path, ...]:
        """Only what was made for this very program: after an update of Strata another one is needed. Quick."""
        if self._label is None or not name.startswith(self._label.folder_prefix):
            return ()
        folder = self._folders.folder(name)
        return (folder,) if read_label(folder) == self._label else ()

    def find(self) -> Found:
        """Also tidies up. Asks nobody on the network."""
        kept = self._folders.read()
        name = kept.in_use or kept.set_aside
        try:
            if name and not self.usable(name):
                # Strata was updated, or the folder is gone: what is left of it serves nobody.
                kept, name = Kept(), ""
                self._folders.write(kept)
            self._folders.sweep()
        except OSError as error:  # a drive that cannot be written: what is there can be used all the same
            log.warning("%s could not be tidied: %r", self._folders.root, error)
        driver = self._look()
        installed = nbytes_of(self._folders.folder(name)) if name else 0
        return Found(kept, driver, self._folders.downloaded_bytes(), installed, self._has_newer(name, driver))

    def find_offer(self, driver: Driver, installed: str) -> Offer | None:
        """Asks the network. None where there is nothing newer than ``installed``, which may be "".

        Raises ``EngineError``.
        """
        assert self._label is not None
        entry = choose_runtime(self._label, driver, self._source.fetch().runtimes)
        if installed and not _is_newer(entry, installed):
            return None
        if isinstance(entry, NothingSuits):
            raise explain_nothing(entry, driver)
        self._folders.root.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(self._folders.root).free
        offer = Offer(entry, self._folders.missing_bytes(entry), needed_bytes(self._folders, entry), free)
        if free < offer.need + self._floor_bytes():
            raise no_room(self._folders.root, offer.need, self._floor_bytes(), free)
        return offer

    def _has_newer(self, installed: str, driver: Driver | None) -> bool:
        if not installed or driver is None or self._label is None:
            return False
        published = self._source.remembered()
        return published is not None and _is_newer(choose_runtime(self._label, driver, published.runtimes), installed)


def _is_newer(entry: RuntimeEntry | NothingSuits, than: str) -> bool:
    return isinstance(entry, RuntimeEntry) and runtime_order(entry.folder_name) > runtime_order(than)
