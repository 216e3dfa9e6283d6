"""A model being prepared: phase, block, bytes, speed, time left; pause, go on, cancel; the starter meanwhile."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.engine_texts import shown_text
from app.job_records import Job, JobState
from app.job_texts import is_of_download, retry_text, waits_text
from app.widgets.buttons import button
from app.widgets.labels import paragraph
from app.widgets.notice_bar import NoticeBar, NoticeKind
from app.wizard.stage_view import StageView
from app.wizard.step_view import StepView


class ProgressStep(StepView):
    """Says what the job board says. The page decides what the buttons do."""

    pause_asked = Signal()
    resume_asked = Signal()
    cancel_asked = Signal()
    retry_asked = Signal()
    starter_asked = Signal()
    other_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("", "", has_back=False, parent=parent)
        self.notice = NoticeBar()
        self.notice.action_chosen.connect(self.retry_asked)
        self.column.addWidget(self.notice)
        self.download = StageView(self.tr("Progress of the download"))
        self.cutting = StageView(self.tr("Progress of the cutting"))
        self.notes = paragraph("", "muted")
        for each in (self.download, self.cutting, self.notes):
            self.column.addWidget(each)
        self.column.addStretch(1)
        self.pause = button(self.tr("Pause"), icon_name="pause")
        self.go_on = button(self.tr("Continue"), icon_name="play")
        self.cancel = button(self.tr("Cancel"), "quiet")
        self.pause.clicked.connect(self.pause_asked)
        self.go_on.clicked.connect(self.resume_asked)
        self.cancel.clicked.connect(self.cancel_asked)
        self.other = button(self.tr("Add another model"), "quiet", icon_name="plus")
        self.other.clicked.connect(self.other_asked)
        self.foot.insertWidget(0, self.pause)
        self.foot.insertWidget(1, self.go_on)
        self.foot.insertWidget(2, self.cancel)
        self.foot.insertWidget(5, self.other)
        self.forward.clicked.connect(self.starter_asked)
        self.set_forward(self.tr("Use the starter meanwhile"))

    def show_title(self, title: str, *, offers_starter: bool) -> None:
        self.heading.setText(title)
        self.set_forward(self.tr("Use the starter meanwhile"))
        self.forward.setVisible(offers_starter)
        self.notice.clear()
        self.download.clear(self.tr("Getting ready"))
        self.download.hide()
        self.cutting.clear(self.tr("Getting ready"))

    def show_starter_wait(self) -> None:
        self.set_forward(self.tr("Preparing the starter…"), is_enabled=False)

    def show_job(self, job: Job, *, night: str = "") -> None:
        """``night``: when a job that is held back begins, empty for one that is not."""
        self.pause.setVisible(job.state in (JobState.QUEUED, JobState.RUNNING))
        self.go_on.setVisible(job.state is JobState.PAUSED)
        self.cancel.setVisible(not job.is_over)
        self.text.setText(self._said(job, night))
        if job.progress is not None:
            is_of_hub = is_of_download(job.progress)
            stage = self.download if is_of_hub else self.cutting
            stage.show_progress(job.progress)
            if is_of_hub and self.download.isHidden():
                self.download.show()
                self.cutting.clear(self.tr("Cutting begins with the first file that has arrived"))
        for each in (self.download, self.cutting):
            each.set_running(job.state is JobState.RUNNING)
        self.notes.setText(shown_text(job.notices[-1]) if job.notices and not job.is_over else "")
        self._show_error(job)

    def _said(self, job: Job, night: str) -> str:
        if job.is_stopping:
            return self.tr("Stopping at the end of this block.")
        if night:
            return self.tr("This begins at night, at {time}. “Continue” starts it now.").format(time=night)
        if job.resumes_by_itself:
            return waits_text(job)
        texts = {
            JobState.QUEUED: self.tr("Another job is at work. This one begins as soon as that one has ended."),
            JobState.RUNNING: self.tr(
                "You can close the window or go on chatting: this continues, and goes on after a restart."
            ),
            JobState.PAUSED: self.tr("Paused. What is done is kept; continuing repeats at most one block."),
            JobState.FAILED: self.tr("It stopped. What is done is kept."),
            JobState.DONE: self.tr("Ready."),
            JobState.CANCELLED: self.tr("Cancelled."),
        }
        return texts[job.state]

    def _show_error(self, job: Job) -> None:
        """An old error is gone as soon as the job goes on."""
        error = job.error
        if error is None or job.state not in (JobState.FAILED, JobState.PAUSED):
            self.notice.clear()
            return
        is_failed = job.state is JobState.FAILED
        self.notice.show_error(
            NoticeKind.DANGER if is_failed else NoticeKind.WARNING,
            error,
            action=retry_text(job) if is_failed else "",
            can_dismiss=False,
        )
