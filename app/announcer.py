"""Says that an answer or a job is done, once, to somebody who looks elsewhere.

Owns the sentences. Must not know how a notice looks: the tray shows it.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.answers import AnswerQueue
from app.conversations.store import ConversationStore
from app.job_records import JobState
from app.jobs import JobBoard
from app.settings import NOTIFY, Settings
from engine.errors import EngineError
from engine.events import GenerationResult, StopReason

Notify = Callable[[str, str, str], None]
_EXCERPT = 120


class Announcer(QObject):
    """``is_seen`` says whether the window is in front; ``notify`` takes a title, a text and where a click goes."""

    def __init__(
        self,
        settings: Settings,
        conversations: ConversationStore,
        *,
        is_seen: Callable[[], bool],
        notify: Notify,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._settings = settings
        self._conversations = conversations
        self._is_seen = is_seen
        self._notify = notify
        self._jobs: JobBoard | None = None

    def follow(self, answers: AnswerQueue, jobs: JobBoard) -> None:
        """What is done already is not told."""
        self._jobs = jobs
        answers.answer_finished.connect(self._take_answer)
        answers.answer_failed.connect(self._take_failure)
        jobs.job_ended.connect(self._take_job)

    def _take_answer(self, message_id: int, result: GenerationResult | None) -> None:
        if result is not None and result.stop_reason is not StopReason.CANCELLED:
            self._tell_answer(message_id, self.tr("The answer is there"), result.text)

    def _take_failure(self, message_id: int, error: EngineError) -> None:
        self._tell_answer(message_id, self.tr("The answer could not be finished"), error.message)

    def _tell_answer(self, message_id: int, title: str, text: str) -> None:
        message = self._conversations.message(message_id)
        if message is not None:
            self._tell(title, " ".join(text.split())[:_EXCERPT], f"chat:{message.conversation_id}")

    def _take_job(self, job_id: str) -> None:
        job = self._jobs.job(job_id) if self._jobs else None
        if job is None:
            return
        if job.state is JobState.DONE:
            self._tell(self.tr("Done"), job.title, "library")
        elif job.state is JobState.FAILED:
            sentence = job.error.message if job.error else ""
            self._tell(self.tr("A job needs you"), f"{job.title}\n{sentence}".strip(), "library")

    def _tell(self, title: str, text: str, target: str) -> None:
        if self._settings.value(NOTIFY) and not self._is_seen():
            self._notify(title, text, target)
