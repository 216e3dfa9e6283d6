"""What a link in an answer does: it shows its whole address before anything is opened."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QMessageBox, QWidget

from app.chat.markdown_html import COPY_SCHEME, decode_copy


def follow_link(address: str, parent: QWidget) -> None:
    """A ``copy:`` link copies its code; any other asks."""
    if address.startswith(COPY_SCHEME):
        QGuiApplication.clipboard().setText(decode_copy(address))
        return
    question = QMessageBox(parent)
    question.setIcon(QMessageBox.Icon.Question)
    question.setText(QCoreApplication.translate("Links", "Open this address in your browser?"))
    question.setInformativeText(address)
    question.setStandardButtons(QMessageBox.StandardButton.Open | QMessageBox.StandardButton.Cancel)
    question.accepted.connect(lambda: QDesktopServices.openUrl(QUrl(address)))
    question.open()
