"""The settings page: every declared setting in its section, a search over them, and what the program is.

Owns the order and the search. Must not know what a setting does.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from app.gpu.panel import GpuPanel
from app.machine_record import MACHINE_FILE_NAME, read_machine
from app.services import Services
from app.settings import RAM_BUDGET, SETTINGS, UPDATES_WEEKLY, VRAM_BUDGET, Editor, Section, Setting
from app.settings_page.editors import SettingEditor, control_for, text_of
from app.settings_page.pace import PacePreview
from app.settings_page.rows import SettingRow
from app.settings_page.token_row import TokenEditor
from app.settings_page.update_row import UpdateRow
from app.theme import tokens
from app.widgets.buttons import button
from app.widgets.column import CentredColumn
from app.widgets.labels import label, paragraph
from app.widgets.notice_bar import NoticeBar, NoticeKind
from engine import __version__


class SettingsPage(QWidget):
    navigate = Signal(str)
    restart_requested = Signal()
    shortcuts_requested = Signal()
    about_requested = Signal()

    def __init__(self, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = self.tr("Settings")
        self._services = services
        self._machine = read_machine(services.paths.data_dir / MACHINE_FILE_NAME)
        self._rows: list[tuple[Setting[Any], SettingRow]] = []
        self._sections: list[tuple[QWidget, list[SettingRow]]] = []
        self._started_with = {each.name: services.settings.value(each) for each in SETTINGS if each.needs_restart}
        look = tokens()
        self.search = QLineEdit()
        self.search.setPlaceholderText(self.tr("Search settings"))
        self.search.setAccessibleName(self.tr("Search settings"))
        self.search.setClearButtonEnabled(True)
        self.search.setFixedWidth(260)
        self.search.textChanged.connect(self._filter)
        self.notice = NoticeBar()
        self.notice.action_chosen.connect(self.restart_requested)
        self._nothing = paragraph("", "muted")
        self._nothing.hide()
        self._pace = PacePreview(services.engine, services.settings)
        scroll = CentredColumn(look.reading_width + 160)
        column = scroll.column
        column.setSpacing(look.s)
        column.addLayout(self._head())
        column.addWidget(self.notice)
        column.addWidget(self._nothing)
        for section in Section:
            column.addWidget(self._section(section))
        column.addStretch()
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(scroll)
        services.settings.changed.connect(self._follow)
        self._filter("")

    def open(self) -> None:
        self._pace.refresh()
        self.search.setFocus()

    def _head(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.addWidget(label(self.title, "display"), 1)
        row.addWidget(self.search, alignment=Qt.AlignmentFlag.AlignVCenter)
        return row

    def _section(self, section: Section) -> QWidget:
        rows = [self._row(each) for each in SETTINGS if each.section is section and self._is_useful(each)]
        if section is Section.DOWNLOADS:
            rows.insert(0, self._token_row())
        if section is Section.MEMORY:
            rows.insert(0, self._card_row())
        if section is Section.PROGRAM:
            rows = self._program_rows(rows)
        tail = self._pace if section is Section.MEMORY else None
        return self._titled(self._section_title(section), rows, tail)

    def _titled(self, title: str, rows: list[SettingRow], tail: QWidget | None = None) -> QWidget:
        look = tokens()
        whole = QWidget()
        column = QVBoxLayout(whole)
        column.setContentsMargins(0, look.l, 0, 0)
        column.setSpacing(0)
        column.addWidget(label(title, "title"))
        column.addSpacing(look.s)
        for row in rows:
            column.addWidget(row)
        if tail is not None:
            column.addWidget(tail)
        self._sections.append((whole, rows))
        return whole

    def _section_title(self, section: Section) -> str:
        return {
            Section.APPEARANCE: self.tr("Appearance"),
            Section.MODELS: self.tr("Models"),
            Section.MEMORY: self.tr("Memory and speed"),
            Section.DOWNLOADS: self.tr("Downloads and space"),
            Section.WORKING: self.tr("While a model works"),
            Section.PROGRAM: self.tr("Program"),
        }[section]

    def _is_useful(self, setting: Setting[Any]) -> bool:
        if setting.editor is Editor.NONE:
            return False
        if setting is UPDATES_WEEKLY and not self._services.updates.can_ask:
            return False
        # A computer that was measured and has no such card has nothing to set here.
        return setting.name != VRAM_BUDGET.name or self._machine is None or bool(self._machine.devices)

    def _row(self, setting: Setting[Any]) -> SettingRow:
        control = control_for(
            setting, default_folder=str(self._services.paths.models_dir), top_bytes=self._top_bytes(setting)
        )
        editor = SettingEditor(self._services.settings, setting, control)
        text = text_of(setting.help)
        if setting.needs_restart:
            restart = self.tr("Takes effect after a restart.")
            text = f"{text} {restart}".strip()
        row = SettingRow(text_of(setting.title), text, editor, keywords=setting.keywords)
        editor.refused.connect(row.say)
        editor.accepted.connect(lambda: row.say(""))
        self._rows.append((setting, row))
        return row

    def _top_bytes(self, setting: Setting[Any]) -> int | None:
        if self._machine is None:
            return None
        if setting.name == RAM_BUDGET.name:
            return self._machine.memory_total_bytes
        if setting.name == VRAM_BUDGET.name:
            return max((device.total_bytes for device in self._machine.devices), default=None)
        return None

    def _token_row(self) -> SettingRow:
        return SettingRow(
            self.tr("Hub token"),
            self.tr("Only needed for models that ask you to accept a licence first."),
            TokenEditor(self._services.secrets),
            keywords="hugging face password key login gated",
        )

    def _card_row(self) -> SettingRow:
        panel = GpuPanel(self._services.gpu)
        row = SettingRow(
            self.tr("NVIDIA graphics card"), "", panel, keywords="nvidia gpu cuda graphics card driver", is_wide=True
        )
        row.set_useful(panel.is_useful)

        def follow(is_useful: bool) -> None:
            row.set_useful(is_useful)
            self._filter(self.search.text())

        panel.shown_changed.connect(follow)
        return row

    def _program_rows(self, declared: list[SettingRow]) -> list[SettingRow]:
        keys = button(self.tr("Show shortcuts"))
        keys.clicked.connect(self.shortcuts_requested)
        logs = button(self.tr("Open log folder"))
        logs.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._services.paths.logs_dir))))
        update = UpdateRow(self._services.updates, self)  # shows itself: without a parent as a window
        about = button(self.tr("About Strata"))
        about.clicked.connect(self.about_requested)
        return [
            SettingRow(self.tr("Keyboard shortcuts"), self.tr("Also with F1."), keys, keywords="keys hotkeys"),
            SettingRow(
                self.tr("Logs"),
                self.tr("What happened, for when something goes wrong. They stay on this computer."),
                logs,
                keywords="report error debug",
            ),
            SettingRow(
                self.tr("Check for a newer version"),
                self.tr("Strata then says what is new. It downloads nothing."),
                update.ask,
                keywords="update upgrade release check newer version",
                below=update,
            ),
            *declared,
            SettingRow(
                self.tr("Version {version}").format(version=__version__),
                self.tr(
                    "Strata sends nothing about you to anybody, does not start with the computer "
                    "and never updates itself."
                ),
                about,
                keywords="about telemetry privacy autostart licence license",
            ),
        ]

    def _follow(self) -> None:
        self._filter(self.search.text())
        self._say_restart()

    def _filter(self, words: str) -> None:
        flags = {each.name: self._services.settings.value(each) for each in SETTINGS}
        for setting, row in self._rows:
            row.set_useful(not setting.shown_with or bool(flags[setting.shown_with]))
        is_anything = False
        for whole, rows in self._sections:
            shown = [row for row in rows if row.matches(words)]
            for row in rows:
                row.setVisible(row in shown)
            whole.setVisible(bool(shown))
            is_anything = is_anything or bool(shown)
        self._nothing.setText(self.tr("No setting is called “{words}”.").format(words=words.strip()))
        self._nothing.setVisible(not is_anything)

    def _say_restart(self) -> None:
        settings = self._services.settings
        if all(settings.value(each) == self._started_with[each.name] for each in SETTINGS if each.needs_restart):
            self.notice.clear()
            return
        self.notice.show_notice(
            NoticeKind.INFO,
            self.tr("One of these settings takes effect after a restart."),
            self.tr("What is under way continues afterwards."),
            action=self.tr("Restart Strata"),
            can_dismiss=False,
        )
