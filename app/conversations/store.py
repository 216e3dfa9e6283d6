"""The conversations: what was written, by whom, in which version, and what is still being written.

Owns the words on disk. Every write is durable when it returns. Messages form a tree: the children of one parent
are versions of each other, exactly one of them is active, and the active ones from the root are what is read.
Nothing is overwritten; deleting hides for 30 days before it erases. Knows nothing of Qt or of how answers are made.
Any thread may call it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from app.conversations import answers, copies, search
from app.conversations.database import Database, SqlValue
from app.conversations.images import ImageFolder
from app.conversations.message_reader import MessageReader
from app.conversations.records import (
    WORKING,
    AnswerState,
    Attachment,
    Conversation,
    Draft,
    Folder,
    Preset,
    Role,
    SearchHit,
    StoredImage,
    StoredMessage,
    UnfinishedAnswer,
    attachments_to_json,
    images_from_json,
    images_to_json,
    sampling_to_json,
)
from app.conversations.rows import read_conversation, read_draft, read_preset, read_rows
from engine.api import SamplingOptions
from engine.events import GenerationResult

KEPT_AFTER_DELETE_S = 30 * 24 * 3600
IMAGES_KEPT_S = 24 * 3600
"""Without a message: one that was just pasted has none yet."""

_CONVERSATIONS = """
    SELECT *, EXISTS (
        SELECT 1 FROM messages WHERE conversation_id = conversations.id
        AND state IN ('waiting', 'running') AND deleted_at IS NULL
    ) AS is_working
    FROM conversations
