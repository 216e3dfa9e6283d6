"""This computer in words: graphics, processor, memory, drive with its measured speed, and what follows from that."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from app.drive_texts import drive_title, free_text, measured_text, speed_words
from app.drive_watch import Drive
from app.gpu.panel import GpuPanel
from app.theme import tokens
from app.verdicts import duration_text, reads_text
from app.widgets.buttons import button
from app.widgets.column import section
from app.widgets.labels import IconLabel, label, line, paragraph
from app.widgets.notice_bar import NoticeBar, NoticeKind
from app.wizard.step_view import StepView
from engine.api import MachineReport
from engine.errors import EngineError
from engine.quantities import format_size


class MachineStep(StepView):
    """``measuring_asked``: measure, for the first time or again."""

    measuring_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("", "", parent=parent)
        self.heading.setText(self.tr("This computer"))
        self.text.setText(self.tr("Every time that Strata names is the time it takes here: measured, not looked up."))
        self.notice = NoticeBar()
        self.notice.action_chosen.connect(self.measuring_asked)
        self.column.addWidget(self.notice)
        self._wait = _Waiting(self.tr("Measuring the drive and the processor. This takes a few seconds."))
        self.column.addWidget(self._wait)
        self._facts = QFrame()
        self._facts.setProperty("role", "card")
        inside = QVBoxLayout(self._facts)
        inside.setContentsMargins(tokens().l, tokens().s, tokens().l, tokens().s)
        inside.setSpacing(0)
        self._card_place, self._rows = QVBoxLayout(), QVBoxLayout()
        for each in (self._card_place, self._rows):
            each.setSpacing(0)
            inside.addLayout(each)
        self._card: tuple[GpuPanel, QWidget] | None = None
        self._machine: MachineReport | None = None
        self.column.addWidget(self._facts)
        self.meaning = paragraph("")
        self.column.addWidget(self.meaning)
        self._drives_title = section(self.tr("Your other drives"))
        self._drives = QFrame()
        self._drives.setProperty("role", "card")
        self._drive_rows = QVBoxLayout(self._drives)
        self._drive_rows.setContentsMargins(tokens().l, tokens().s, tokens().l, tokens().s)
        self._drive_rows.setSpacing(0)
        self.column.addWidget(self._drives_title)
        self.column.addWidget(self._drives)
        self.again = button(self.tr("Measure again"), "quiet", icon_name="refresh")
        self.again.clicked.connect(self.measuring_asked)
        self.foot.insertWidget(2, self.again)
        self.column.addStretch(1)
        self.show_drives(())
        self.show_waiting()

    def set_card_panel(self, panel: GpuPanel) -> None:
        """Where the user decides about an NVIDIA card: the first of what this computer is."""
        look = tokens()
        whole = QWidget()
        column = QVBoxLayout(whole)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        row = QHBoxLayout()
        row.setContentsMargins(0, look.m, 0, look.m)
        row.setSpacing(look.m)
        row.addWidget(IconLabel("gpu", size=24, colour="text_muted"), alignment=Qt.AlignmentFlag.AlignTop)
        row.addWidget(panel, 1)
        column.addLayout(row)
        column.addWidget(line())
        self._card_place.addWidget(whole)
        self._card = (panel, whole)
        panel.shown_changed.connect(self._show_facts)
        self._show_facts()

    def show_waiting(self) -> None:
        """Continuing is possible meanwhile: the choice shows times as soon as they are known."""
        self._show(is_waiting=True)
        self.notice.clear()

    def show_machine(self, machine: MachineReport) -> None:
        self._show(is_waiting=False)
        self.notice.clear()
        self._machine = machine
        self._show_facts()
        self.meaning.setText(meaning_text(machine))

    def _show_facts(self) -> None:
        """A card that is computed with already is a fact like the others: it is removed in the settings."""
        is_found = self._machine is not None and bool(self._machine.devices)
        has_panel = False
        if self._card is not None:
            panel, whole = self._card
            has_panel = panel.is_useful and not is_found
            whole.setVisible(has_panel)
        if self._machine is None:
            return
        _empty(self._rows)
        for index, (icon_name, title, text) in enumerate(machine_facts(self._machine, is_card_said=has_panel)):
            if index:
                self._rows.addWidget(line())
            self._rows.addWidget(_Fact(icon_name, title, text))

    def show_drives(self, drives: Sequence[Drive]) -> None:
        """All but the one that holds the models, which is part of the machine. Speeds follow as they are measured."""
        others = [drive for drive in drives if not drive.report.is_main]
        for each in (self._drives_title, self._drives):
            each.setVisible(bool(others))
        _empty(self._drive_rows)
        for index, drive in enumerate(others):
            if index:
                self._drive_rows.addWidget(line())
            fact = _Fact("disk", drive_title(drive.report), f"{speed_words(drive)} · {free_text(drive.report)}")
            fact.setToolTip(measured_text(drive))
            self._drive_rows.addWidget(fact)

    def show_failure(self, error: EngineError) -> None:
        self._show(is_waiting=False)
        self._facts.hide()
        self.meaning.hide()
        self.notice.show_error(NoticeKind.WARNING, error, action=self.tr("Measure again"), can_dismiss=False)

    def _show(self, *, is_waiting: bool) -> None:
        self._wait.setVisible(is_waiting)
        self._facts.setVisible(not is_waiting)
        self.meaning.setVisible(not is_waiting)
        self.again.setEnabled(not is_waiting)


def machine_facts(machine: MachineReport, *, is_card_said: bool = False) -> list[tuple[str, str, str]]:
    """Icon, title and text of each part, in words. ``is_card_said``: that there is a card is said beside them."""
    facts = [
        (
            "gpu",
            device.name,
            QCoreApplication.translate("Machine", "Graphics card with {total} of memory, {free} free").format(
                total=format_size(device.total_bytes), free=format_size(device.free_bytes)
            ),
        )
        for device in machine.devices
    ]
    if not facts and not is_card_said:
        facts.append(
            (
                "gpu",
                QCoreApplication.translate("Machine", "No graphics card that can compute"),
                QCoreApplication.translate("Machine", "Models run on the processor."),
            )
        )
    facts.append(
        (
            "processor",
            machine.processor,
            _cores_text(machine.cores)
            + " · "
            + QCoreApplication.translate("Machine", "computes {size} of weights a second").format(
                size=format_size(machine.compute_bytes_per_second)
            ),
        )
    )
    facts.append(
        (
            "memory",
            QCoreApplication.translate("Machine", "{size} of memory").format(
                size=format_size(machine.memory_total_bytes)
            ),
            QCoreApplication.translate("Machine", "{size} free now").format(
                size=format_size(machine.memory_free_bytes)
            ),
        )
    )
    facts.append(
        (
            "disk",
            QCoreApplication.translate("Machine", "The drive that holds your models"),
            reads_text(machine.disk_bytes_per_second)
            + " · "
            + QCoreApplication.translate("Machine", "{free} of {total} free").format(
                free=format_size(machine.disk_free_bytes), total=format_size(machine.disk_total_bytes)
            ),
        )
    )
    return facts


def _cores_text(cores: int) -> str:
    if cores == 1:
        return QCoreApplication.translate("Machine", "One core")
    return QCoreApplication.translate("Machine", "{count} cores").format(count=cores)


def meaning_text(machine: MachineReport) -> str:
    """What the figures come to: what stays in memory, and what ten gigabytes from the drive cost."""
    per_ten_gb = duration_text(10e9 / machine.disk_bytes_per_second)
    return QCoreApplication.translate(
        "Machine",
        "What fits into memory answers quickly. Of a larger model the rest is read from its drive for every token: "
        "each 10 GB from this one takes {time}.",
    ).format(time=per_ten_gb)


class _Fact(QWidget):
    def __init__(self, icon_name: str, title: str, text: str) -> None:
        super().__init__()
        look = tokens()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, look.m, 0, look.m)
        row.setSpacing(look.m)
        row.addWidget(IconLabel(icon_name, size=24, colour="text_muted"))
        texts = QVBoxLayout()
        texts.setSpacing(2)
        name = label(title, "strong")
        name.setWordWrap(True)
        texts.addWidget(name)
        texts.addWidget(paragraph(text, "muted"))
        row.addLayout(texts, 1)


class _Waiting(QWidget):
    def __init__(self, text: str) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, tokens().m, 0, tokens().m)
        column.setSpacing(tokens().s)
        bar = QProgressBar()
        bar.setRange(0, 0)
        bar.setTextVisible(False)
        bar.setAccessibleName(text)
        column.addWidget(paragraph(text, "muted"))
        column.addWidget(bar)


def _empty(rows: QVBoxLayout) -> None:
    while (item := rows.takeAt(0)) is not None:
        widget = item.widget()
        if widget is not None:
            widget.hide()
            widget.deleteLater()
