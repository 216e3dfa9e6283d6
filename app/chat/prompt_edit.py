"""Where one writes: a text field that grows with its lines, and takes dropped and pasted files.

Owns its keys: Enter sends, Shift+Enter begins a line, Up in an empty field asks for the last prompt.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QSize, Signal
from PySide6.QtGui import QFont, QImage, QKeyEvent, Qt, QTextOption
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QWidget

from app.theme import tokens

_MOST_LINES = 10


class PromptEdit(QPlainTextEdit):
    sent = Signal()
    last_prompt_wanted = Signal()
    escaped = Signal()
    files_given = Signal(list)
    picture_given = Signal(object)  # QImage

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "bare")
        self.setAccessibleName(self.tr("Message"))
        self.setTabChangesFocus(True)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(2)
        self.textChanged.connect(self._fit)
        self._take_font()

    def set_text(self, text: str) -> None:
        self.setPlainText(text)
        cursor = self.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        self.setTextCursor(cursor)

    def type_text(self, text: str) -> None:
        """As if it had been typed here."""
        self.setFocus()
        self.insertPlainText(text)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_enter = event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}
        if is_enter and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            self.sent.emit()
        elif is_enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.insertPlainText("\n")
        elif event.key() == Qt.Key.Key_Up and not self.toPlainText():
            self.last_prompt_wanted.emit()
        elif event.key() == Qt.Key.Key_Escape:
            self.escaped.emit()
        else:
            super().keyPressEvent(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return bool(local_files(source)) or source.hasImage() or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        if files := local_files(source):
            self.files_given.emit(files)
        # Office programs give a picture of every text that is copied.
        elif source.hasImage() and not source.hasText():
            self.picture_given.emit(QImage(source.imageData()))
        else:
            super().insertFromMimeData(source)

    def sizeHint(self) -> QSize:
        return QSize(200, self.height())

    def resizeEvent(self, event: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().resizeEvent(event)  # pyright: ignore[reportArgumentType]
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        # Another scale comes with another style sheet.
        if event.type() is QEvent.Type.StyleChange and self.font().pixelSize() != tokens().font_body + 1:
            self._take_font()

    def _take_font(self) -> None:
        """The reading size, at the scale in use."""
        font = QFont(QApplication.font())
        font.setPixelSize(tokens().font_body + 1)
        self.setFont(font)
        self._fit()

    def _fit(self) -> None:
        """As many lines as there are, up to a limit."""
        line = self.fontMetrics().lineSpacing()
        # A plain text document's height is its number of lines.
        lines = min(max(round(self.document().size().height()), 1), _MOST_LINES)
        self.setFixedHeight(lines * line + 8)


def local_files(source: QMimeData) -> list[Path]:
    return [Path(url.toLocalFile()) for url in source.urls() if url.isLocalFile()] if source.hasUrls() else []