"""


class ConversationStore:
    def __init__(self, path: Path, *, now: Callable[[], float] = time.time) -> None:
        """Opens or makes the file, and erases what was deleted 30 days ago. Raises ``StoreError``."""
        self._database = Database(path)
        self._messages = MessageReader(self._database)
        self.images = ImageFolder(path.parent / "images")
        self._now = now
        self._listeners: list[Callable[[], None]] = []
        self._open_id: int | None = None
        self._revision = 0
        self._erase_old()

    @property
    def rescued_from(self) -> Path | None:
        """The damaged file that was set aside at opening, after all that could be read was copied over."""
        return self._database.rescued_from

    def close(self) -> None:
        self._database.close()

    def listen(self, listener: Callable[[], None]) -> Callable[..., None]:
        """``listener`` is called after what a list of chats shows has changed, in the thread that changed it.

        Returns what ends that.
        """
        self._listeners.append(listener)
        return lambda *_: self._listeners.remove(listener)

    @property
    def revision(self) -> int:
        """Grows with every change but tokens and drafts: what was read at the same revision still holds."""
        return self._revision

    # Conversations

    @property
    def open_id(self) -> int | None:
        """The conversation that is being read."""
        return self._open_id

    def open_conversation(self, conversation_id: int | None) -> None:
        """It is being read now: nothing in it is unread, and the next start begins with it. None: a new one."""
        self._open_id = conversation_id
        if conversation_id is not None:
            self._database.write(
                "UPDATE conversations SET opened_at = ?, is_unread = 0 WHERE id = ?", (self._now(), conversation_id)
            )
        self._notify()

    def last_opened_id(self) -> int | None:
        row = self._database.row(
            "SELECT id FROM conversations WHERE deleted_at IS NULL AND opened_at IS NOT NULL"
            " ORDER BY opened_at DESC, id DESC LIMIT 1"
        )
        return None if row is None else int(row["id"])

    def conversations(self) -> list[Conversation]:
        """All that are not deleted, the latest first."""
        sql = f"{_CONVERSATIONS} WHERE deleted_at IS NULL ORDER BY updated_at DESC, id DESC"
        return read_rows(self._database.rows(sql), read_conversation)

    def conversation(self, conversation_id: int) -> Conversation | None:
        rows = self._database.rows(f"{_CONVERSATIONS} WHERE id = ? AND deleted_at IS NULL", (conversation_id,))
        return next(iter(read_rows(rows, read_conversation)), None)

    def add_conversation(
        self, title: str = "", *, model: str = "", system_prompt: str = "", sampling: SamplingOptions | None = None
    ) -> Conversation:
        now = self._now()
        conversation_id = self._database.write(
            "INSERT INTO conversations (title, created_at, updated_at, model, system_prompt, sampling)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (title, now, now, model, system_prompt, sampling_to_json(sampling or SamplingOptions())),
        )
        found = self.conversation(conversation_id)
        assert found is not None
        self._notify()
        return found

    def add_copy(
        self, conversation: Conversation, folder: str, messages: Sequence[StoredMessage], active: Collection[int]
    ) -> int:
        """A new conversation like this one, with copies of its messages; see ``app.conversations.copies``."""
        conversation_id = copies.add_copy(self._database, conversation, folder, messages, active)
        self._notify()
        return conversation_id

    def rename_conversation(self, conversation_id: int, title: str, *, by_user: bool = True) -> None:
        """A title the user gave is never replaced by an automatic one."""
        if by_user:
            self._set(conversation_id, "title", title)
            self._set(conversation_id, "is_title_manual", True)
        else:
            self._database.write(
                "UPDATE conversations SET title = ? WHERE id = ? AND is_title_manual = 0", (title, conversation_id)
            )
            self._notify()

    def set_model(self, conversation_id: int, model: str) -> None:
        self._set(conversation_id, "model", model)

    def set_system_prompt(self, conversation_id: int, text: str) -> None:
        self._set(conversation_id, "system_prompt", text)

    def set_sampling(self, conversation_id: int, sampling: SamplingOptions) -> None:
        self._set(conversation_id, "sampling", sampling_to_json(sampling))

    def set_thinking(self, conversation_id: int, is_on: bool | None) -> None:
        self._set(conversation_id, "thinking", is_on)

    def set_pinned(self, conversation_id: int, is_pinned: bool) -> None:
        self._set(conversation_id, "is_pinned", is_pinned)

    def set_unread(self, conversation_id: int, is_unread: bool) -> None:
        self._set(conversation_id, "is_unread", is_unread)

    def set_folder(self, conversation_id: int, folder_id: int | None) -> None:
        self._set(conversation_id, "folder_id", folder_id)

    def set_context_start(self, conversation_id: int, message_id: int | None) -> None:
        """What precedes the message stays readable, but is no longer sent to the model."""
        self._set(conversation_id, "context_start_id", message_id)

    def delete_conversation(self, conversation_id: int) -> None:
        """Hidden now, erased after 30 days."""
        self._set(conversation_id, "deleted_at", self._now())

    def restore_conversation(self, conversation_id: int) -> None:
        self._set(conversation_id, "deleted_at", None)

    # Folders and presets

    def folders(self) -> list[Folder]:
        rows = self._database.rows("SELECT id, name FROM folders ORDER BY name COLLATE NOCASE, id")
        return [Folder(int(row["id"]), str(row["name"])) for row in rows]

    def add_folder(self, name: str) -> Folder:
        folder = Folder(self._database.write("INSERT INTO folders (name) VALUES (?)", (name,)), name)
        self._notify()
        return folder

    def rename_folder(self, folder_id: int, name: str) -> None:
        self._database.write("UPDATE folders SET name = ? WHERE id = ?", (name, folder_id))
        self._notify()

    def remove_folder(self, folder_id: int) -> None:
        """Its conversations stay, without a folder."""
        self._database.write("DELETE FROM folders WHERE id = ?", (folder_id,))
        self._notify()

    def presets(self) -> list[Preset]:
        return read_rows(self._database.rows("SELECT * FROM presets ORDER BY name COLLATE NOCASE"), read_preset)

    def save_preset(self, name: str, system_prompt: str, sampling: SamplingOptions) -> None:
        """Under a name that exists it replaces that preset."""
        self._database.write(
            "INSERT INTO presets (name, system_prompt, sampling) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE"
            " SET system_prompt = excluded.system_prompt, sampling = excluded.sampling",
            (name, system_prompt, sampling_to_json(sampling)),
        )

    def remove_preset(self, preset_id: int) -> None:
        self._database.write("DELETE FROM presets WHERE id = ?", (preset_id,))

    # Drafts

    def draft(self, conversation_id: int) -> Draft:
        rows = self._database.rows(
            "SELECT draft, draft_attachments, draft_images FROM conversations WHERE id = ?", (conversation_id,)
        )
        return next(iter(read_rows(rows, read_draft)), Draft())

    def save_draft(self, conversation_id: int, draft: Draft) -> None:
        self._database.write(
            "UPDATE conversations SET draft = ?, draft_attachments = ?, draft_images = ? WHERE id = ?",
            (draft.text, attachments_to_json(draft.attachments), images_to_json(draft.images), conversation_id),
        )

    # Messages

    def messages(self, conversation_id: int) -> list[StoredMessage]:
        """The active path from the first message to the last. An answer in the making has its text so far."""
        return self._messages.active_path(conversation_id)

    def all_messages(self, conversation_id: int) -> list[StoredMessage]:
        """Every version, in the order of writing. ``version`` and ``versions`` are not filled in."""
        return self._messages.every(conversation_id)

    def path_to(self, message_id: int) -> list[StoredMessage]:
        """The messages above it, the first one first."""
        return self._messages.path_to(message_id)

    def working_message(self, conversation_id: int) -> int | None:
        """The first answer that is made or waits."""
        row = self._database.row(
            "SELECT id FROM messages WHERE conversation_id = ? AND state IN ('waiting', 'running')"
            " AND deleted_at IS NULL ORDER BY id LIMIT 1",
            (conversation_id,),
        )
        return None if row is None else int(row["id"])

    def message(self, message_id: int) -> StoredMessage | None:
        return self._messages.message(message_id)

    def versions(self, message_id: int) -> list[int]:
        """Ids of the message and its siblings, oldest first."""
        found = self.message(message_id)
        return [] if found is None else self._messages.sibling_ids(found)

    def add_message(
        self,
        conversation_id: int,
        role: Role,
        text: str = "",
        *,
        parent_id: int | None,
        model: str = "",
        state: AnswerState = AnswerState.DONE,
        attachments: Sequence[Attachment] = (),
        images: Sequence[StoredImage] = (),
        is_blind: bool = False,
    ) -> StoredMessage:
        """A new active version below ``parent_id`` (None: the first message). Its siblings step back."""
        now = self._now()
        with self._database.transaction():
            self._deactivate(conversation_id, parent_id)
            message_id = self._database.write(
                "INSERT INTO messages (conversation_id, parent_id, role, text, created_at, model, state, attachments,"
                " images, is_blind) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    conversation_id,
                    parent_id,
                    role,
                    text,
                    now,
                    model,
                    state,
                    attachments_to_json(tuple(attachments)),
                    images_to_json(tuple(images)),
                    is_blind,
                ),
            )
            self._set(conversation_id, "updated_at", now)
        found = self.message(message_id)
        assert found is not None
        return found

    def activate(self, message_id: int) -> None:
        """Shows this version instead of its siblings."""
        found = self.message(message_id)
        if found is None:
            return
        with self._database.transaction():
            self._deactivate(found.conversation_id, found.parent_id)
            self._database.write("UPDATE messages SET is_active = 1 WHERE id = ?", (message_id,))
        self._notify()

    def delete_message(self, message_id: int) -> None:
        """Hides this version with all that follows it; the version before it, or after it, is shown instead."""
        siblings = self.versions(message_id)
        self._database.write("UPDATE messages SET deleted_at = ? WHERE id = ?", (self._now(), message_id))
        if len(siblings) > 1:
            index = siblings.index(message_id)
            self.activate(siblings[index - 1] if index else siblings[1])
        self._notify()

    def restore_message(self, message_id: int) -> None:
        self._database.write("UPDATE messages SET deleted_at = NULL WHERE id = ?", (message_id,))
        self.activate(message_id)

    # Answers in the making; see app.conversations.answers

    def begin_answer(self, message_id: int) -> None:
        """The engine works on it now. What arrived before an interruption is kept."""
        answers.begin_answer(self._database, message_id, self._now())
        self._messages.forget(message_id)
        self._notify()

    def append_tokens(self, message_id: int, token_ids: Sequence[int], text: str) -> None:
        """On the disk when it returns (a few milliseconds): gather tokens for up to a second rather than one by one."""
        answers.append_tokens(self._database, message_id, token_ids, text, self._now())

    def finish_answer(self, message_id: int, result: GenerationResult) -> None:
        """``result.text`` replaces what was gathered. A cancelled answer is kept as stopped."""
        answers.finish_answer(self._database, message_id, result, self._now())
        self._ended(message_id)

    def fail_answer(self, message_id: int, sentence: str) -> None:
        """Keeps what had arrived, and says why it ends there."""
        answers.end_answer(self._database, message_id, AnswerState.FAILED, sentence, self._now())
        self._ended(message_id)

    def stop_answer(self, message_id: int) -> None:
        """For an answer that was stopped before the engine had begun, or without a result."""
        answers.end_answer(self._database, message_id, AnswerState.STOPPED, "", self._now())
        self._ended(message_id)

    def unfinished_answers(self) -> list[UnfinishedAnswer]:
        """Waiting and interrupted ones, in the order they were asked for."""
        return [found for each in answers.unfinished_ids(self._database) if (found := self.unfinished_answer(each))]

    def unfinished_answer(self, message_id: int) -> UnfinishedAnswer | None:
        """The prompt and what arrived so far, for a message that is waiting or running; else None."""
        message = self.message(message_id)
        conversation = self.conversation(message.conversation_id) if message else None
        if message is None or conversation is None or message.state not in WORKING:
            return None
        path = self.path_to(message_id)
        return answers.unfinished_answer(self._database, conversation, message, path, self.images.path)

    def text_so_far(self, message_id: int) -> str:
        """What arrived of an answer in the making."""
        return answers.text_so_far(self._database, message_id)

    def measured_s_per_token(self, model: str) -> float | None:
        """What a token took in this model's latest answer that was longer than a few."""
        return answers.measured_s_per_token(self._database, model)

    def last_used(self) -> dict[str, float]:
        """When each model was last asked for an answer, also in chats that were deleted since. Keys as in messages."""
        return answers.last_used(self._database)

    # Search

    def search(self, query: str, *, limit: int = 100) -> list[SearchHit]:
        """Conversations whose title or messages contain ``query``, case ignored: titles first, then the latest."""
        return search.search(self._database, query, limit)

    def _deactivate(self, conversation_id: int, parent_id: int | None) -> None:
        self._database.write(
            "UPDATE messages SET is_active = 0 WHERE conversation_id = ? AND parent_id IS ?",
            (conversation_id, parent_id),
        )

    def _set(self, conversation_id: int, column: str, value: SqlValue | bool) -> None:
        self._database.write(f"UPDATE conversations SET {column} = ? WHERE id = ?", (value, conversation_id))
        self._notify()

    def _ended(self, message_id: int) -> None:
        """An answer that ends before the reader's eyes is read."""
        self._messages.forget(message_id)
        if self._open_id is not None:
            self._database.write(
                "UPDATE conversations SET is_unread = 0 WHERE id = ?"
                " AND id = (SELECT conversation_id FROM messages WHERE id = ?)",
                (self._open_id, message_id),
            )
        self._notify()

    def _notify(self) -> None:
        self._revision += 1
        for listener in tuple(self._listeners):
            listener()

    def _erase_old(self) -> None:
        before = self._now() - KEPT_AFTER_DELETE_S
        self._database.write("DELETE FROM conversations WHERE deleted_at < ?", (before,))
        self._database.write("DELETE FROM messages WHERE deleted_at < ?", (before,))

    def remove_unused_images(self) -> None:
        """Those no message and no draft has had for a day. Reads a folder: for a thread of its own.

        None where a damaged file was ever set aside: what it holds may need them.
        """
        if self._database.has_damaged_files():
            return
        rows = self._database.rows(
            "SELECT images FROM messages WHERE images != '[]'"
            " UNION ALL SELECT draft_images FROM conversations WHERE draft_images != '[]'"
        )
        used = {image.file for row in rows for image in images_from_json(str(row["images"]))}
        self.images.remove_unused(used, self._now() - IMAGES_KEPT_S)
