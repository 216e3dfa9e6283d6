"""Whole conversations written at once, as an import brings them: in one transaction, with the times they had."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from app.conversations.database import Database
from app.conversations.records import (
    Conversation,
    StoredMessage,
    attachments_to_json,
    figures_to_json,
    images_to_json,
    sampling_to_json,
)


def add_copy(
    database: Database,
    conversation: Conversation,
    folder: str,
    messages: Sequence[StoredMessage],
    active: Collection[int],
) -> int:
    """The id of a new conversation like the one given, in the folder of that name ("": in none).

    ``messages`` have ids of their own, parents before children; one whose parent is not among those before it is left
    out with all that follows it. ``active`` are the ids of the versions that are shown.
    """
    with database.transaction():
        conversation_id = _add_conversation(database, conversation, _folder_id(database, folder))
        new_ids: dict[int | None, int | None] = {None: None}
        for each in messages:
            if each.parent_id in new_ids:
                parent_id = new_ids[each.parent_id]
                new_ids[each.id] = _add_message(database, conversation_id, parent_id, each, each.id in active)
        if conversation.context_start_id is not None:
            database.write(
                "UPDATE conversations SET context_start_id = ? WHERE id = ?",
                (new_ids.get(conversation.context_start_id), conversation_id),
            )
        return conversation_id


def _folder_id(database: Database, name: str) -> int | None:
    """Of the folder of that name, which is made where there is none."""
    if not name:
        return None
    found = database.row("SELECT id FROM folders WHERE name = ? ORDER BY id LIMIT 1", (name,))
    return int(found["id"]) if found else database.write("INSERT INTO folders (name) VALUES (?)", (name,))


def _add_conversation(database: Database, conversation: Conversation, folder_id: int | None) -> int:
    return database.write(
        "INSERT INTO conversations (title, is_title_manual, created_at, updated_at, folder_id, is_pinned, model,"
        " system_prompt, thinking, sampling) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            conversation.title,
            conversation.is_title_manual,
            conversation.created_at,
            conversation.updated_at,
            folder_id,
            conversation.is_pinned,
            conversation.model,
            conversation.system_prompt,
            conversation.thinking,
            sampling_to_json(conversation.sampling),
        ),
    )


def _add_message(
    database: Database, conversation_id: int, parent_id: int | None, message: StoredMessage, is_active: bool
) -> int:
    return database.write(
        "INSERT INTO messages (conversation_id, parent_id, is_active, role, text, created_at, state, error, model,"
        " thinking_s, attachments, images, is_blind, figures) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            conversation_id,
            parent_id,
            is_active,
            message.role,
            message.text,
            message.created_at,
            message.state,
            message.error,
            message.model,
            message.thinking_s,
            attachments_to_json(message.attachments),
            images_to_json(message.images),
            message.is_blind,
            figures_to_json(message.figures),
        ),
    )
