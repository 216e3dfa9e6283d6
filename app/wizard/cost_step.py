"""Where a model goes and what it costs: time, memory, the drive now, at the peak and after; then one button."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QProgressBar, QVBoxLayout, QWidget

from app.drive_picker import DrivePicker
from app.drive_watch import Drive
from app.theme import tokens
from app.verdicts import answer_s, disk_verdict, duration_text, plan_verdict, speed_text
from app.widgets.column import section
from app.widgets.labels import paragraph
from app.widgets.notice_bar import NoticeBar, NoticeKind
from app.wizard.access_box import AccessBox
from app.wizard.cost import Cost
from app.wizard.drive_bar import DriveBar
from app.wizard.figures import Figures
from app.wizard.step_view import StepView
from engine.api import ModelPlan
from engine.errors import AccessRefused, EngineError
from engine.quantities import format_size


class Next(Enum):
    """What the notice's button does."""

    AGAIN = auto()
    OTHER = auto()
    DELETE = auto()
    USUAL_FOLDER = auto()


class CostStep(StepView):
    """``box_ticked``: the one box about files. ``planning_asked``: look at the model again.

    ``target_chosen`` carries the folder it is to go to, empty for the usual one.
    """

    box_ticked = Signal(bool)
    planning_asked = Signal()
    target_chosen = Signal(str)
    other_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("", "", parent=parent)
        self._cost: Cost | None = None
        self._drives: Sequence[Drive] = ()
        self.notice = NoticeBar()
        self.notice.action_chosen.connect(self._act)
        self._next = Next.AGAIN
        self.column.addWidget(self.notice)
        self._wait = self._waiting()
        self.column.addWidget(self._wait)
        self.access = AccessBox()
        self.access.hide()
        self.column.addWidget(self.access)
        self._body = QWidget()
        body = QVBoxLayout(self._body)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(tokens().m)
        body.addWidget(section(self.tr("Time and memory")))
        self._time = Figures()
        body.addWidget(self._time)
        self._explained = paragraph("", "muted")
        body.addWidget(self._explained)
        self._drive = self._drive_part()
        body.addWidget(self._drive)
        self.column.addWidget(self._body)
        self.column.addStretch(1)

    def _waiting(self) -> QWidget:
        box = QWidget()
        column = QVBoxLayout(box)
        column.setContentsMargins(0, tokens().m, 0, 0)
        column.setSpacing(tokens().s)
        text = self.tr("Looking at the model. Only its description is read, no weights.")
        bar = QProgressBar()
        bar.setRange(0, 0)
        bar.setTextVisible(False)
        bar.setAccessibleName(text)
        column.addWidget(paragraph(text, "muted"))
        column.addWidget(bar)
        return box

    def _drive_part(self) -> QWidget:
        look = tokens()
        box = QWidget()
        column = QVBoxLayout(box)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(look.m)
        column.addWidget(section(self.tr("Where it goes")))
        self.place = DrivePicker(self.tr("Where it goes"))
        self.place.chosen.connect(self.target_chosen)
        column.addWidget(self.place)
        self._space = Figures()
        column.addWidget(self._space)
        self._bar = DriveBar()
        column.addWidget(self._bar)
        self.box = QCheckBox()
        self.box.toggled.connect(self.box_ticked)
        self.box.toggled.connect(self._refresh)
        self._box_text = paragraph("", "muted")
        self._box_text.setContentsMargins(look.l + 2, 0, 0, 0)
        self._box_part = QWidget()
        box_column = QVBoxLayout(self._box_part)
        box_column.setContentsMargins(0, look.s, 0, 0)
        box_column.setSpacing(look.s)
        box_column.addWidget(self.box)
        box_column.addWidget(self._box_text)
        column.addWidget(self._box_part)
        return box

    def show_waiting(self, title: str) -> None:
        self.heading.setText(title)
        self.text.setText(self.tr("Where it goes and what it costs on this computer."))
        self._cost = None
        self.notice.clear()
        self.access.hide()
        self._wait.show()
        self._body.hide()
        self.forward.show()
        self.set_forward(self.tr("Prepare and chat"), is_enabled=False)

    def show_cost(self, cost: Cost, *, is_ticked: bool) -> None:
        """Replaces what was shown. The box keeps what the user decided for this model."""
        self._cost = cost
        self.box.blockSignals(True)
        self.box.setChecked(is_ticked and cost.ticked is not None)
        self.box.blockSignals(False)
        self._wait.hide()
        self._body.show()
        self._refresh()

    def show_failure(self, error: EngineError, *, can_retry: bool, has_target: bool = False) -> None:
        """The sentence, the next step, one button for it; for a gated model its page and a box for the token.

        ``has_target``: a folder was chosen for this model, and may be the reason.
        """
        self._cost = None
        self._wait.hide()
        self._body.hide()
        self._next = Next.OTHER
        action = self.tr("Choose another model")
        if can_retry:
            self._next = Next.USUAL_FOLDER if has_target else Next.AGAIN
            action = self.tr("Use the usual folder") if has_target else self.tr("Check again")
        self.notice.show_error(NoticeKind.DANGER, error, action=action, can_dismiss=False)
        self.forward.hide()
        if isinstance(error, AccessRefused):
            self.access.show_refusal(error)
            self.access.show()

    def _act(self) -> None:
        match self._next:
            case Next.AGAIN:
                self.planning_asked.emit()
            case Next.OTHER:
                self.other_asked.emit()
            case Next.DELETE:
                self.box.setChecked(True)
            case Next.USUAL_FOLDER:
                self.target_chosen.emit("")

    def _refresh(self) -> None:
        cost = self._cost
        if cost is None:
            return
        plan = cost.chosen(self.box.isChecked())
        self._show_time(plan)
        self._drive.setVisible(not plan.is_cut)
        if plan.is_cut:
            self.text.setText(self.tr("This model is on this computer already, cut and ready."))
            self.notice.clear()
            self.set_forward(self.tr("Chat"))
            return
        self._show_space(cost, plan)
        self._show_box(cost)
        self._show_room(cost, plan)

    def _show_time(self, plan: ModelPlan) -> None:
        answer = answer_s(plan.predicted_s_per_token)
        memory = plan.device_bytes + plan.host_bytes + plan.slot_bytes + plan.cache_bytes
        self._time.show_figures(
            [
                (duration_text(plan.predicted_s_per_token), self.tr("for each token")),
                (duration_text(answer), self.tr("for a typical answer")),
                (format_size(memory), self.tr("of memory while it is loaded")),
            ]
        )
        if plan.streamed_bytes:
            text = self.tr(
                "{verdict}. For every token {bytes} are read from the drive, at {speed}; the rest stays in memory."
            ).format(
                verdict=plan_verdict(plan),
                bytes=format_size(plan.streamed_bytes),
                speed=speed_text(plan.disk_bytes_per_second),
            )
        else:
            text = self.tr("{verdict}. Nothing is read from the drive while it answers.").format(
                verdict=plan_verdict(plan)
            )
        self._explained.setText(text)

    def _show_space(self, cost: Cost, plan: ModelPlan) -> None:
        first = (
            (format_size(plan.download_bytes), self.tr("to download"))
            if cost.is_download
            else (format_size(plan.disk_now_bytes), self.tr("needed to begin"))
        )
        self._space.show_figures(
            [
                first,
                (format_size(plan.disk_peak_bytes), self.tr("more at the peak")),
                (
                    format_size(abs(plan.disk_after_bytes)),
                    self.tr("less afterwards") if plan.disk_after_bytes < 0 else self.tr("more afterwards"),
                ),
                (format_size(plan.disk_free_bytes), self.tr("free now")),
            ]
        )
        self._bar.show_bytes(
            total=max(cost.drive_total_bytes, plan.disk_free_bytes),
            free=plan.disk_free_bytes,
            peak=plan.disk_peak_bytes,
            after=plan.disk_after_bytes,
        )
        self._show_place(cost)

    def _show_place(self, cost: Cost) -> None:
        self.place.show_drives(self._drives, cost.folder)
        self.place.set_changeable(not cost.is_begun_there)
        if cost.is_begun_there:
            self.place.say(self.tr("It was begun in {folder} and is finished there.").format(folder=cost.folder))

    def show_drives(self, drives: Sequence[Drive]) -> None:
        """Again, with what was measured meanwhile."""
        self._drives = drives
        if self._cost is not None:
            self._show_place(self._cost)

    def show_planning_again(self) -> None:
        """For another folder: what is shown stays until the new figures are there."""
        self._wait.show()
        self.forward.setEnabled(False)

    def _show_box(self, cost: Cost) -> None:
        ticked = cost.ticked
        self._box_part.setVisible(cost.makes_difference)
        if ticked is None:
            return
        if cost.is_download:
            title = self.tr("Keep the downloaded files as well")
            what = self.tr(
                "Otherwise each file is removed once every block cut from it has been read back and verified."
            )
        else:
            title = self.tr("Delete the original as it is cut")
            what = self.tr(
                "Each weight file of the original goes only once every block cut from it has been read back and "
                "verified. The original is then gone from its place, also for other programs."
            )
        self.box.setText(title)
        self.box.setAccessibleName(title)
        self._box_text.setText(" ".join([*self._differences(ticked, cost.plan), what]))

    def _differences(self, ticked: ModelPlan, usual: ModelPlan) -> list[str]:
        """A sentence for each figure that the box changes as far as it is shown."""
        sentences: list[str] = []
        peak, usual_peak = format_size(ticked.disk_peak_bytes), format_size(usual.disk_peak_bytes)
        if peak != usual_peak:
            sentences.append(self.tr("At the peak {peak} instead of {usual}.").format(peak=peak, usual=usual_peak))
        after, usual_after = self._change(ticked.disk_after_bytes), self._change(usual.disk_after_bytes)
        if after != usual_after:
            is_alike = (ticked.disk_after_bytes < 0) is (usual.disk_after_bytes < 0)
            usual_after = format_size(abs(usual.disk_after_bytes)) if is_alike else usual_after
            sentences.append(self.tr("Afterwards {after} instead of {usual}.").format(after=after, usual=usual_after))
        return sentences

    def _change(self, nbytes: int) -> str:
        size = format_size(abs(nbytes))
        template = self.tr("{size} less than today") if nbytes < 0 else self.tr("{size} more than today")
        return template.format(size=size)

    def _show_room(self, cost: Cost, plan: ModelPlan) -> None:
        """With too little room the button waits, and the way out is named: delete the original, or make room."""
        missing = disk_verdict(plan.disk_peak_bytes, plan.disk_free_bytes, cost.floor_bytes)
        forward = self.tr("Download and prepare") if cost.is_download else self.tr("Prepare and chat")
        self.set_forward(forward, is_enabled=missing is None)
        if missing is None:
            self.notice.clear()
            return
        helps = cost.deletion_helps and not self.box.isChecked()
        next_step = (
            self.tr("Free some space, or let the original be deleted as it is cut.")
            if helps
            else self.tr("Free some space, or let it go to another drive.")
        )
        self._next = Next.DELETE if helps else Next.AGAIN
        action = self.tr("Delete it as it is cut") if helps else self.tr("Check again")
        self.notice.show_notice(NoticeKind.WARNING, missing, next_step, action=action, can_dismiss=False)
