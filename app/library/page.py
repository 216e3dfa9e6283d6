"""The library: every model on this computer with its size, state and speed, and the jobs at work on them.

Owns what is shown and asks the engine and the job board; must not know how models are kept on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QStackedWidget, QVBoxLayout, QWidget

from app.catalogue import read_catalogue
from app.chat_start import start_chat
from app.code_dialog import retry_job
from app.engine_calls import EngineCall
from app.engine_host import EngineState
from app.icons import icon
from app.job_records import Job, JobKind, JobState
from app.library.job_row import JobRow
from app.library.ledger_view import LedgerView
from app.library.model_row import ModelRow
from app.library.places import Places
from app.library.removal import removal_question
from app.library.shelf import Order, ShelfModel, arrange, is_download, shelve, total_bytes
from app.machine_watch import MachineWatch
from app.models_folder import downloads_folder, free_on_drive, models_folder
from app.services import Services
from app.theme import tokens
from app.widgets.buttons import button
from app.widgets.column import CentredColumn, section
from app.widgets.labels import label, line, paragraph
from app.widgets.notice_bar import NoticeBar, NoticeKind
from app.widgets.popups import combo_box
from app.widgets.states import EmptyState
from engine.api import ModelInfo
from engine.errors import EngineError
from engine.quantities import format_size

_WIDTH = 920
_SHOWN = (JobState.QUEUED, JobState.RUNNING, JobState.PAUSED, JobState.FAILED)


class LibraryPage(QWidget):
    """``navigate`` asks for another page: the wizard, or a chat with a model."""

    navigate = Signal(str)

    def __init__(self, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = self.tr("Library")
        self._services = services
        self._catalogue = read_catalogue()
        self._machine = MachineWatch(services.engine, services.paths, self)
        self._places = Places(services, self)
        self._places.changed.connect(self._ask_models)
        self._places.failed.connect(self._show_failure)
        self._places.drives.changed.connect(self._take_drives)
        self.folders = self._places.view
        self._models: list[ShelfModel] = []
        self._call: EngineCall | None = None
        self._job_rows: dict[str, JobRow] = {}
        self._notice_action: Callable[[], None] | None = None
        self.rows: list[ModelRow] = []
        self._stack = QStackedWidget()
        self._scroll = CentredColumn(_WIDTH)
        self._fill(self._scroll.column)
        self.empty = EmptyState(
            "library",
            self.tr("No models yet"),
            self.tr("Add the small starter model that comes with Strata, or one whose files you have."),
            action=self.tr("Add a model"),
        )
        self.empty.action_chosen.connect(self._add_model)
        self._stack.addWidget(self._scroll)
        self._stack.addWidget(self.empty)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._stack)
        board = services.jobs
        board.job_added.connect(self._take_job)
        board.job_added.connect(self._show_models)
        board.job_changed.connect(self._take_job)
        board.job_removed.connect(self._take_job_removed)
        board.job_ended.connect(self._take_job_end)
        self._machine.measured.connect(lambda _report: self._shelve(None))
        services.engine.engine_state_changed.connect(self._take_engine_state)

    def open(self) -> None:
        """Reads what is there now."""
        self._machine.refresh()
        for job in self._services.jobs.jobs():
            if job.state is JobState.DONE:
                self._services.jobs.remove(job.id)
            else:
                self._take_job(job.id)
        self._ask_models()

    def _fill(self, column: QVBoxLayout) -> None:
        look = tokens()
        head = QHBoxLayout()
        head.setSpacing(look.m)
        titles = QVBoxLayout()
        titles.setSpacing(look.xs)
        titles.addWidget(label(self.tr("Library"), "display"))
        self._total = label("", "muted")
        titles.addWidget(self._total)
        head.addLayout(titles, 1)
        self.add = button(self.tr("Add a model"), "primary", icon_name="plus")
        self.add.clicked.connect(self._add_model)
        head.addWidget(self.add, alignment=Qt.AlignmentFlag.AlignTop)
        column.addLayout(head)
        self.notice = NoticeBar()
        self.notice.action_chosen.connect(self._act)
        column.addWidget(self.notice)
        self._jobs_box = QWidget()
        self._jobs = QVBoxLayout(self._jobs_box)
        self._jobs.setContentsMargins(0, 0, 0, 0)
        self._jobs.setSpacing(0)
        self._jobs.addWidget(section(self.tr("At work")))
        self._jobs_box.hide()
        column.addWidget(self._jobs_box)
        column.addLayout(self._tools())
        self._list = QVBoxLayout()
        self._list.setSpacing(0)
        column.addLayout(self._list)
        self._nothing = paragraph(self.tr("No model matches. Try fewer words."), "muted")
        self._nothing.hide()
        column.addWidget(self._nothing)
        column.addWidget(self.folders)
        self.ledger = LedgerView(self._services.ledger)
        column.addWidget(self.ledger)
        column.addStretch(1)

    def _tools(self) -> QHBoxLayout:
        look = tokens()
        row = QHBoxLayout()
        row.setContentsMargins(0, look.s, 0, 0)
        row.setSpacing(look.s)
        self.search = QLineEdit()
        self.search.setPlaceholderText(self.tr("Search models"))
        self.search.setAccessibleName(self.tr("Search models"))
        self.search.setClearButtonEnabled(True)
        self.search.addAction(icon("search"), QLineEdit.ActionPosition.LeadingPosition)
        self.search.textChanged.connect(self._show_models)
        self.order = combo_box(self.tr("Sort by"))
        for order, text in (
            (Order.NAME, self.tr("By name")),
            (Order.SIZE, self.tr("Largest first")),
            (Order.SPEED, self.tr("Fastest first")),
            (Order.USED, self.tr("Last used first")),
        ):
            self.order.addItem(text, order)
        self.order.currentIndexChanged.connect(self._show_models)
        row.addWidget(self.search, 1)
        row.addWidget(self.order)
        return row

    # Models

    def _take_engine_state(self, state: str) -> None:
        if state == EngineState.READY and self.isVisible():
            self._ask_models()

    def _ask_models(self) -> None:
        call = EngineCall(self._services.engine, "list_models", parent=self)
        self._call = call
        call.result.connect(lambda models: self._shelve(models) if call is self._call else None)
        call.failed.connect(self._show_failure)
        self._places.look()

    def _shelve(self, models: Sequence[ModelInfo] | None) -> None:
        """None: the same models again, judged by what was measured since."""
        infos = models if models is not None else [model.info for model in self._models]
        self._models = self._judged(infos)
        self._show_models()
        if self._models and self._machine.report is None:
            self._machine.measure()

    def _judged(self, infos: Sequence[ModelInfo]) -> list[ShelfModel]:
        used, speed_of = self._services.conversations.last_used(), self._places.drives.speed_of
        return shelve(infos, self._catalogue, self._machine.report, used, speed_of)

    def _take_drives(self) -> None:
        """Rows are made anew only where another speed makes another verdict."""
        before = self._models
        if before != self._judged([model.info for model in before]):
            self._shelve(None)

    def _show_models(self, *_: object) -> None:
        order = Order(self.order.currentData())
        arranged = arrange(self._models, self.search.text(), order)
        focused = next((row.model.info.name for row in self.rows if row.has_focus()), None)
        self._clear_rows()
        for model in arranged:
            self._list.addWidget(line())
            row = self._row(model)
            self._list.addWidget(row)
            self.rows.append(row)
            if model.info.name == focused:
                row.more.setFocus()
        self._nothing.setVisible(bool(self._models) and not arranged)
        self._total.setText(self._total_text())
        is_empty = not self._models and not self._job_rows and self.notice.isHidden()
        self._stack.setCurrentWidget(self.empty if is_empty else self._scroll)

    def _row(self, model: ShelfModel) -> ModelRow:
        row = ModelRow(model, is_busy=self._is_busy(model))
        info = model.info
        row.chat_asked.connect(lambda: self.navigate.emit(start_chat(self._services.conversations, info.name)))
        row.verify_asked.connect(lambda: self._services.jobs.add_verify(info.name, title=self._job_title(model, False)))
        row.repair_asked.connect(lambda: self._repair(model))
        row.remove_asked.connect(lambda: self._confirm_removal(model))
        row.finish_asked.connect(lambda: self._finish(model))
        row.move_asked.connect(lambda: self._places.ask_where(model))
        row.look_asked.connect(self._ask_models)
        row.folder_asked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(info.path)))
        return row

    def _clear_rows(self) -> None:
        self.rows = []
        while (item := self._list.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()

    def _total_text(self) -> str:
        total = format_size(total_bytes(self._models))
        if len(self._models) == 1:
            text = self.tr("One model takes {size}").format(size=total)
        else:
            text = self.tr("{count} models take {size}").format(count=len(self._models), size=total)
        free = free_on_drive(models_folder(self._services.settings, self._services.paths))
        if free is None or len({str(Path(model.info.path).parent) for model in self._models}) > 1:
            return text
        return self.tr("{models}; {free} are free on their drive").format(models=text, free=format_size(free))

    def _is_busy(self, model: ShelfModel) -> bool:
        mine = {model.info.name, model.info.source, model.info.title}
        working = (JobState.QUEUED, JobState.RUNNING)
        return any(job.source in mine and job.state in working for job in self._services.jobs.jobs())

    # What can be done

    def _add_model(self) -> None:
        self.navigate.emit("wizard")

    def _job_title(self, model: ShelfModel, is_repair: bool) -> str:
        template = self.tr("Repairing {title}") if is_repair else self.tr("Verifying {title}")
        return template.format(title=model.short)

    def _repair(self, model: ShelfModel) -> None:
        self._services.jobs.add_verify(model.info.name, repair=True, title=self._job_title(model, True))

    def _finish(self, model: ShelfModel) -> None:
        """The job that was cut short goes on, with what was decided for it; without one, a new job does."""
        jobs, info = self._services.jobs, model.info
        kinds = (JobKind.SPLIT, JobKind.DOWNLOAD)
        begun = [job for job in jobs.jobs() if job.source in (info.source, info.title) and job.kind in kinds]
        for job in begun:
            if job.state is JobState.PAUSED:
                jobs.resume(job.id)
            else:
                self._retry(job.id)
        if any(job.state is not JobState.DONE for job in begun):
            return
        target = Path(info.path).parent
        if is_download(model, self._downloads()):
            jobs.add_download(info.title, target=target, title=model.short)
        else:
            jobs.add_split(info.source or "", target=target, title=model.short)

    def _downloads(self) -> Path:
        return downloads_folder(self._services.settings, self._services.paths)

    def _confirm_removal(self, model: ShelfModel) -> None:
        question = removal_question(model, self._downloads(), self)
        question.accepted.connect(lambda: self._remove(model))
        question.open()

    def _remove(self, model: ShelfModel) -> None:
        call = EngineCall(self._services.engine, "remove", model.info.name, parent=self)
        call.result.connect(lambda _name: self._take_removed(model))
        call.failed.connect(self._show_failure)

    def _take_removed(self, model: ShelfModel) -> None:
        """What was left to do for it is off the board as well."""
        jobs = self._services.jobs
        for job in jobs.jobs():
            if (
                job.source in (model.info.name, model.info.source, model.info.title)
                and job.state is not JobState.RUNNING
            ):
                jobs.remove(job.id)
        self.notice.show_notice(
            NoticeKind.SUCCESS,
            self.tr("{title} was removed; {size} are free again.").format(
                title=model.short, size=format_size(model.info.nbytes)
            ),
        )
        self._ask_models()

    # Jobs

    def _take_job(self, job_id: str) -> None:
        job = self._services.jobs.job(job_id)
        if job is None:
            return
        row = self._job_rows.get(job_id)
        if job.state not in _SHOWN:
            self._drop_job_row(job_id)
        elif row is not None:
            row.show_job(job)
        else:
            self._add_job_row(job)

    def _add_job_row(self, job: Job) -> None:
        board = self._services.jobs
        row = JobRow(job)
        row.pause_asked.connect(lambda: board.pause(job.id))
        row.resume_asked.connect(lambda: board.resume(job.id))
        row.cancel_asked.connect(lambda: board.cancel(job.id))
        row.retry_asked.connect(lambda: self._retry(job.id))
        row.dismiss_asked.connect(lambda: board.remove(job.id))
        self._job_rows[job.id] = row
        self._jobs.addWidget(row)
        self._jobs_box.show()
        self._stack.setCurrentWidget(self._scroll)

    def _retry(self, job_id: str) -> None:
        job = self._services.jobs.job(job_id)
        if job is not None:
            retry_job(job, self._services.jobs, self._services.engine, self)

    def _drop_job_row(self, job_id: str) -> None:
        row = self._job_rows.pop(job_id, None)
        if row is not None:
            row.hide()
            row.deleteLater()
        self._jobs_box.setVisible(bool(self._job_rows))

    def _take_job_removed(self, job_id: str) -> None:
        self._drop_job_row(job_id)

    def _take_job_end(self, job_id: str) -> None:
        """A job that is done has said what it had to say; one that failed stays until it is dismissed."""
        job = self._services.jobs.job(job_id)
        if job is None:
            return
        if job.state is JobState.DONE:
            self._say_done(job)
            QTimer.singleShot(0, self, lambda: self._services.jobs.remove(job_id))
        elif job.state is JobState.FAILED and job.damaged and job.kind is JobKind.VERIFY:
            self._offer_repair(job)
        self._ask_models()

    def _say_done(self, job: Job) -> None:
        if job.kind is JobKind.VERIFY:
            self._say(
                NoticeKind.SUCCESS, self.tr("Every block of {model} is as it was written.").format(model=job.source)
            )
        elif job.kind is JobKind.REPAIR:
            self._say(NoticeKind.SUCCESS, self.tr("{model} is whole again.").format(model=self._short(job.source)))
        elif job.kind is JobKind.MOVE:
            text = self.tr("{model} is in {folder} now. It was read back and compared.")
            self._say(NoticeKind.SUCCESS, text.format(model=self._short(job.source), folder=job.target))

    def _offer_repair(self, job: Job) -> None:
        board = self._services.jobs

        def repair() -> None:
            board.remove(job.id)
            title = self.tr("Repairing {title}").format(title=self._short(job.source))
            board.add_verify(job.source, repair=True, title=title)

        self._notice_action = repair
        if job.error is not None:
            self.notice.show_error(
                NoticeKind.DANGER, job.error, action=self.tr("Repair"), detail="\n".join(job.damaged)
            )

    def _short(self, name: str) -> str:
        """What people call a model of the store."""
        return next((model.short for model in self._models if model.info.name == name), name)

    # Notices

    def _say(self, kind: NoticeKind, text: str) -> None:
        self._notice_action = None
        self.notice.show_notice(kind, text)

    def _show_failure(self, error: EngineError) -> None:
        self._notice_action = self._ask_models
        self.notice.show_error(NoticeKind.DANGER, error, action=self.tr("Refresh"))
        self._stack.setCurrentWidget(self._scroll)

    def _act(self) -> None:
        self.notice.clear()
        if self._notice_action is not None:
            self._notice_action()
