"""The hub token: typed or pasted, never shown again by itself, and where it is kept said in one sentence."""

from __future__ import annotations

from PySide6.QtWidgets import QGridLayout, QLabel, QLineEdit, QWidget

from app.secrets import Secrets, TokenPlace
from app.theme import tokens
from app.widgets.buttons import button, icon_button
from app.widgets.labels import paragraph


class TokenEditor(QWidget):
    """Follows ``secrets.changed``."""

    def __init__(self, secrets: Secrets, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._secrets = secrets
        self._line = QLineEdit()
        self._line.setEchoMode(QLineEdit.EchoMode.Password)
        self._line.setAccessibleName(self.tr("Hub token"))
        self._line.setFixedWidth(300)
        self._line.setPlaceholderText("hf_…")
        self._line.textEdited.connect(self._edited)
        self._line.returnPressed.connect(self._keep)
        self._show = icon_button("eye", self.tr("Show the token"))
        self._show.setCheckable(True)
        self._show.toggled.connect(self._set_shown)
        self._save = button(self.tr("Save"))
        self._save.setAccessibleName(self.tr("Save the token"))
        self._save.clicked.connect(self._keep)
        self._remove = button(self.tr("Remove"), "quiet")
        self._remove.setAccessibleName(self.tr("Remove the token"))
        self._remove.clicked.connect(lambda: self._secrets.set_token(""))
        self.place: QLabel = paragraph("", "small")
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(tokens().s)
        grid.setVerticalSpacing(tokens().xs)
        for place, each in enumerate((self._remove, self._line, self._show, self._save)):
            grid.addWidget(each, 0, place)
        # Below the field, and as wide as it is with its buttons.
        grid.addWidget(self.place, 1, 1, 1, 3)
        secrets.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        token = self._secrets.token() or ""
        self._line.setText(token)
        self._save.setEnabled(False)
        self._remove.setVisible(bool(token))
        self.place.setText(self._sentence(self._secrets.place(), bool(token)))
        self.place.setVisible(bool(self.place.text()))

    def _sentence(self, place: TokenPlace, has_token: bool) -> str:
        if place is TokenPlace.ENVIRONMENT:
            return self.tr("Taken from the environment variable HF_TOKEN.")
        if place is TokenPlace.SESSION:
            return self.tr(
                "This computer has no keyring that Strata can use. A token holds until you quit, and is not saved."
            )
        if place is TokenPlace.KEYRING and has_token:
            return self.tr("Kept in your system's keyring.")
        return ""

    def _edited(self, text: str) -> None:
        self._save.setEnabled(text.strip() != (self._secrets.token() or ""))

    def _set_shown(self, is_shown: bool) -> None:
        self._line.setEchoMode(QLineEdit.EchoMode.Normal if is_shown else QLineEdit.EchoMode.Password)

    def _keep(self) -> None:
        self._secrets.set_token(self._line.text())
