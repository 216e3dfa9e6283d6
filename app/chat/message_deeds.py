"""What the buttons and keys at a message do: copy, edit in the composer, answer again, delete with a way back.

Owns which message is being edited and which can still be brought back. Must not know how a message looks.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtGui import QGuiApplication

from app.chat.chat_desk import ChatDesk
from app.chat.composer import Composer, ComposerMode
from app.chat.footer_view import MessageAction
from app.chat.transcript import Transcript
from app.conversations.answers import without_thinking
from app.conversations.records import WORKING, Draft
from app.conversations.store import ConversationStore
from app.widgets.notice_bar import NoticeBar, NoticeKind

_UNDO_MS = 10_000


class MessageDeeds(QObject):
    def __init__(
        self,
        desk: ChatDesk,
        store: ConversationStore,
        composer: Composer,
        transcript: Transcript,
        notice: NoticeBar,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._desk = desk
        self._store = store
        self._composer = composer
        self._transcript = transcript
        self._notice = notice
        self._edited: int | None = None
        self._deleted: int | None = None
        self._undo_timer = QTimer(self, singleShot=True, interval=_UNDO_MS)
        self._undo_timer.timeout.connect(self.forget_deleted)
        transcript.action_chosen.connect(self.act)
        composer.edit_asked.connect(self._finish_edit)
        composer.edit_ended.connect(self._forget_edit)
        composer.last_prompt_wanted.connect(self.edit_last_question)
        desk.message_deleted.connect(self._offer_undo)
        notice.action_chosen.connect(self.undo_delete)
        notice.replaced.connect(self._forget_undo)

    @Slot(int, object)
    def act(self, message_id: int, action: MessageAction) -> None:
        deeds = {
            MessageAction.COPY: lambda: self._copy(message_id),
            MessageAction.EDIT: lambda: self._edit(message_id),
            MessageAction.REGENERATE: lambda: self._desk.regenerate(message_id),
            MessageAction.DELETE: lambda: self._desk.delete_message(message_id),
            MessageAction.OLDER: lambda: self._desk.step_version(message_id, -1),
            MessageAction.NEWER: lambda: self._desk.step_version(message_id, 1),
        }
        deeds[action]()

    @Slot()
    def edit_last_question(self) -> None:
        question = self._desk.last_question()
        if question is not None:
            self._edit(question.id)

    def copy_last(self) -> None:
        answer = self._desk.last_answer()
        if answer is not None:
            self._copy(answer.id)

    def forget_deleted(self) -> None:
        """It can no longer be brought back from here."""
        if self._deleted is not None:
            self._deleted = None
            self._notice.clear()

    @Slot()
    def undo_delete(self) -> None:
        if self._deleted is not None:
            self._desk.restore_message(self._deleted)
        self.forget_deleted()

    def _copy(self, message_id: int) -> None:
        message = self._store.message(message_id)
        if message is not None:
            QGuiApplication.clipboard().setText(without_thinking(message.text))

    def _edit(self, message_id: int) -> None:
        message = self._store.message(message_id)
        if message is None or message.state in WORKING:
            return
        is_answer = message.role == "assistant"
        self._composer.begin_edit(
            ComposerMode.EDIT_ANSWER if is_answer else ComposerMode.EDIT_QUESTION,
            Draft(message.text, message.attachments, message.images),
        )
        self._edited = message_id

    @Slot(object)
    def _finish_edit(self, draft: Draft) -> None:
        message_id, mode = self._edited, self._composer.mode
        self._composer.cancel_edit()
        if message_id is None:
            return
        if mode is ComposerMode.EDIT_ANSWER:
            self._desk.edit_answer(message_id, draft.text)
        else:
            self._desk.edit_question(message_id, draft)
            self._transcript.jump_to_end()

    @Slot()
    def _forget_edit(self) -> None:
        self._edited = None

    @Slot()
    def _forget_undo(self) -> None:
        """Something else is said where it was offered."""
        self._deleted = None

    @Slot(int)
    def _offer_undo(self, message_id: int) -> None:
        gone = self.tr("The message and what followed it are gone.")
        self._notice.show_notice(NoticeKind.INFO, gone, action=self.tr("Undo"))
        self._deleted = message_id
        self._undo_timer.start()
