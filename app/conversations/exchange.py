"""Conversations as files for people (Markdown, with its images beside it) and for Strata (JSON, complete, with every
version and the images inside).
"""

from __future__ import annotations

import json
import shutil
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from app.conversations.answers import without_thinking
from app.conversations.records import (
    WORKING,
    AnswerState,
    Conversation,
    Role,
    StoredImage,
    StoredMessage,
    StoreError,
    attachments_from_json,
    attachments_to_json,
    figures_from_json,
    figures_to_json,
    sampling_from_json,
    sampling_to_json,
)
from app.conversations.store import ConversationStore
from app.model_names import model_title

FORMAT = "strata-conversations"
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Headings:
    """The words of a Markdown export, in the user's language."""

    question: str = "You"
    answer: str = "Answer"
    file: str = "File"


def export_markdown(store: ConversationStore, conversation_id: int, headings: Headings, target: Path) -> None:
    """What is on screen: the active versions, answers without their thinking. Images go into a folder beside it.

    Raises ``OSError`` where something cannot be written; an image that is lost here is named without its file.
    """
    conversation = store.conversation(conversation_id)
    parts = [f"# {conversation.title}" if conversation and conversation.title else "#"]
    images = _ImagesBeside(store, target)
    for message in store.messages(conversation_id):
        is_answer = message.role == "assistant"
        name = (model_title(message.model) or headings.answer) if is_answer else headings.question
        parts.append(f"## {name}")
        parts += [images.add(each) for each in message.images]
        parts += [f"*{headings.file}: {each.name}*\n\n```\n{each.text}\n```" for each in message.attachments]
        parts.append(without_thinking(message.text) if is_answer else message.text)
    target.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


class _ImagesBeside:
    """Copies images into ``<name of the file> images``, in the order they come."""

    def __init__(self, store: ConversationStore, target: Path) -> None:
        self._store = store
        self._folder = target.with_name(f"{target.stem} images")
        self._count = 0

    def add(self, image: StoredImage) -> str:
        """The Markdown that shows it."""
        source = self._store.images.path(image.file)
        label = image.name.replace("[", "(").replace("]", ")")
        if not source.exists():
            return f"*{label}*"
        self._count += 1
        self._folder.mkdir(exist_ok=True)
        copy = self._folder / f"{self._count}{source.suffix}"
        shutil.copyfile(source, copy)
        return f"![{label}](<{self._folder.name}/{copy.name}>)"


def export_json(store: ConversationStore, conversation_ids: Sequence[int]) -> str:
    """Everything that is kept, so that importing it gives the same conversations."""
    folders = {each.id: each.name for each in store.folders()}
    conversations = [_conversation_to_dict(store, each, folders) for each in conversation_ids]
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
    copies = [_read_conversation(store, each) for each in _objects(whole["conversations"])]
    return [store.add_copy(*each) for each in copies]


def _parse(text: str) -> dict[str, Any]:
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None
    return cast("dict[str, Any]", whole) if isinstance(whole, dict) else {}


def _objects(values: object) -> list[dict[str, Any]]:
    entries = cast("list[object]", values) if isinstance(values, list) else []
    return [cast("dict[str, Any]", each) for each in entries if isinstance(each, dict)]


def _conversation_to_dict(store: ConversationStore, conversation_id: int, folders: Mapping[int, str]) -> dict[str, Any]:
    conversation = store.conversation(conversation_id)
    if conversation is None:
        raise StoreError("This conversation is gone.")
    active = {each.id for each in store.messages(conversation_id)}
    return {
        "title": conversation.title,
        "is_title_manual": conversation.is_title_manual,
        "created_at": conversation.created_at,
        "updated_at": conversation.updated_at,
        "folder": folders.get(conversation.folder_id or 0, ""),
        "model": conversation.model,
        "system_prompt": conversation.system_prompt,
        "thinking": conversation.thinking,
        "sampling": json.loads(sampling_to_json(conversation.sampling)),
        "is_pinned": conversation.is_pinned,
        "context_start": conversation.context_start_id,
        "messages": [_message_to_dict(store, each, each.id in active) for each in store.all_messages(conversation_id)],
    }


