"""The wizard's page: shows the step somebody is on, asks the engine, and keeps the state for the next start.

Decides nothing that ``app.wizard.flow`` and ``app.wizard.offers`` can decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from app.catalogue import read_catalogue
from app.chat_start import start_chat
from app.code_dialog import ask_about_code, retry_job
from app.drive_watch import DriveWatch
from app.engine_calls import EngineCall
from app.gpu.panel import GpuPanel
from app.job_records import Job, JobKind, JobState
from app.machine_watch import MachineWatch
from app.model_code import code_of
from app.models_folder import models_folder
from app.services import Services
from app.settings import HELD_JOBS, NIGHT_START, SETUP_FINISHED
from app.wizard import flow
from app.wizard.choice_step import ChoiceStep
from app.wizard.cost import Cost
from app.wizard.cost_step import CostStep
from app.wizard.costing import Costing
from app.wizard.flow import FlowState, JobFate, Step
from app.wizard.flow_file import FlowFile
from app.wizard.found_models import FoundModel
from app.wizard.found_search import FoundSearch
from app.wizard.hub_search import HubSearch
from app.wizard.machine_step import MachineStep
from app.wizard.progress_step import ProgressStep
from app.wizard.step_view import StepView
from app.wizard.welcome_step import WelcomeStep
from engine.api import MachineReport, ModelInfo
from engine.errors import CodeNotAllowed, EngineError, SourceError, UnsupportedModel

FLOW_FILE_NAME = "wizard.json"

_CONTINUABLE = (JobState.FAILED, JobState.CANCELLED)
"""A job of the same model that ended this way goes on where it stopped."""

_NEVER_HERE = (SourceError, UnsupportedModel)
"""Looking again would find the same: another model is the way on."""


class WizardPage(QWidget):
    """``navigate`` asks for another page: ``chat:<id>`` once a model is ready."""

    navigate = Signal(str)

    def __init__(self, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = self.tr("Add a model")
        self._services = services
        self._file = FlowFile(services.paths.data_dir / FLOW_FILE_NAME)
        self._state = flow.welcome()
        self._is_opened = False
        self._starter_job = ""
        self._found: Sequence[FoundModel] = ()
        self._machine = MachineWatch(services.engine, services.paths, self)
        self._costing = Costing(services, self)
        self._search = FoundSearch(self)
        self._hub = HubSearch(services, self)
        self._drives = DriveWatch(services.engine, services.paths, self)
        self.welcome = WelcomeStep()
        self.machine = MachineStep()
        self.machine.set_card_panel(GpuPanel(services.gpu, is_titled=True))
        self.choice = ChoiceStep(read_catalogue(), can_download=self._can_download())
        self.cost = CostStep()
        self.progress = ProgressStep()
        self._steps: dict[Step, StepView] = {
            Step.WELCOME: self.welcome,
            Step.MACHINE: self.machine,
            Step.CHOICE: self.choice,
            Step.COST: self.cost,
            Step.PROGRESS: self.progress,
        }
        self._stack = QStackedWidget()
        for step in self._steps.values():
            self._stack.addWidget(step)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._stack)
        self._connect()

    @property
    def state(self) -> FlowState:
        return self._state

    def open(self) -> None:
        """Goes on where it was; with nothing begun, the welcome for a new user and the choice for the others."""
        if not self._is_opened:
            self._is_opened = True
            self._state = self._file.read() or self._beginning()
            self._search.start()
        self._machine.refresh()
        continued = flow.resume(self._state, self._fate())
        self._go(continued or self._beginning())

    def open_file(self, file: str) -> None:
        """Says what a model's file would cost, as if it had been chosen in the list."""
        self._choose(file, Path(file).name, False)

    def _connect(self) -> None:
        for step in self._steps.values():
            step.went_back.connect(lambda: self._go(flow.go_back(self._state)))
        self.welcome.went_forward.connect(lambda: self._go(flow.advance(self._state)))
        self.welcome.starter_asked.connect(self._begin_starter)
        self.machine.went_forward.connect(lambda: self._go(flow.advance(self._state)))
        self.machine.measuring_asked.connect(self._measure_again)
        self.choice.chosen.connect(self._choose)
        self.choice.hub_asked.connect(self._hub.start)
        self.choice.card_asked.connect(self._show_card)
        self._hub.found.connect(self.choice.show_hits)
        self._hub.failed.connect(self.choice.show_hub_failure)
        self.cost.went_forward.connect(self._begin_chosen)
        self.cost.planning_asked.connect(self._plan)
        self.cost.other_asked.connect(lambda: self._go(flow.go_back(self._state)))
        self.cost.box_ticked.connect(self._decide_files)
        self.cost.target_chosen.connect(self._choose_target)
        self.cost.access.token_given.connect(self._use_token)
        self.progress.pause_asked.connect(lambda: self._services.jobs.pause(self._state.job_id))
        self.progress.resume_asked.connect(lambda: self._services.jobs.resume(self._state.job_id))
        self.progress.retry_asked.connect(self._retry)
        self.progress.cancel_asked.connect(self._give_up)
        self.progress.starter_asked.connect(self._use_starter_meanwhile)
        self.progress.other_asked.connect(lambda: self._go(flow.add_model()))
        self._services.gpu.switched.connect(self._measure_again)
        self._drives.changed.connect(self._show_drives)
        self._machine.measured.connect(self._take_machine)
        self._machine.failed.connect(self.machine.show_failure)
        self._costing.costed.connect(self._take_cost)
        self._costing.failed.connect(self._take_cost_failure)
        self._search.found.connect(self._take_found)
        self._services.jobs.job_changed.connect(self._take_job)
        self._services.jobs.job_ended.connect(self._take_job_end)
        self._services.jobs.job_removed.connect(self._take_job_removed)

    def _beginning(self) -> FlowState:
        return flow.add_model() if self._services.settings.value(SETUP_FINISHED) else flow.welcome()

    def _can_download(self) -> bool:
        """Asked of the engine, not assumed: what it does not offer is not shown."""
        return "download" in self._services.engine.methods

    def _go(self, state: FlowState) -> None:
        self._state = state
        self._file.write(state)
        view = self._steps[state.step]
        self._stack.setCurrentWidget(view)
        match state.step:
            case Step.WELCOME:
                pass
            case Step.MACHINE:
                self._show_machine()
            case Step.CHOICE:
                self._show_choice()
            case Step.COST:
                self._plan()
            case Step.PROGRESS:
                self._show_progress()
        view.take_focus()

    # This computer

    def _show_machine(self) -> None:
        if self._machine.report is not None and not self._machine.is_measuring:
            self.machine.show_machine(self._machine.report)
            self._drives.look()
        else:
            self._measure()

    def _measure(self) -> None:
        """The other drives follow: two measurements at once would falsify each other."""
        self.machine.show_waiting()
        self._machine.measure()
        self._drives.look(measures=False)

    def _measure_again(self) -> None:
        self._drives.forget()
        self._measure()

    def _show_drives(self) -> None:
        drives = self._drives.drives
        self.machine.show_drives(drives)
        self.cost.show_drives(drives)

    def _take_machine(self, report: MachineReport) -> None:
        self.machine.show_machine(report)
        self._drives.look()
        self.choice.show_offers(report, self._found)

    # The choice

    def _show_choice(self) -> None:
        self._costing.stop()
        self.choice.set_can_download(self._can_download())
        self.choice.show_offers(self._machine.report, self._found)
        if self._machine.report is None:
            self._machine.measure()

    def _take_found(self, models: Sequence[FoundModel]) -> None:
        self._found = models
        self.choice.show_offers(self._machine.report, models)

    def _choose(self, source: str, title: str, is_download: bool) -> None:
        self._go(flow.choose(source, title, is_download=is_download))

    def _show_card(self, repo: str) -> None:
        from app.wizard.card_dialog import CardDialog

        dialog = CardDialog(self._services, repo, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    # What it costs

    def _plan(self) -> None:
        self.cost.show_waiting(self._state.title)
        self._costing.start(self._state)
        self._drives.look(measures=not self._machine.is_measuring)

    def _choose_target(self, folder: str) -> None:
        """Chosen by its own name, the usual folder is the usual folder."""
        usual = str(models_folder(self._services.settings, self._services.paths))
        self._state = flow.choose_target(self._state, "" if folder == usual else folder)
        self._file.write(self._state)
        if folder:
            self.cost.show_planning_again()
        else:
            self.cost.show_waiting(self._state.title)
        self._costing.start(self._state)

    def _take_cost(self, cost: Cost) -> None:
        self.cost.show_cost(cost, is_ticked=flow.is_box_ticked(self._state))
        if self._stack.currentWidget() is self.cost:
            self.cost.take_focus()

    def _take_cost_failure(self, error: EngineError) -> None:
        self.cost.show_failure(error, can_retry=not isinstance(error, _NEVER_HERE), has_target=bool(self._state.target))
        if isinstance(error, CodeNotAllowed) and self.cost.isVisible():
            ask_about_code(code_of(error), self._services.engine, self).accepted.connect(self._plan)

    def _decide_files(self, is_ticked: bool) -> None:
        self._state = flow.decide_files(self._state, is_ticked)
        self._file.write(self._state)

    def _use_token(self, token: str) -> None:
        self._services.secrets.set_token(token)
        self._plan()

    def _begin_chosen(self) -> None:
        cost = self._costing.cost
        if cost is not None and cost.plan.is_cut:
            self._chat_with(cost.plan.model)
        else:
            self._begin()

    # The job

    def _begin_starter(self) -> None:
        self._state = flow.choose(flow.STARTER_SOURCE, read_catalogue()[0].title)
        self._begin()

    def _begin(self) -> None:
        """A job of the same model that was cut short goes on; the starter takes seconds and waits for no night."""
        state, jobs = self._state, self._services.jobs
        target = Path(state.target) if state.target else None
        begun = next((job for job in jobs.jobs() if job.state in _CONTINUABLE and _is_same(job, state)), None)
        if begun is not None:
            job_id = begun.id
            jobs.retry(job_id)
        elif state.is_download:
            job_id = jobs.add_download(
                state.source, keeps_download=state.keep_download, target=target, title=state.title
            )
        else:
            job_id = jobs.add_split(state.source, state.delete_original, target, title=state.title)
        if state.source == flow.STARTER_SOURCE:
            jobs.resume(job_id)
        self._go(flow.begin(state, job_id))

    def _job(self) -> Job | None:
        return self._services.jobs.job(self._state.job_id) if self._state.job_id else None

    def _fate(self) -> JobFate:
        job = self._job()
        if job is None or job.state is JobState.CANCELLED:
            return JobFate.GONE
        return JobFate.DONE if job.state is JobState.DONE else JobFate.GOING

    def _show_progress(self) -> None:
        """A job the board does not know was removed there: back to what it would cost."""
        job = self._job()
        if job is None:
            self._go(flow.give_up(self._state))
            return
        self.progress.show_title(self._state.title, offers_starter=self._state.source != flow.STARTER_SOURCE)
        self._show_job(job)

    def _show_job(self, job: Job) -> None:
        held = self._services.settings.value(HELD_JOBS).split()
        night = self._services.settings.value(NIGHT_START) if job.id in held else ""
        self.progress.show_job(job, night=night)

    def _take_job(self, job_id: str) -> None:
        job = self._services.jobs.job(job_id)
        if job is not None and job_id == self._state.job_id and self._state.step is Step.PROGRESS:
            self._show_job(job)

    def _take_job_end(self, job_id: str) -> None:
        """Somebody who watches is taken along; for the others the model is in the library."""
        self._take_starter_end(job_id)
        job = self._services.jobs.job(job_id)
        if job is None or job_id != self._state.job_id or self._state.step is not Step.PROGRESS:
            return
        if job.state is JobState.CANCELLED:
            self._go(flow.give_up(self._state))
        elif job.state is JobState.DONE and self.isVisible():
            self._chat_with(job.model)

    def _take_job_removed(self, job_id: str) -> None:
        if job_id == self._state.job_id and self._state.step is Step.PROGRESS:
            self._go(flow.give_up(self._state))

    def _retry(self) -> None:
        job = self._job()
        if job is not None:
            retry_job(job, self._services.jobs, self._services.engine, self)

    def _give_up(self) -> None:
        """The board says that the job has ended, and that leads back to the cost."""
        self._services.jobs.cancel(self._state.job_id)

    def _chat_with(self, model: str) -> None:
        self._file.clear()
        self._state = flow.add_model()
        self.choice.forget_search()
        self._stack.setCurrentWidget(self.choice)
        self.navigate.emit(start_chat(self._services.conversations, model))

    # The starter meanwhile

    def _use_starter_meanwhile(self) -> None:
        self.progress.show_starter_wait()
        call = EngineCall(self._services.engine, "list_models", parent=self)
        call.result.connect(self._chat_with_starter)
        call.failed.connect(lambda _error: self._prepare_starter())

    def _chat_with_starter(self, models: Sequence[ModelInfo]) -> None:
        repo = read_catalogue()[0].repo
        ready = next((info for info in models if info.title == repo and info.state == "ready"), None)
        if ready is None:
            self._prepare_starter()
        else:
            self._leave_to_chat(ready.name)

    def _prepare_starter(self) -> None:
        """It takes seconds, so the large job steps aside for them: the board does one thing at a time."""
        jobs = self._services.jobs
        jobs.pause(self._state.job_id)
        self._starter_job = jobs.add_split(flow.STARTER_SOURCE, title=read_catalogue()[0].title)
        jobs.resume(self._starter_job)

    def _take_starter_end(self, job_id: str) -> None:
        if job_id != self._starter_job:
            return
        self._starter_job = ""
        jobs = self._services.jobs
        jobs.resume(self._state.job_id)
        job = jobs.job(job_id)
        if job is not None and job.state is JobState.DONE and self.isVisible():
            self._leave_to_chat(job.model)
        else:
            self._show_progress()

    def _leave_to_chat(self, model: str) -> None:
        """The wizard stays at the job: opening it again shows how far it is."""
        self.navigate.emit(start_chat(self._services.conversations, model))


def _is_same(job: Job, state: FlowState) -> bool:
    kind = JobKind.DOWNLOAD if state.is_download else JobKind.SPLIT
    decided = (job.keeps_download, job.delete_original, job.target or "")
    wanted = (state.keep_download, state.delete_original, state.target)
    return (job.kind, job.source, decided) == (kind, state.source, wanted)
