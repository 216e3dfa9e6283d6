"""One model of the library: what it is, what it takes, how fast it is, and what can be done with it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QVBoxLayout, QWidget

from app.icons import icon
from app.library.shelf import ShelfModel
from app.library.usage import used_text
from app.theme import tokens
from app.verdicts import pace_text, verdict
from app.widgets.buttons import button, icon_button
from app.widgets.labels import ElidedLabel, label
from app.widgets.popups import button_menu
from app.wizard.offer_texts import PACE_ROLES, dtype_text
from engine.quantities import format_size

_SIZE_WIDTH = 72
_MAIN_WIDTH = 136
"""Sizes and buttons of all rows stand below each other."""


class ModelRow(QWidget):
    """Signals say what was asked for; the page does it. ``is_busy``: a job is at work on this model."""

    chat_asked = Signal()
    verify_asked = Signal()
    repair_asked = Signal()
    remove_asked = Signal()
    folder_asked = Signal()
    finish_asked = Signal()
    move_asked = Signal()
    look_asked = Signal()

    def __init__(self, model: ShelfModel, *, is_busy: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look = tokens()
        self.model = model
        self.is_busy = is_busy
        info = model.info
        row = QHBoxLayout(self)
        row.setContentsMargins(0, look.m, 0, look.m)
        row.setSpacing(look.m)
        texts = QVBoxLayout()
        texts.setSpacing(look.xs)
        texts.addLayout(self._title())
        texts.addWidget(ElidedLabel(self._said(), "muted"))
        texts.addLayout(self._facts())
        row.addLayout(texts, 1)
        size = label(format_size(info.nbytes), "muted")
        size.setAccessibleName(self.tr("{size} on the drive").format(size=size.text()))
        size.setMinimumWidth(_SIZE_WIDTH)
        size.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(size)
        if info.state == "ready":
            self.main = button(self.tr("Chat"), icon_name="chat")
            self.main.clicked.connect(self.chat_asked)
        elif info.state == "unfinished":
            self.main = button(self.tr("Finish"), icon_name="play")
            self.main.clicked.connect(self.finish_asked)
            self.main.setEnabled(info.source is not None and not is_busy)
        elif info.state == "away":
            self.main = button(self.tr("Look again"), icon_name="refresh")
            self.main.clicked.connect(self.look_asked)
        else:
            self.main = button(self.tr("Remove…"), icon_name="trash")
            self.main.clicked.connect(self.remove_asked)
        self.main.setMinimumWidth(_MAIN_WIDTH)
        self.main.setAccessibleName(f"{self.main.text()} {model.short}")
        row.addWidget(self.main)
        self.more = icon_button("more", self.tr("More for {title}").format(title=model.short))
        self.more.setMenu(self._menu())
        self.more.setPopupMode(self.more.ToolButtonPopupMode.InstantPopup)
        row.addWidget(self.more)
        self.setAccessibleName(f"{info.title}: {self._said()}")

    def has_focus(self) -> bool:
        return self.main.hasFocus() or self.more.hasFocus()

    def _title(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(tokens().s)
        row.addWidget(label(self.model.short, "title"))
        if self.model.owner:
            row.addWidget(label(self.model.owner, "muted"))
        for text, role in self._tags():
            row.addWidget(label(text, role))
        row.addStretch(1)
        return row

    def _tags(self) -> list[tuple[str, str]]:
        state = self.model.info.state
        if state == "unfinished":
            return [(self.tr("Unfinished"), "badge-warning")]
        if state == "damaged":
            return [(self.tr("Damaged"), "badge-danger")]
        if state == "away":
            return [(self.tr("Not connected"), "badge-warning")]
        pace = self.model.pace
        return [(pace_text(pace), PACE_ROLES[pace])] if pace is not None else []

    def _said(self) -> str:
        info = self.model.info
        if info.state == "unfinished":
            return self.tr("Only partly cut. Finishing goes on after the last block that is done.")
        if info.state == "damaged":
            return self.tr("Its description cannot be read. Remove it, then add it again from its original.")
        if info.state == "away":
            return self.tr("It is on a drive that is not connected. Connect it, and the model is here again.")
        if self.model.found is None:
            return self.tr("Ready")
        return verdict(self.model.found)

    def _facts(self) -> QHBoxLayout:
        info = self.model.info
        facts = [dtype_text(info.dtype)] if info.dtype else []
        if info.context:
            facts.append(self.tr("up to {tokens} tokens").format(tokens=f"{info.context:,}"))
        if info.state == "ready" and not info.can_chat:
            facts.append(self.tr("without a chat template"))
        if info.state == "ready":
            facts.append(used_text(self.model.used_at, datetime.now()))
        row = QHBoxLayout()
        row.setSpacing(tokens().m)
        if facts:
            row.addWidget(label(" · ".join(facts), "faint"))
        path = ElidedLabel(role="faint")
        path.mode = Qt.TextElideMode.ElideMiddle
        path.set_text(str(Path(info.path)))
        row.addWidget(path, 1)
        return row

    def _menu(self) -> QMenu:
        """Only what can be done now: nothing is greyed for ever."""
        menu = button_menu(self)
        info = self.model.info
        if info.state == "ready":
            verify = menu.addAction(icon("verify"), self.tr("Verify every block"))
            verify.triggered.connect(self.verify_asked)
            verify.setEnabled(not self.is_busy)
            repair = menu.addAction(icon("repair"), self.tr("Repair from the original"))
            repair.triggered.connect(self.repair_asked)
            repair.setEnabled(info.source is not None and not self.is_busy)
            if not info.is_shipped:
                move = menu.addAction(icon("move"), self.tr("Move to another drive…"))
                move.triggered.connect(self.move_asked)
                move.setEnabled(not self.is_busy)
            menu.addSeparator()
        if info.state == "away":
            # Its folder cannot be opened, and what is on a drive that is elsewhere cannot be removed.
            menu.addAction(icon("refresh"), self.tr("Look again")).triggered.connect(self.look_asked)
            return menu
        menu.addAction(icon("folder-open"), self.tr("Open its folder")).triggered.connect(self.folder_asked)
        if info.is_shipped:
            return menu
        menu.addSeparator()
        remove = menu.addAction(icon("trash"), self.tr("Remove…"))
        remove.triggered.connect(self.remove_asked)
        remove.setEnabled(not self.is_busy)
        return menu
