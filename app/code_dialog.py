"""The question before a model's own Python code may run: whose it is, which files, and what a yes means.

Owns the question and how a yes reaches the engine, which remembers it. Must not know what is done after it.
"""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QFontMetrics, QShowEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from app.engine_calls import EngineCall
from app.engine_host import EngineHost
from app.job_records import Job
from app.jobs import JobBoard
from app.model_code import ModelCode
from app.theme import tokens
from app.widgets.buttons import button
from app.widgets.labels import label, paragraph
from app.widgets.notice_bar import NoticeBar, NoticeKind
from engine.errors import EngineError
from engine.quantities import format_size

_WIDTH = 560
_MOST_LINES = 8
_REVISION_DIGITS = 12


class CodeDialog(QDialog):
    """Accepted once the engine has noted the yes; rejected, also by Enter and Escape, where the code may not run."""

    def __init__(self, code: ModelCode, engine: EngineHost, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._code = code
        self._engine = engine
        self._call: EngineCall | None = None
        self.setFixedWidth(_WIDTH)
        self.notice = NoticeBar()
        self.files = QPlainTextEdit("\n".join(f"{name} · {format_size(nbytes)}" for name, nbytes in code.files))
        self.files.setReadOnly(True)
        self.files.setTabChangesFocus(True)
        self.files.setAccessibleName(self.tr("Files of the model's code"))
        self.no = button(self.tr("Don't run it"), "primary")
        self.allow = button(self.tr("Allow for this model and version"))
        self.no.setDefault(True)
        self.no.clicked.connect(self.reject)
        self.allow.clicked.connect(self._tell_engine)
        self._lay_out()
        self.no.setFocus()

    def reject(self) -> None:
        """Not while a yes is on its way to the engine: it would be remembered all the same."""
        if self._call is None:
            super().reject()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def _lay_out(self) -> None:
        look = tokens()
        title = self.tr("Run the code that comes with this model?")
        self.setWindowTitle(title)
        column = self._column = QVBoxLayout(self)
        column.setContentsMargins(look.l, look.l, look.l, look.m)
        column.setSpacing(look.m)
        heading = label(title, "title")
        heading.setWordWrap(True)
        column.addWidget(heading)
        column.addWidget(
            paragraph(
                self.tr("{model}, version {revision}, runs only with these Python files:").format(
                    model=self._code.model, revision=self._code.revision[:_REVISION_DIGITS]
                )
            )
        )
        column.addWidget(self.files)
        column.addWidget(
            paragraph(
                self.tr(
                    "This code is not Strata's, and Strata has not checked it. It can do anything you can do on this "
                    "computer: read, change and delete your files, and send them elsewhere."
                )
            )
        )
        column.addWidget(paragraph(self.tr("If the files change, you are asked again."), "muted"))
        column.addWidget(self.notice)
        foot = QHBoxLayout()
        foot.setContentsMargins(0, look.s, 0, 0)
        foot.setSpacing(look.s)
        foot.addStretch(1)
        foot.addWidget(self.allow)
        foot.addWidget(self.no)
        column.addLayout(foot)

    def _tell_engine(self) -> None:
        code = self._code
        self.allow.setEnabled(False)
        self.no.setEnabled(False)
        self._call = EngineCall(self._engine, "allow_shown_code", code.model, code.revision, code.digest, parent=self)
        self._call.result.connect(self.accept)
        self._call.failed.connect(self._show_failure)

    @Slot(object)
    def _show_failure(self, error: EngineError) -> None:
        self._call = None
        self.allow.setEnabled(True)
        self.no.setEnabled(True)
        self.notice.show_error(NoticeKind.DANGER, error, can_dismiss=False)
        self._fit()

    def _fit(self) -> None:
        """As high as its texts and, up to a limit, its files are."""
        lines = min(max(len(self._code.files), 1), _MOST_LINES)
        document = self.files.document()
        frame = 2 * (self.files.frameWidth() + int(document.documentMargin()))
        padding = 2 * tokens().s
        self.files.setFixedHeight(QFontMetrics(self.files.font()).lineSpacing() * lines + frame + padding)
        self._column.invalidate()
        self.setFixedHeight(self._column.heightForWidth(_WIDTH))


def ask_about_code(code: ModelCode, engine: EngineHost, parent: QWidget) -> CodeDialog:
    """Open over ``parent``'s window; what follows a yes is connected to its ``accepted``."""
    dialog = CodeDialog(code, engine, parent)
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()
    return dialog


def retry_job(job: Job, board: JobBoard, engine: EngineHost, parent: QWidget) -> None:
    """One that stopped at code nobody has allowed asks about it first."""
    code = job.error.code if job.error is not None else None
    if code is None:
        board.retry(job.id)
    else:
        ask_about_code(code, engine, parent).accepted.connect(lambda: board.retry(job.id))
