"""Looking for a newer Strata: the button, and what came of it."""

from __future__ import annotations

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.engine_texts import shown_text
from app.theme import tokens
from app.updates import UpdateCheck, UpdateState, UpdateStatus, notes_of
from app.widgets.buttons import button
from app.widgets.labels import paragraph
from engine import __version__


class UpdateRow(QWidget):
    """What came of it; ``ask`` is the button, which stands beside the words. What is new is plain text whoever wrote
    it; its page opens in the browser, and nothing is downloaded.
    """

    def __init__(self, updates: UpdateCheck, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._updates = updates
        self.said = paragraph("", "strong")
        self.notes = paragraph("", "muted")
        self.ask = button(self.tr("Check now"))
        self.ask.setAccessibleName(self.tr("Check for a newer version"))
        self.ask.clicked.connect(updates.ask)
        self.page = button(self.tr("Open its page"), "primary")
        self.page.clicked.connect(self._open_page)
        feet = QHBoxLayout()
        feet.setSpacing(tokens().s)
        feet.addWidget(self.page)
        feet.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(tokens().s)
        column.addWidget(self.said)
        column.addWidget(self.notes)
        column.addLayout(feet)
        updates.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        status = self._updates.status
        self.setVisible(status.state is not UpdateState.NOT_ASKED or not self._updates.can_ask)
        self.said.setText(self._sentence(status))
        self.said.setVisible(bool(self.said.text()))
        self.notes.setText(notes_of(status.release) if status.release else "")
        self.notes.setVisible(bool(self.notes.text()))
        self.page.setVisible(status.release is not None)
        self.ask.setEnabled(self._updates.can_ask and status.state is not UpdateState.ASKING)

    def _sentence(self, status: UpdateStatus) -> str:
        if not self._updates.can_ask:
            return self.tr("This Strata runs from its source and does not know where newer ones are published.")
        match status.state:
            case UpdateState.NOT_ASKED:
                return ""
            case UpdateState.ASKING:
                return self.tr("Checking…")
            case UpdateState.NEWEST:
                return self.tr("Strata {version} is the newest.").format(version=__version__)
            case UpdateState.NEWER:
                assert status.release is not None
                return self.tr("Strata {version} is available.").format(version=status.release.version)
            case UpdateState.FAILED:
                assert status.problem is not None
                return " ".join(shown_text(each) for each in (status.problem.message, status.problem.next_step) if each)

    def _open_page(self) -> None:
        if self._updates.status.release is not None:
            QDesktopServices.openUrl(QUrl(self._updates.status.release.page))
