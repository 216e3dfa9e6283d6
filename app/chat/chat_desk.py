"""The open conversation and what can be done with it: send, answer again, edit, delete, walk versions, stop.

Turns deeds into writes of the store and places in the queue of answers. Owns which conversation is open. Must not
know widgets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.answers import AnswerQueue
from app.chat.draft_keeper import DraftKeeper
from app.conversations.records import WORKING, AnswerState, Conversation, Draft, StoredMessage
from app.conversations.store import ConversationStore
from engine.api import SamplingOptions

_TITLE_LENGTH = 60


class ChatDesk(QObject):
    """``opened`` when another conversation is shown, ``changed`` when its messages are others than before.

    ``title_changed`` when somebody else gave it another title.
    """

    opened = Signal()
    changed = Signal()
    options_changed = Signal()
    message_deleted = Signal(int)
    title_changed = Signal()
    _store_changed = Signal()

    def __init__(
        self,
        store: ConversationStore,
        queue: AnswerQueue,
        default_model: Callable[[], str],
        is_blind: Callable[[str], bool],
        parent: QObject | None = None,
    ) -> None:
        """``default_model`` names the model for a new conversation; empty where there is none.

        ``is_blind``: whether a model is known to read text only, so that no images are sent to it.
        """
        super().__init__(parent)
        self._store = store
        self._queue = queue
        self._default_model = default_model
        self._is_blind = is_blind
        self._drafts = DraftKeeper(store, self)
        self._id: int | None = None
        self._blank = _blank("")
        self._read: tuple[tuple[int | None, int], tuple[StoredMessage, ...]] | None = None
        self._title = ""
        # The store may tell from the thread that writes answers: the signal brings it to this one.
        self._store_changed.connect(self._look_at_title, Qt.ConnectionType.QueuedConnection)
        self.destroyed.connect(store.listen(self._store_changed.emit))

    @property
    def conversation(self) -> Conversation:
        """What is stored of it; a new one is not stored before something is written."""
        found = self._store.conversation(self._id) if self._id is not None else None
        return found or self._blank

    @property
    def id(self) -> int | None:
        return self._id

    def messages(self) -> Sequence[StoredMessage]:
        """Read anew only where something may have changed: a long conversation takes a while."""
        key = (self._id, self._store.revision)
        if self._read is None or self._read[0] != key:
            self._read = (key, tuple(self._store.messages(self._id)) if self._id is not None else ())
        return self._read[1]

    @property
    def working_message(self) -> int | None:
        """The answer of this conversation that is made or waits; the first, if there are several."""
        if self._id is None or not self._queue.is_working(self._id):
            return None
        return self._store.working_message(self._id)

    def open(self, conversation_id: int) -> None:
        if self._store.conversation(conversation_id) is not None:
            self._id = conversation_id
            self._store.open_conversation(conversation_id)
            self.opened.emit()

    def open_new(self) -> None:
        """With the model of the one before, which is what one usually wants. One that is still empty is new already."""
        if self._id is not None and not self.messages() and self.draft().is_empty:
            self.open(self._id)
            return
        model = self.conversation.model or self._default_model()
        self._id = None
        self._blank = _blank(model)
        self._store.open_conversation(None)
        self.opened.emit()

    # What is written

    def draft(self) -> Draft:
        return self._drafts.draft(self._id) if self._id is not None else Draft()

    def save_draft(self, draft: Draft) -> None:
        """The first word makes a new conversation, so that it is not lost."""
        if self._id is None and draft.is_empty:
            return
        self._drafts.save(self._stored(), draft)

    def send(self, draft: Draft) -> None:
        conversation_id = self._stored()
        messages = self._store.messages(conversation_id)
        parent = messages[-1].id if messages else None
        self._ask(conversation_id, draft, parent)

    def edit_question(self, message_id: int, draft: Draft) -> None:
        """A sibling of the old one, with an answer of its own."""
        message = self._store.message(message_id)
        if message is not None:
            self._ask(message.conversation_id, draft, message.parent_id)

    def edit_answer(self, message_id: int, text: str) -> None:
        message = self._store.message(message_id)
        if message is not None:
            self._store.add_message(
                message.conversation_id, "assistant", text, parent_id=message.parent_id, model=message.model
            )
            self.changed.emit()

    def regenerate(self, message_id: int) -> None:
        """Another answer to the same question. A failed one without a word makes room for it."""
        message = self._store.message(message_id)
        if message is not None and message.role == "assistant" and message.parent_id is not None:
            if message.state is AnswerState.FAILED and not message.text:
                self._store.delete_message(message_id)
            self._answer(message.conversation_id, message.parent_id)

    def regenerate_last(self) -> None:
        last = next((each for each in reversed(self.messages()) if each.role == "assistant"), None)
        if last is not None and last.state not in WORKING:
            self.regenerate(last.id)

    def step_version(self, message_id: int, step: int) -> None:
        """-1 is the version before, 1 the one after."""
        versions = self._store.versions(message_id)
        index = versions.index(message_id) + step if message_id in versions else -1
        if 0 <= index < len(versions):
            self._store.activate(versions[index])
            self.changed.emit()

    def delete_message(self, message_id: int) -> None:
        working = self.working_message
        if working is not None and message_id in {working, *(each.id for each in self._store.path_to(working))}:
            self._queue.cancel(working)
        self._store.delete_message(message_id)
        self.message_deleted.emit(message_id)
        self.changed.emit()

    def restore_message(self, message_id: int) -> None:
        self._store.restore_message(message_id)
        self.changed.emit()

    def stop(self, message_id: int | None = None) -> None:
        working = message_id if message_id is not None else self.working_message
        if working is not None:
            self._queue.cancel(working)

    def last_question(self) -> StoredMessage | None:
        return next((each for each in reversed(self.messages()) if each.role == "user"), None)

    def last_answer(self) -> StoredMessage | None:
        return next((each for each in reversed(self.messages()) if each.role == "assistant"), None)

    # Its options

    def set_model(self, model: str) -> None:
        if self._id is None:
            self._blank = _blank(model, like=self._blank)
        else:
            self._store.set_model(self._id, model)
        self.options_changed.emit()

    def set_system_prompt(self, text: str) -> None:
        if text != self.conversation.system_prompt:
            self._store.set_system_prompt(self._stored(), text)
            self.options_changed.emit()

    def set_sampling(self, sampling: SamplingOptions) -> None:
        if sampling != self.conversation.sampling:
            self._store.set_sampling(self._stored(), sampling)
            self.options_changed.emit()

    def set_thinking(self, is_on: bool) -> None:
        self._store.set_thinking(self._stored(), is_on)
        self.options_changed.emit()

    # When the context is full

    def drop_oldest(self, message_id: int) -> None:
        """Leaves out the older half of the turns before the question, and answers it again."""
        path = [each for each in self.messages() if each.role == "user"]
        start = self.conversation.context_start_id
        first = next((i for i, each in enumerate(path) if each.id == start), 0)
        kept = path[first + max((len(path) - first) // 2, 1) :] or path[-1:]
        if kept:
            self._store.set_context_start(self._stored(), kept[0].id)
            self.regenerate(message_id)

    def enlarge_context(self, message_id: int, tokens: int) -> None:
        """Loads the model anew with room for that many tokens, and answers again."""
        message = self._store.message(message_id)
        if message is not None:
            self._queue.allow_context(self.conversation.model or self._default_model(), tokens)
            self.regenerate(message_id)

    def start_fresh(self, summary: str, question: Draft) -> None:
        """A new conversation, like the old one, that begins with what the user kept of it."""
        old = self.conversation
        text = f"{summary.strip()}\n\n{question.text.strip()}".strip()
        fresh = self._store.add_conversation(
            old.title, model=old.model, system_prompt=old.system_prompt, sampling=old.sampling
        )
        self._store.set_folder(fresh.id, old.folder_id)
        if old.thinking is not None:
            self._store.set_thinking(fresh.id, old.thinking)
        self.open(fresh.id)
        self.send(replace(question, text=text))

    # Inside

    @Slot()
    def _look_at_title(self) -> None:
        """Only while somebody reads it: a page that is not seen asks again when it is."""
        if self._store.open_id != self._id:
            return
        title = self.conversation.title
        if title != self._title:
            self._title = title
            self.title_changed.emit()

    def _ask(self, conversation_id: int, draft: Draft, parent_id: int | None) -> None:
        question = self._store.add_message(
            conversation_id,
            "user",
            draft.text.strip(),
            parent_id=parent_id,
            attachments=draft.attachments,
            images=draft.images,
        )
        self._drafts.save(conversation_id, Draft())
        if parent_id is None:
            self._store.rename_conversation(conversation_id, title_of(draft), by_user=False)
        self._answer(conversation_id, question.id)

    def _answer(self, conversation_id: int, question_id: int) -> None:
        conversation = self._store.conversation(conversation_id)
        model = (conversation.model if conversation else "") or self._default_model()
        answer = self._store.add_message(
            conversation_id,
            "assistant",
            parent_id=question_id,
            model=model,
            state=AnswerState.WAITING,
            is_blind=self._is_blind(model),
        )
        unfinished = self._store.unfinished_answer(answer.id)
        if unfinished is not None:
            self._queue.enqueue(
                conversation_id,
                answer.id,
                model,
                unfinished.messages,
                unfinished.sampling,
                thinking=unfinished.thinking,
            )
        self.changed.emit()

    def _stored(self) -> int:
        """The id of the open conversation, which is stored from now on."""
        if self._id is None:
            blank = self._blank
            made = self._store.add_conversation(
                model=blank.model, system_prompt=blank.system_prompt, sampling=blank.sampling
            )
            self._id = made.id
            self._store.open_conversation(made.id)
        return self._id


def title_of(draft: Draft) -> str:
    """The first line of a question, or the name of what goes with it, short enough for a list."""
    names = [each.name for each in (*draft.images, *draft.attachments)]
    line = next((each.strip() for each in (*draft.text.splitlines(), *names) if each.strip()), "")
    if len(line) <= _TITLE_LENGTH:
        return line
    cut = line[:_TITLE_LENGTH].rsplit(" ", 1)[0]
    return f"{cut if len(cut) > _TITLE_LENGTH // 2 else line[:_TITLE_LENGTH]}…"


def _blank(model: str, *, like: Conversation | None = None) -> Conversation:
    return Conversation(
        id=0,
        title="",
        is_title_manual=False,
        created_at=0.0,
        updated_at=0.0,
        model=model,
        system_prompt=like.system_prompt if like else "",
        sampling=like.sampling if like else SamplingOptions(),
    )
