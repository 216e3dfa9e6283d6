"""Conversations as files for people (Markdown) and for Strata (JSON, complete, with every version)."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any, cast

from app.conversations.answers import without_thinking
from app.conversations.records import (
    WORKING,
    AnswerState,
    Role,
    StoredMessage,
    StoreError,
    attachments_from_json,
    attachments_to_json,
    sampling_from_json,
    sampling_to_json,
)
from app.conversations.store import ConversationStore

FORMAT = "strata-conversations"
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Headings:
    """The words of a Markdown export, in the user's language."""

    question: str = "You"
    answer: str = "Answer"
    file: str = "File"


def export_markdown(store: ConversationStore, conversation_id: int, headings: Headings) -> str:
    """What is on screen: the active versions, answers without their thinking."""
    conversation = store.conversation(conversation_id)
    parts = [f"# {conversation.title}" if conversation and conversation.title else "#"]
    for message in store.messages(conversation_id):
        is_answer = message.role == "assistant"
        name = (message.model or headings.answer) if is_answer else headings.question
        parts.append(f"## {name}")
        parts += [f"*{headings.file}: {each.name}*\n\n```\n{each.text}\n```" for each in message.attachments]
        parts.append(without_thinking(message.text) if is_answer else message.text)
    return "\n\n".join(parts) + "\n"


def export_json(store: ConversationStore, conversation_ids: list[int]) -> str:
    """Everything that is kept, so that importing it gives the same conversations."""
    conversations = [_conversation_to_dict(store, each) for each in conversation_ids]
    whole = {"format": FORMAT, "version": FORMAT_VERSION, "exported_at": time.time(), "conversations": conversations}
    return json.dumps(whole, ensure_ascii=False, indent=1)


def import_json(store: ConversationStore, text: str) -> list[int]:
    """Adds every conversation in ``text`` as a new one; the ids of the new ones. Raises ``StoreError``."""
    whole = _parse(text)
    if whole.get("format") != FORMAT or not isinstance(whole.get("conversations"), list):
        raise StoreError(
            "This file is not an export of Strata's conversations.", "Choose a .json file that Strata exported."
        )
    if not isinstance(whole.get("version"), int) or whole["version"] > FORMAT_VERSION:
        raise StoreError(
            f"This export has format {whole.get('version')}; this Strata reads up to {FORMAT_VERSION}.",
            "Update Strata, then import it again.",
        )
    entries = [each for each in whole["conversations"] if isinstance(each, dict)]
    return [_add_conversation(store, cast("dict[str, Any]", each)) for each in entries]


def _parse(text: str) -> dict[str, Any]:
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None
    return cast("dict[str, Any]", whole) if isinstance(whole, dict) else {}


def _conversation_to_dict(store: ConversationStore, conversation_id: int) -> dict[str, Any]:
    conversation = store.conversation(conversation_id)
    if conversation is None:
        raise StoreError("This conversation is gone.")
    active = {each.id for each in store.messages(conversation_id)}
    return {
        "title": conversation.title,
        "is_title_manual": conversation.is_title_manual,
        "created_at": conversation.created_at,
        "model": conversation.model,
        "system_prompt": conversation.system_prompt,
        "thinking": conversation.thinking,
        "sampling": json.loads(sampling_to_json(conversation.sampling)),
        "is_pinned": conversation.is_pinned,
        "context_start": conversation.context_start_id,
        "messages": [_message_to_dict(each, each.id in active) for each in store.all_messages(conversation_id)],
    }


def _message_to_dict(message: StoredMessage, is_active: bool) -> dict[str, Any]:
    return {
        "id": message.id,
        "parent": message.parent_id,
        "is_active": is_active,
        "role": message.role,
        "text": message.text,
        "created_at": message.created_at,
        # An answer in the making is complete in the copy: nobody works on that one.
        "state": str(AnswerState.STOPPED if message.state in WORKING else message.state),
        "error": message.error,
        "model": message.model,
        "attachments": json.loads(attachments_to_json(message.attachments)),
    }


def _add_conversation(store: ConversationStore, entry: dict[str, Any]) -> int:
    conversation = store.add_conversation(
        str(entry.get("title") or ""),
        model=str(entry.get("model") or ""),
        system_prompt=str(entry.get("system_prompt") or ""),
        sampling=sampling_from_json(json.dumps(entry.get("sampling") or {})),
    )
    if entry.get("is_title_manual"):
        store.rename_conversation(conversation.id, conversation.title)
    if isinstance(entry.get("thinking"), bool):
        store.set_thinking(conversation.id, entry["thinking"])
    store.set_pinned(conversation.id, bool(entry.get("is_pinned")))
    new_ids = _add_messages(store, conversation.id, entry.get("messages"))
    store.set_context_start(conversation.id, new_ids.get(entry.get("context_start")))
    return conversation.id


def _add_messages(store: ConversationStore, conversation_id: int, messages: object) -> dict[object, int]:
    """The new id of every old one. A message whose parent is not there, or that is none, is left out."""
    new_ids: dict[object, int] = {}
    active: list[int] = []
    for each in cast("list[object]", messages) if isinstance(messages, list) else []:
        message = cast("dict[str, Any]", each) if isinstance(each, dict) else {}
        parent = message.get("parent")
        if message.get("role") not in {"system", "user", "assistant"} or (parent is not None and parent not in new_ids):
            continue
        added = store.add_message(
            conversation_id,
            cast("Role", message["role"]),
            str(message.get("text") or ""),
            parent_id=None if parent is None else new_ids[parent],
            model=str(message.get("model") or ""),
            state=_final_state(message.get("state")),
            attachments=attachments_from_json(json.dumps(message.get("attachments"))),
        )
        new_ids[message.get("id")] = added.id
        if message.get("is_active"):
            active.append(added.id)
    for message_id in active:
        store.activate(message_id)
    return new_ids


def _final_state(value: object) -> AnswerState:
    return next((each for each in AnswerState if each == value and each not in WORKING), AnswerState.DONE)
