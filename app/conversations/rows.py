"""Rows of the database as records. A field that cannot be read falls back, so that one never hides the rest."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar, cast

from app.conversations.records import (
    AnswerState,
    Conversation,
    Draft,
    Preset,
    Role,
    StoredMessage,
    attachments_from_json,
    figures_from_json,
    images_from_json,
    sampling_from_json,
)

Record = TypeVar("Record")


def read_rows(rows: list[sqlite3.Row], read: Callable[[sqlite3.Row], Record]) -> list[Record]:
    """All that can be read. A row beyond reading is left out, the others are not."""
    records: list[Record] = []
    for row in rows:
        try:
            records.append(read(row))
        except (ValueError, TypeError, OverflowError):
            continue
    return records


def read_conversation(row: sqlite3.Row) -> Conversation:
    return Conversation(
        id=int(row["id"]),
        title=_text(row["title"]),
        is_title_manual=bool(row["is_title_manual"]),
        created_at=_number(row["created_at"]),
        updated_at=_number(row["updated_at"]),
        folder_id=_optional_int(row["folder_id"]),
        is_pinned=bool(row["is_pinned"]),
        is_unread=bool(row["is_unread"]),
        is_working=bool(row["is_working"]),
        model=_text(row["model"]),
        system_prompt=_text(row["system_prompt"]),
        thinking=None if row["thinking"] is None else bool(row["thinking"]),
        sampling=sampling_from_json(_text(row["sampling"])),
        context_start_id=_optional_int(row["context_start_id"]),
    )


def read_message(row: sqlite3.Row, version: int = 1, versions: int = 1) -> StoredMessage:
    role = _text(row["role"])
    thinking_s = row["thinking_s"]
    return StoredMessage(
        id=int(row["id"]),
        conversation_id=int(row["conversation_id"]),
        parent_id=_optional_int(row["parent_id"]),
        role=cast("Role", role if role in {"system", "user", "assistant"} else "user"),
        text=_text(row["text"]),
        created_at=_number(row["created_at"]),
        state=_state(row["state"]),
        error=_text(row["error"]),
        model=_text(row["model"]),
        thinking_s=None if thinking_s is None else _number(thinking_s),
        attachments=attachments_from_json(_text(row["attachments"])),
        images=images_from_json(_text(row["images"])),
        is_blind=bool(row["is_blind"]),
        figures=figures_from_json(_text(row["figures"])),
        version=version,
        versions=versions,
    )


def read_draft(row: sqlite3.Row) -> Draft:
    return Draft(
        _text(row["draft"]),
        attachments_from_json(_text(row["draft_attachments"])),
        images_from_json(_text(row["draft_images"])),
    )


def read_preset(row: sqlite3.Row) -> Preset:
    return Preset(
        int(row["id"]), _text(row["name"]), _text(row["system_prompt"]), sampling_from_json(_text(row["sampling"]))
    )


def _state(value: object) -> AnswerState:
    try:
        return AnswerState(str(value))
    except ValueError:
        return AnswerState.DONE


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _optional_int(value: Any) -> int | None:
    return value if isinstance(value, int) else None
