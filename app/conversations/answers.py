"""Answers in the making: pieces appended as tokens arrive, folded into their message when it ends.

A growing answer is never rewritten: each write adds a row, so that a long answer costs no more per token than a
short one. Also owns what of a conversation is sent to the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from app.conversations.database import Database
from app.conversations.records import (
    AnswerFigures,
    AnswerState,
    Conversation,
    StoredMessage,
    UnfinishedAnswer,
    figures_from_json,
    figures_to_json,
)
from engine.api import Message
from engine.events import GenerationResult, StopReason

ImagePath = Callable[[str], Path]

_MEASURED_TOKENS = 4
_THINKING_END = "</think>"
_THINKING = re.compile(r"\A\s*(?:<think>)?.*?</think>\s*", re.DOTALL)


def begin_answer(database: Database, message_id: int, now: float) -> None:
    database.write(
        "UPDATE messages SET state = 'running', started_at = coalesce(started_at, ?) WHERE id = ?", (now, message_id)
    )


def append_tokens(database: Database, message_id: int, token_ids: Sequence[int], text: str, now: float) -> None:
    with database.transaction():
        database.write(
            "INSERT INTO answer_pieces (message_id, token_ids, text) VALUES (?, ?, ?)",
            (message_id, json.dumps(list(token_ids)), text),
        )
        if ">" in text and _thinking_just_ended(database, message_id):
            database.write(
                "UPDATE messages SET thinking_s = ? - coalesce(started_at, created_at)"
                " WHERE id = ? AND thinking_s IS NULL",
                (now, message_id),
            )


def finish_answer(database: Database, message_id: int, result: GenerationResult, now: float) -> None:
    figures = AnswerFigures(
        tokens=len(result.token_ids),
        prompt_tokens=result.prompt_tokens,
        first_token_s=result.first_token_s,
        s_per_token=result.s_per_token,
        total_s=result.total_s,
        stop_reason=result.stop_reason,
    )
    state = AnswerState.STOPPED if result.stop_reason is StopReason.CANCELLED else AnswerState.DONE
    with database.transaction():
        database.write("UPDATE messages SET figures = ? WHERE id = ?", (figures_to_json(figures), message_id))
        _end(database, message_id, result.text, state, "", now)


def end_answer(database: Database, message_id: int, state: AnswerState, error: str, now: float) -> None:
    with database.transaction():
        _end(database, message_id, text_so_far(database, message_id), state, error, now)


def measured_s_per_token(database: Database, model: str) -> float | None:
    rows = database.rows(
        "SELECT figures FROM messages WHERE model = ? AND role = 'assistant' AND state = 'done'"
        " ORDER BY created_at DESC, id DESC LIMIT 8",
        (model,),
    )
    figures = [figures_from_json(str(row["figures"])) for row in rows]
    measured = (each.s_per_token for each in figures if each.s_per_token and each.tokens >= _MEASURED_TOKENS)
    return next(measured, None)


def last_used(database: Database) -> dict[str, float]:
    rows = database.rows(
        "SELECT model, max(created_at) AS used_at FROM messages WHERE role = 'assistant' AND model != '' GROUP BY model"
    )
    return {str(row["model"]): float(row["used_at"]) for row in rows}


def text_so_far(database: Database, message_id: int) -> str:
    rows = database.rows("SELECT text FROM answer_pieces WHERE message_id = ? ORDER BY id", (message_id,))
    return "".join(str(row["text"]) for row in rows)


def unfinished_ids(database: Database) -> list[int]:
    rows = database.rows(
        "SELECT messages.id FROM messages JOIN conversations ON conversations.id = conversation_id"
        " WHERE state IN ('waiting', 'running') AND messages.deleted_at IS NULL AND conversations.deleted_at IS NULL"
        " ORDER BY state = 'waiting', messages.id"
    )
    return [int(row["id"]) for row in rows]


def unfinished_answer(
    database: Database,
    conversation: Conversation,
    message: StoredMessage,
    path: Sequence[StoredMessage],
    image_path: ImagePath,
) -> UnfinishedAnswer:
    """``path`` are the messages above ``message``."""
    return UnfinishedAnswer(
        conversation_id=conversation.id,
        message_id=message.id,
        model=message.model or conversation.model,
        messages=prompt_messages(conversation, path, None if message.is_blind else image_path),
        sampling=conversation.sampling,
        thinking=conversation.thinking,
        token_ids=_token_ids(database, message.id),
        text=message.text,
        state=message.state,
    )


def prompt_messages(
    conversation: Conversation, path: Sequence[StoredMessage], image_path: ImagePath | None = None
) -> tuple[Message, ...]:
    """What the model is given: the system prompt, then the path from the conversation's context start on.

    ``image_path`` says where an image is, None for a model that reads text only: it is given no images. Attached
    files stand in front of their question. Old answers go without their thinking, as their templates
    would have it, and answers without a word are left out with the question they belong to.
    """
    start = next((i for i, each in enumerate(path) if each.id == conversation.context_start_id), 0)
    messages: list[Message] = []
    if conversation.system_prompt.strip():
        messages.append(Message("system", conversation.system_prompt))
    for each in path[start:]:
        text = without_thinking(each.text) if each.role == "assistant" else question_text(each)
        if each.role == "assistant" and not text.strip():
            if messages and messages[-1].role == "user":
                messages.pop()
            continue
        images = tuple(image_path(image.file) for image in each.images) if image_path else ()
        messages.append(Message(each.role, text, images))
    return tuple(messages)


def question_text(message: StoredMessage) -> str:
    """The question with its files, each under its name and inside a fence longer than any in it."""
    parts = [f"File “{each.name}”:\n{_fenced(each.text)}" for each in message.attachments]
    return "\n\n".join([*parts, message.text])


def without_thinking(text: str) -> str:
    return _THINKING.sub("", text, count=1)


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _thinking_just_ended(database: Database, message_id: int) -> bool:
    """Whether the last pieces end the thinking: the mark may be cut across two or three of them."""
    rows = database.rows(
        "SELECT text FROM answer_pieces WHERE message_id = ? ORDER BY id DESC LIMIT ?",
        (message_id, len(_THINKING_END)),
    )
    return _THINKING_END in "".join(str(row["text"]) for row in reversed(rows))


def _token_ids(database: Database, message_id: int) -> tuple[int, ...]:
    ids: list[int] = []
    for row in database.rows("SELECT token_ids FROM answer_pieces WHERE message_id = ? ORDER BY id", (message_id,)):
        with suppress(ValueError, TypeError):
            ids += json.loads(row["token_ids"])
    return tuple(ids)


def _end(database: Database, message_id: int, text: str, state: AnswerState, error: str, now: float) -> None:
    database.write("UPDATE messages SET text = ?, state = ?, error = ? WHERE id = ?", (text, state, error, message_id))
    database.write("DELETE FROM answer_pieces WHERE message_id = ?", (message_id,))
    database.write(
        "UPDATE conversations SET updated_at = ?, is_unread = 1"
        " WHERE id = (SELECT conversation_id FROM messages WHERE id = ?)",
        (now, message_id),
    )
