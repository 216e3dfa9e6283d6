"""Messages as they are read: a conversation's active path, a message with its versions, what stands above it.

A conversation of thousands is read again after every question, so the messages of the one read last are kept: only
what was written since is read from the disk. Whoever writes to a message says so with ``forget``. Any thread may call.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable
from dataclasses import replace

from app.conversations.answers import text_so_far
from app.conversations.database import Database
from app.conversations.records import WORKING, StoredMessage
from app.conversations.rows import read_message, read_rows

_MOST_AT_ONCE = 500
"""Ids in one query: SQLite takes some thousands, older ones 999."""


class MessageReader:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._conversation_id = 0
        self._kept: dict[int, StoredMessage] = {}
        self._changes = 0

    def forget(self, message_id: int) -> None:
        """It was written to."""
        with self._lock:
            self._changes += 1
            self._kept.pop(message_id, None)

    def active_path(self, conversation_id: int) -> list[StoredMessage]:
        """From the first message to the last, each with its place among its versions."""
        children: dict[int | None, list[sqlite3.Row]] = {}
        for row in self._outline(conversation_id):
            children.setdefault(row["parent_id"], []).append(row)
        places: dict[int, tuple[int, int]] = {}
        parent_id: int | None = None
        while siblings := children.get(parent_id):
            index = next((i for i, row in enumerate(siblings) if row["is_active"]), len(siblings) - 1)
            parent_id = int(siblings[index]["id"])
            places[parent_id] = index + 1, len(siblings)
        return [_placed(each, *places[each.id]) for each in self._read(conversation_id, places)]

    def path_to(self, message_id: int) -> list[StoredMessage]:
        """The messages above it, the first one first. ``version`` and ``versions`` are not filled in."""
        found = self.message(message_id)
        parents = {row["id"]: row["parent_id"] for row in self._outline(found.conversation_id)} if found else {}
        path: list[int] = []
        parent_id = found.parent_id if found else None
        while parent_id is not None and parent_id in parents:
            path.append(parent_id)
            parent_id = parents[parent_id]
        return self._read(found.conversation_id, path[::-1]) if found else []

    def every(self, conversation_id: int) -> list[StoredMessage]:
        """All versions in the order of writing. ``version`` and ``versions`` are not filled in."""
        return self._read(conversation_id, [int(row["id"]) for row in self._outline(conversation_id)])

    def message(self, message_id: int) -> StoredMessage | None:
        rows = self._database.rows("SELECT * FROM messages WHERE id = ? AND deleted_at IS NULL", (message_id,))
        found = next(iter(read_rows(rows, read_message)), None)
        if found is None:
            return None
        siblings = self.sibling_ids(found)
        return _placed(self._with_text(found), siblings.index(found.id) + 1, len(siblings))

    def sibling_ids(self, message: StoredMessage) -> list[int]:
        """Of all versions, its own with them, oldest first."""
        rows = self._database.rows(
            "SELECT id FROM messages WHERE conversation_id = ? AND parent_id IS ? AND deleted_at IS NULL ORDER BY id",
            (message.conversation_id, message.parent_id),
        )
        return [int(row["id"]) for row in rows]

    def _outline(self, conversation_id: int) -> list[sqlite3.Row]:
        """Who stands below whom, without the words."""
        return self._database.rows(
            "SELECT id, parent_id, is_active FROM messages"
            " WHERE conversation_id = ? AND deleted_at IS NULL ORDER BY id",
            (conversation_id,),
        )

    def _read(self, conversation_id: int, ids: Iterable[int]) -> list[StoredMessage]:
        """Those that can be read, in this order."""
        ids = list(ids)
        with self._lock:
            if conversation_id != self._conversation_id:
                self._conversation_id, self._kept = conversation_id, {}
            known = {each: self._kept[each] for each in ids if each in self._kept}
            changes = self._changes
        fresh = self._fetch([each for each in ids if each not in known])
        with self._lock:
            # What was written to while it was read is not kept: it may have been read before or after.
            if changes == self._changes and conversation_id == self._conversation_id:
                self._kept |= {number: each for number, each in fresh.items() if each.state not in WORKING}
        found = (known.get(each) or fresh.get(each) for each in ids)
        return [self._with_text(each) for each in found if each is not None]

    def _fetch(self, ids: list[int]) -> dict[int, StoredMessage]:
        found: dict[int, StoredMessage] = {}
        for start in range(0, len(ids), _MOST_AT_ONCE):
            some = ids[start : start + _MOST_AT_ONCE]
            marks = ", ".join("?" * len(some))
            rows = self._database.rows(f"SELECT * FROM messages WHERE id IN ({marks})", some)
            found |= {each.id: each for each in read_rows(rows, read_message)}
        return found

    def _with_text(self, message: StoredMessage) -> StoredMessage:
        """An answer in the making has its words in pieces."""
        if message.state not in WORKING:
            return message
        return replace(message, text=text_so_far(self._database, message.id))


def _placed(message: StoredMessage, version: int, versions: int) -> StoredMessage:
    """The same object where it says so already: most have one version, and thousands are compared after each read."""
    if (message.version, message.versions) == (version, versions):
        return message
    return replace(message, version=version, versions=versions)
