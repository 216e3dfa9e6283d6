"""What has been published, asked of the makers' server only when the user wants it, and remembered.

Owns the request and the last list that was accepted: an older one is refused from then on. Calls wait.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from PySide6.QtCore import QCoreApplication

from app.bundle import Bundle
from app.signed_list import (
    MOST_BYTES,
    ListRefused,
    ListTooOld,
    ListUnreadable,
    PublishedList,
    list_file,
    read_list,
    shipped_keys,
)
from app.web import explain_web, open_client
from engine.errors import EngineError, HubError, HubUntrusted

log = logging.getLogger(__name__)

LONGEST_S = 30.0


def shipped_address(shipped: Bundle | None) -> str:
    """Where this build's list is; "" for one that was not made for publishing, and in a checkout."""
    if shipped is None or not shipped.channel_file.is_file():
        return ""
    return json.loads(shipped.channel_file.read_text(encoding="utf-8"))["address"]


class ListSource:
    """``address`` "" where this program does not know of any list. ``proxy`` is asked anew each time.

    ``fetch`` may be called from several threads at once.
    """

    def __init__(
        self,
        address: str,
        file: Path,
        *,
        keys: Mapping[str, bytes] | None = None,
        proxy: Callable[[], str] = lambda: "",
    ) -> None:
        self.address = address
        self._file = file
        self._keys = keys
        self._proxy = proxy
        self._remembering = threading.Lock()

    def fetch(self) -> PublishedList:
        """Raises ``EngineError``; what was remembered then stays."""
        keys = shipped_keys() if self._keys is None else self._keys
        data = self._read_answer()
        with self._remembering:
            try:
                last = self._last(keys)
                found = read_list(data, keys, least_serial=last.serial if last else 0)
            except ListRefused as error:
                raise _explain_refusal(error, self.address) from error
            self._remember(data)
        return found

    def remembered(self) -> PublishedList | None:
        """The last one that was accepted, without asking anybody; None where there is none that can be used."""
        return self._last(shipped_keys() if self._keys is None else self._keys)

    def _read_answer(self) -> bytes:
        import httpx2

        ends_at = time.monotonic() + LONGEST_S
        data = bytearray()
        try:
            with open_client(self._proxy()) as client, client.stream("GET", self.address) as response:
                response.raise_for_status()
                for chunk in response.iter_bytes():
                    data += chunk
                    if len(data) > MOST_BYTES:
                        break
                    if time.monotonic() > ends_at:
                        raise httpx2.ReadTimeout(f"the list has not ended after {LONGEST_S} s")
        except (httpx2.HTTPError, OSError) as error:
            raise explain_web(error, self.address) from error
        except httpx2.InvalidURL as error:
            raise HubError(f"The address {self.address} cannot be found.", detail=repr(error)) from error
        return bytes(data)

    def _last(self, keys: Mapping[str, bytes]) -> PublishedList | None:
        """A file that is damaged, or of a key that is gone, says nothing."""
        data = list_file(self._file)
        try:
            return read_list(data, keys) if data is not None else None
        except ListRefused as error:
            log.warning("the list of versions in %s cannot be used: %s", self._file, error)
            return None

    def _remember(self, data: bytes) -> None:
        fresh = self._file.with_name(f"{self._file.name}.new")
        try:
            fresh.write_bytes(data)
            fresh.replace(self._file)
        except OSError as error:
            log.warning("the list of versions could not be kept in %s: %r", self._file, error)


def _explain_refusal(error: ListRefused, address: str) -> EngineError:
    host = urlsplit(address).hostname or address
    if isinstance(error, ListUnreadable):
        said = QCoreApplication.translate("Web", "The list of versions at {host} is made for a newer Strata than this.")
        step = QCoreApplication.translate("Web", "Get the newest Strata from where you got this one.")
        return HubError(said.format(host=host), step, detail=str(error))
    if isinstance(error, ListTooOld):
        said = QCoreApplication.translate(
            "Web", "The list of versions at {host} is older than one that was seen before, so it is not used."
        )
    else:
        said = QCoreApplication.translate(
            "Web", "What {host} sent is not signed by the makers of Strata, so it is not used."
        )
    step = QCoreApplication.translate("Web", "Try again later, or on another network. Nothing has changed.")
    return HubUntrusted(said.format(host=host), step, detail=str(error))
