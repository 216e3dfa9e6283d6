"""Finding conversations by what their titles and messages contain, in any script."""

from __future__ import annotations

import sqlite3

from app.conversations.database import Database
from app.conversations.records import SearchHit

# The index is made of runs of three characters; a shorter query (two Chinese ones, say) has to read the texts.
_INDEXED_LENGTH = 3
_EXCERPT_BEFORE = 32
_EXCERPT_AFTER = 96

_TITLES = """
    SELECT id AS conversation_id, title, updated_at, NULL AS message_id, '' AS text FROM conversations
    WHERE deleted_at IS NULL AND title LIKE ? ESCAPE '\\' ORDER BY updated_at DESC LIMIT ?
"""
_MESSAGES = """
    SELECT conversation_id, title, updated_at, max(messages.id) AS message_id, text
    FROM messages JOIN conversations ON conversations.id = conversation_id
    WHERE {condition} AND messages.deleted_at IS NULL AND conversations.deleted_at IS NULL
    GROUP BY conversation_id ORDER BY updated_at DESC LIMIT ?
"""
_BY_INDEX = "messages.id IN (SELECT rowid FROM message_index WHERE message_index MATCH ?)"
_BY_READING = "text LIKE ? ESCAPE '\\'"


def search(database: Database, query: str, limit: int) -> list[SearchHit]:
    query = query.strip()
    if not query:
        return []
    pattern = "%" + query.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    rows = database.rows(_TITLES, (pattern, limit))
    rows += _message_rows(database, query, pattern, limit)
    hits: dict[int, SearchHit] = {}
    for row in rows:
        hits.setdefault(int(row["conversation_id"]), _hit(row, query))
    return list(hits.values())[:limit]


def excerpt(text: str, query: str) -> str:
    """One line around the first place where ``query`` stands."""
    line = " ".join(text.split())
    found = max(line.casefold().find(query.casefold()), 0)
    start = max(found - _EXCERPT_BEFORE, 0)
    end = found + _EXCERPT_AFTER
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _message_rows(database: Database, query: str, pattern: str, limit: int) -> list[sqlite3.Row]:
    if len(query) < _INDEXED_LENGTH:
        return database.rows(_MESSAGES.format(condition=_BY_READING), (pattern, limit))
    quoted = '"' + query.replace('"', '""') + '"'
    return database.rows(_MESSAGES.format(condition=_BY_INDEX), (quoted, limit))


def _hit(row: sqlite3.Row, query: str) -> SearchHit:
    text = str(row["text"] or "")
    return SearchHit(
        conversation_id=int(row["conversation_id"]),
        title=str(row["title"]),
        message_id=row["message_id"],
        excerpt=excerpt(text, query) if text else "",
        updated_at=float(row["updated_at"]),
    )
