"""The dialog for our own bugs: it says so, that the chats are safe, and gives a report to copy."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from app.crash import CrashReport
from app.theme import mono_font, tokens
from app.widgets.buttons import button
from app.widgets.labels import IconLabel, label, paragraph


class CrashDialog(QDialog):
    """At most one is open: what fails afterwards is counted in it. Rejected to go on, accepted to quit."""

    def __init__(self, report: CrashReport, logs: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._report = report
        self._more = 0
        self._logs = logs
        look = tokens()
        self.setWindowTitle(self.tr("Something went wrong in Strata"))
        self.resize(720, 520)
        column = QVBoxLayout(self)
        column.setContentsMargins(look.l, look.l, look.l, look.l)
        column.setSpacing(look.m)
        head = QHBoxLayout()
        head.setSpacing(look.s + look.xs)
        head.addWidget(IconLabel("error", size=24, colour="danger"))
        head.addWidget(label(self.tr("Something went wrong in Strata"), "heading"), 1)
        column.addLayout(head)
        column.addWidget(
            paragraph(
                self.tr(
                    "This is a mistake in the program, not yours. Your chats and models are safe: everything is saved "
                    "as it happens. The report below helps us mend it. It contains no token and no text of your chats; "
                    "nothing is sent unless you send it."
                ),
                "muted",
            )
        )
        self._count = label("", "small")
        self._count.hide()
        column.addWidget(self._count)
        self.text = QPlainTextEdit(report.text)
        self.text.setReadOnly(True)
        self.text.setFont(mono_font(look))
        self.text.setAccessibleName(self.tr("Report"))
        column.addWidget(self.text, 1)
        column.addLayout(self._buttons())

    def _buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(tokens().s)
        self.copy = button(self.tr("Copy report"), icon_name="copy")
        folder = button(self.tr("Open log folder"), "quiet", icon_name="folder-open")
        leave = button(self.tr("Quit Strata"), "quiet")
        stay = button(self.tr("Continue"), "primary")
        stay.setDefault(True)
        stay.setFocus()
        self.copy.clicked.connect(self._copy)
        folder.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._logs))))
        leave.clicked.connect(self.accept)
        stay.clicked.connect(self.reject)
        row.addWidget(self.copy)
        row.addWidget(folder)
        row.addStretch()
        row.addWidget(leave)
        row.addWidget(stay)
        return row

    def count_another(self) -> None:
        """One more failure while this is open."""
        self._more += 1
        self._count.setText(self.tr("%n more since; all are in the log.", "", self._more))
        self._count.show()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._report.text)
        self.copy.setText(self.tr("Copied"))
