"""One job of the job board: what it does, how far it is, and its buttons."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.engine_texts import shown_text
from app.job_records import Job, JobState
from app.job_texts import (
    LeadingProgress,
    amount_text,
    block_text,
    pace_of_job_text,
    percent_text,
    retry_text,
    share_of,
    waits_text,
)
from app.theme import tokens
from app.widgets.buttons import button, icon_button
from app.widgets.labels import label, paragraph
from app.widgets.states import ProgressLine
from engine.events import JobProgress


class JobRow(QWidget):
    """Only the buttons that do something in the job's state are there."""

    pause_asked = Signal()
    resume_asked = Signal()
    cancel_asked = Signal()
    retry_asked = Signal()
    dismiss_asked = Signal()

    def __init__(self, job: Job, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look = tokens()
        self._leading = LeadingProgress()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, look.s + look.xs, 0, look.s + look.xs)
        row.setSpacing(look.s)
        texts = QVBoxLayout()
        texts.setSpacing(look.xs)
        self._title = label(job.title, "strong")
        self._line = ProgressLine(self.tr("Progress of {title}").format(title=job.title))
        self._said = paragraph("", "small")
        texts.addWidget(self._title)
        texts.addWidget(self._line)
        texts.addWidget(self._said)
        row.addLayout(texts, 1)
        row.addSpacing(look.s)
        self.pause = icon_button("pause", self.tr("Pause {title}").format(title=job.title))
        self.resume = icon_button("play", self.tr("Continue {title}").format(title=job.title))
        self.retry = button(retry_text(job), icon_name="refresh")
        self.cancel = icon_button("close", self.tr("Cancel {title}").format(title=job.title))
        self.dismiss = icon_button("close", self.tr("Dismiss {title}").format(title=job.title))
        for each, signal in (
            (self.pause, self.pause_asked),
            (self.resume, self.resume_asked),
            (self.retry, self.retry_asked),
            (self.cancel, self.cancel_asked),
            (self.dismiss, self.dismiss_asked),
        ):
            each.clicked.connect(signal)
            row.addWidget(each)
        self.show_job(job)

    def show_job(self, job: Job) -> None:
        state = job.state
        self.pause.setVisible(state in (JobState.QUEUED, JobState.RUNNING))
        self.resume.setVisible(state is JobState.PAUSED)
        self.retry.setVisible(state is JobState.FAILED)
        self.retry.setText(retry_text(job))
        self.retry.setAccessibleName(retry_text(job))
        self.cancel.setVisible(state in (JobState.QUEUED, JobState.RUNNING, JobState.PAUSED))
        self.dismiss.setVisible(state is JobState.FAILED)
        progress = self._leading.take(job.progress)
        is_failed = state is JobState.FAILED
        self._line.setVisible(not is_failed)
        if progress is None:
            self._line.show_progress(self._waiting(state), "", None if state is JobState.RUNNING else 0.0)
        else:
            what = self.tr("Paused") if state is JobState.PAUSED else block_text(progress)
            self._line.show_progress(what, percent_text(progress), share_of(progress))
        self._said.setText(self._figures(job, progress))

    def _waiting(self, state: JobState) -> str:
        if state is JobState.PAUSED:
            return self.tr("Paused")
        return self.tr("Waiting its turn") if state is JobState.QUEUED else self.tr("Getting ready")

    def _figures(self, job: Job, progress: JobProgress | None) -> str:
        if job.resumes_by_itself:
            return waits_text(job)
        if job.error is not None:
            return shown_text(f"{job.error.message} {job.error.next_step}".strip())
        if progress is None:
            return ""
        if job.state is JobState.RUNNING:
            return " · ".join(text for text in (amount_text(progress), pace_of_job_text(progress)) if text)
        return amount_text(progress)
