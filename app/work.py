"""What is under way in one sentence: an answer, a job, a graphics card's software, or nothing. For the tray, the
sleep block and closing.

Owns the summary. Must not know windows. It tells at most once a second, and nothing while nothing happens.
"""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, QTimer, Signal

from app.answers import AnswerQueue
from app.gpu.service import GpuRuntime
from app.gpu.texts import share_of
from app.job_records import Job, JobState
from app.job_texts import LeadingProgress
from app.jobs import JobBoard
from app.verdicts import duration_text
from engine.events import JobProgress, LayerProgress, PassKind

_PAUSE_MS = 1000


class Work(QObject):
    """``busy_changed`` at the first and the last piece of work; ``changed`` whenever the sentence may be another."""

    busy_changed = Signal(bool)
    changed = Signal()

    def __init__(self, answers: AnswerQueue, jobs: JobBoard, gpu: GpuRuntime, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._answers = answers
        self._jobs = jobs
        self._gpu = gpu
        self._was_busy = False
        self._progress: LayerProgress | None = None
        self._progress_at = 0.0
        self._leading: dict[str, LeadingProgress] = {}
        self._shown_progress: dict[str, JobProgress | None] = {}
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PAUSE_MS)
        self._timer.timeout.connect(self._tell)
        answers.answer_progress.connect(self._take_progress)
        for signal in (answers.answer_started, answers.answer_finished, answers.answer_failed):
            signal.connect(self._forget_progress)
        for signal in (answers.queue_changed, jobs.job_added, jobs.job_removed):
            signal.connect(self._look)
        jobs.job_changed.connect(self._take_job)
        gpu.changed.connect(self._look)

    def is_answering(self) -> bool:
        return self._answers.current is not None

    def running_jobs(self) -> list[Job]:
        return [job for job in self._jobs.jobs() if job.state is JobState.RUNNING]

    def is_busy(self) -> bool:
        return self.is_answering() or bool(self.running_jobs()) or self._gpu.status.is_busy

    def sentence(self) -> str:
        """Empty where nothing is under way."""
        lines = [self._answer_line()] if self.is_answering() else []
        lines += [self._job_line(job) for job in self.running_jobs()]
        if self._gpu.status.is_busy:
            lines.append(self._card_line())
        return "\n".join(lines)

    def _answer_line(self) -> str:
        progress = self._progress
        waiting = len(self._answers.waiting)
        if progress is None:
            text = self.tr("Getting the answer ready")
        elif progress.kind is PassKind.PREFILL:
            text = self.tr("Reading the prompt: {share:.0%}").format(share=progress.block / max(progress.blocks, 1))
        else:
            text = self.tr("Answering: token {token}, layer {block} of {blocks}").format(
                token=progress.token_index + 1, block=progress.block, blocks=progress.blocks
            )
        if progress is not None and (left := self._seconds_left(progress)) is not None:
            text = self.tr("{what} – next token in about {time}").format(what=text, time=duration_text(left))
        if waiting:
            text = self.tr("{what}; %n more waiting", "", waiting).format(what=text)
        return text

    def _seconds_left(self, progress: LayerProgress) -> float | None:
        if progress.pass_seconds_left is None or progress.pass_seconds_left < 2:
            return None
        return max(progress.pass_seconds_left - (time.monotonic() - self._progress_at), 1.0)

    def _job_line(self, job: Job) -> str:
        progress = self._shown_progress.get(job.id)
        if progress is None or not progress.bytes_total:
            return job.title
        share = progress.bytes_done / progress.bytes_total
        if progress.seconds_left is None:
            return self.tr("{title}: {share:.1%}").format(title=job.title, share=share)
        return self.tr("{title}: {share:.1%}, about {time} left").format(
            title=job.title, share=share, time=duration_text(progress.seconds_left)
        )

    def _card_line(self) -> str:
        status = self._gpu.status
        title = self.tr("Software for the graphics card")
        if (share := share_of(status.amount)) is None:
            return title
        return self.tr("{title}: {share:.1%}").format(title=title, share=share)

    def _take_progress(self, _message_id: int, progress: LayerProgress) -> None:
        self._progress = progress
        self._progress_at = time.monotonic()
        self._look()

    def _take_job(self, job_id: str) -> None:
        """Download and cutting take turns in telling: the line must not jump between them."""
        job = self._jobs.job(job_id)
        if job is None or job.state is not JobState.RUNNING:
            self._leading.pop(job_id, None)
            self._shown_progress.pop(job_id, None)
        else:
            self._shown_progress[job_id] = self._leading.setdefault(job_id, LeadingProgress()).take(job.progress)
        self._look()

    def _forget_progress(self) -> None:
        self._progress = None

    def _look(self) -> None:
        if not self._timer.isActive():
            self._timer.start()
        if self.is_busy() != self._was_busy:
            self._was_busy = not self._was_busy
            self.busy_changed.emit(self._was_busy)

    def _tell(self) -> None:
        self.changed.emit()
