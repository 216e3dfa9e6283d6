"""What was read of models on hubs already: their small files and the heads of their weights. No torch, no network.

A plan of a model with 163 shards takes some 330 requests; the next plan of the same revision, and the download that
follows, take none of them again. Kept in memory only: what a hub allows to be read is asked of it on every start.
"""

from __future__ import annotations

import threading

from engine.hub_access import HubAccess
from engine.store.hub import HubRepo

_MOST_REVISIONS = 2
"""Heads of the largest models take some 40 MB."""


class HeadCache:
    """By who asks, repository and commit; the one asked for longest ago makes room. Calls from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._heads: dict[tuple[HubAccess, str, str], dict[str, bytes]] = {}

    def of(self, access: HubAccess, repo: HubRepo) -> dict[str, bytes]:
        """The first bytes of files by name, to be read and added to."""
        key = (access, repo.title, repo.commit)
        with self._lock:
            heads = self._heads.pop(key, {})
            self._heads[key] = heads
            while len(self._heads) > _MOST_REVISIONS:
                del self._heads[next(iter(self._heads))]
            return heads
