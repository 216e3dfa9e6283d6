"""What a gated model asks for: its licence page, and a token, before a single byte of its weights."""

from __future__ import annotations

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from app.theme import tokens
from app.widgets.buttons import button
from app.widgets.labels import paragraph
from engine.errors import AccessRefused


class AccessBox(QWidget):
    """``token_given`` carries the token as typed; it is shown as dots and forgotten here at once."""

    token_given = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look = tokens()
        self._page = ""
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(look.m)
        self._steps = paragraph("")
        column.addWidget(self._steps)
        self.page = button(self.tr("Open its page"), icon_name="globe")
        self.page.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(self._page)))
        links = QHBoxLayout()
        links.addWidget(self.page)
        links.addStretch(1)
        column.addLayout(links)
        row = QHBoxLayout()
        row.setSpacing(look.s)
        self.token = QLineEdit()
        self.token.setEchoMode(QLineEdit.EchoMode.Password)
        self.token.setPlaceholderText(self.tr("Your token, beginning with hf_"))
        self.token.setAccessibleName(self.tr("Token of the hub"))
        self.token.returnPressed.connect(self._give)
        self.use = button(self.tr("Use this token"), icon_name="key")
        self.use.clicked.connect(self._give)
        row.addWidget(self.token, 1)
        row.addWidget(self.use)
        column.addLayout(row)
        column.addWidget(
            paragraph(
                self.tr("It is kept in the keyring of your system where there is one, and otherwise for this session."),
                "small",
            )
        )

    def show_refusal(self, error: AccessRefused) -> None:
        self._page = error.page
        self.page.setVisible(bool(error.page))
        self.page.setToolTip(error.page)
        if error.needs_token:
            text = self.tr(
                "Open its page, sign in and accept the licence there. Then make a token for reading in your account's "
                "settings and put it here."
            )
        else:
            text = self.tr(
                "Open its page and accept the licence there with the account this token belongs to, or use another one."
            )
        self._steps.setText(text)

    def _give(self) -> None:
        token = self.token.text().strip()
        self.token.clear()
        if token:
            self.token_given.emit(token)
