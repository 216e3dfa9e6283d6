"""Drafts on their way to the disk, of each chat the latest: a busy drive must not hold up the typing.

Owns what is not written yet. Must not know who types.
"""

from __future__ import annotations

import logging
import threading

from PySide6.QtCore import QObject

from app.background import Background
from app.conversations.records import Draft
from app.conversations.store import ConversationStore

_log = logging.getLogger(__name__)


class DraftKeeper(QObject):
    """Lives in the GUI thread. ``app.background.wait_for_background`` waits until all is written."""

    def __init__(self, store: ConversationStore, parent: QObject) -> None:
        super().__init__(parent)
        self._store = store
        self._lock = threading.Lock()
        self._unwritten: dict[int, Draft] = {}
        self._is_writing = False

    def save(self, conversation_id: int, draft: Draft) -> None:
        with self._lock:
            self._unwritten[conversation_id] = draft
            if self._is_writing:
                return
            self._is_writing = True
        Background(self._write, self).failed.connect(self._take_failure)

    def draft(self, conversation_id: int) -> Draft:
        with self._lock:
            waiting = self._unwritten.get(conversation_id)
        return self._store.draft(conversation_id) if waiting is None else waiting

    def _write(self) -> None:
        """All there is. What is being written still counts as not written: it may be asked for meanwhile."""
        while True:
            with self._lock:
                if not self._unwritten:
                    self._is_writing = False
                    return
                conversation_id, draft = next(iter(self._unwritten.items()))
            try:
                self._store.save_draft(conversation_id, draft)
            except BaseException:
                with self._lock:
                    self._is_writing = False
                raise
            with self._lock:
                if self._unwritten.get(conversation_id) is draft:
                    del self._unwritten[conversation_id]

    def _take_failure(self, error: Exception) -> None:
        """The next change tries again."""
        _log.warning("a draft could not be written: %r", error)