def _message_to_dict(store: ConversationStore, message: StoredMessage, is_active: bool) -> dict[str, Any]:
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
        "thinking_s": message.thinking_s,
        "attachments": json.loads(attachments_to_json(message.attachments)),
        "images": [found for each in message.images if (found := _image_to_dict(store, each))],
        "is_blind": message.is_blind,
        "figures": json.loads(figures_to_json(message.figures)),
    }


def _image_to_dict(store: ConversationStore, image: StoredImage) -> dict[str, Any] | None:
    """None for one whose file is lost."""
    try:
        data = store.images.path(image.file).read_bytes()
    except OSError:
        return None
    return {"name": image.name, "width": image.width, "height": image.height, "data": b64encode(data).decode()}


def _read_conversation(
    store: ConversationStore, entry: dict[str, Any]
) -> tuple[Conversation, str, list[StoredMessage], set[int]]:
    """With the name of its folder, its messages, and the ids of those that are shown."""
    entries = _objects(entry.get("messages"))
    messages = [found for each in entries if (found := _message_from(store, each))]
    active = {each["id"] for each in entries if each.get("is_active") and isinstance(each.get("id"), int)}
    return _conversation_from(entry), str(entry.get("folder") or ""), messages, active


def _conversation_from(entry: dict[str, Any]) -> Conversation:
    created_at = _time(entry.get("created_at"))
    thinking = entry.get("thinking")
    start = entry.get("context_start")
    return Conversation(
        id=0,
        title=str(entry.get("title") or ""),
        is_title_manual=bool(entry.get("is_title_manual")),
        created_at=created_at,
        updated_at=_time(entry.get("updated_at"), created_at),
        is_pinned=bool(entry.get("is_pinned")),
        model=str(entry.get("model") or ""),
        system_prompt=str(entry.get("system_prompt") or ""),
        thinking=thinking if isinstance(thinking, bool) else None,
        sampling=sampling_from_json(json.dumps(entry.get("sampling") or {})),
        context_start_id=start if isinstance(start, int) else None,
    )


def _message_from(store: ConversationStore, entry: dict[str, Any]) -> StoredMessage | None:
    """None for what is no message. Its images are in the folder of images then."""
    message_id, parent_id, thinking_s = entry.get("id"), entry.get("parent"), entry.get("thinking_s")
    if entry.get("role") not in {"system", "user", "assistant"} or not isinstance(message_id, int):
        return None
    return StoredMessage(
        id=message_id,
        conversation_id=0,
        # What is no id is nobody's: a message below it is left out.
        parent_id=parent_id if parent_id is None or isinstance(parent_id, int) else message_id,
        role=cast("Role", entry["role"]),
        text=str(entry.get("text") or ""),
        created_at=_time(entry.get("created_at")),
        state=_final_state(entry.get("state")),
        error=str(entry.get("error") or ""),
        model=str(entry.get("model") or ""),
        thinking_s=float(thinking_s) if isinstance(thinking_s, int | float) else None,
        attachments=attachments_from_json(json.dumps(entry.get("attachments"))),
        images=tuple(found for each in _objects(entry.get("images")) if (found := _image_from(store, each))),
        is_blind=bool(entry.get("is_blind")),
        figures=figures_from_json(json.dumps(entry.get("figures"))),
    )


def _image_from(store: ConversationStore, entry: dict[str, Any]) -> StoredImage | None:
    """None for what is no image."""
    try:
        file = store.images.add(b64decode(str(entry.get("data")), validate=True))
    except ValueError:
        return None
    width, height = entry.get("width"), entry.get("height")
    return StoredImage(
        str(entry.get("name") or ""),
        file,
        width if isinstance(width, int) else 0,
        height if isinstance(height, int) else 0,
    )


def _time(value: object, otherwise: float | None = None) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return time.time() if otherwise is None else otherwise


def _final_state(value: object) -> AnswerState:
    return next((each for each in AnswerState if each == value and each not in WORKING), AnswerState.DONE)
