"""Rich text that is drawn, not edited: one QTextDocument with a selection that may run across several of them.

Owns drawing, hit tests and what a selection of it says as text. The transcript owns the selection itself, because it
spans views. Lighter than a QTextBrowser by an order of magnitude, which is what long conversations need.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QColor,
    QFont,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextOption,
)
from PySide6.QtWidgets import QWidget

from app.chat.code_colours import ColouredRun
from app.theme import tokens

_OBJECT = "\ufffc"
_NAME_LENGTH = 2000


class DocumentView(QWidget):
    """``link_chosen`` gives the address; the mouse signals give the place in the document and the global point."""

    link_chosen = Signal(str)
    selection_begun = Signal(int, int)
    selection_moved = Signal(QPoint)
    selection_ended = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.document = QTextDocument(self)
        self.document.setDocumentMargin(0)
        self.document.setIndentWidth(24)
        self.document.setUndoRedoEnabled(False)
        self._selected = (0, 0)
        self._found: Sequence[tuple[int, int]] = ()
        self._pressed_link = ""
        self.setMouseTracking(True)
        self.setCursor(Qt.CursorShape.IBeamCursor)

    def set_html(self, html: str, font: QFont) -> None:
        self.document.setDefaultFont(font)
        self.document.setHtml(html)
        self._changed()

    def set_plain(self, text: str, font: QFont, *, line_height: int = 150) -> None:
        self.document.setDefaultFont(font)
        self.document.setPlainText(text)
        spaced = QTextBlockFormat()
        spaced.setLineHeight(line_height, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        self._every_character().mergeBlockFormat(spaced)
        self._changed()

    def set_code(self, text: str, font: QFont, runs: Sequence[ColouredRun]) -> None:
        """Lines are not wrapped."""
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.NoWrap)
        self.document.setDefaultTextOption(option)
        self.set_plain(text, font, line_height=140)
        cursor = QTextCursor(self.document)
        form = QTextCharFormat()
        for run in runs:
            cursor.setPosition(run.start)
            cursor.setPosition(run.start + run.length, QTextCursor.MoveMode.KeepAnchor)
            form.setForeground(QColor(run.colour))
            form.setFontItalic(run.is_italic)
            cursor.mergeCharFormat(form)

    def height_for(self, width: int) -> int:
        self.document.setTextWidth(width)
        return round(self.document.size().height() + 0.49)

    def natural_width(self) -> int:
        return round(self.document.idealWidth() + 0.99)

    def set_selected(self, start: int, end: int) -> None:
        if (start, end) != self._selected:
            self._selected = (start, end)
            self.update()

    def mark_words(self, words: str) -> int:
        """Marks every place where ``words`` stand, case ignored; how many there are."""
        found: list[tuple[int, int]] = []
        cursor = self.document.find(words) if words else QTextCursor()
        while not cursor.isNull():
            found.append((cursor.selectionStart(), cursor.selectionEnd()))
            cursor = self.document.find(words, cursor)
        if found or self._found:
            self._found = found
            self.update()
        return len(found)

    @property
    def length(self) -> int:
        return self.document.characterCount() - 1

    def text_between(self, start: int, end: int) -> str:
        """As it is copied: formulas by their source."""
        return text_between(self.document, start, end)

    def place_at(self, point: QPoint) -> int:
        return max(self.document.documentLayout().hitTest(QPointF(point), Qt.HitTestAccuracy.FuzzyHit), 0)

    def word_at(self, place: int) -> tuple[int, int]:
        cursor = QTextCursor(self.document)
        cursor.setPosition(min(place, self.length))
        cursor.select(QTextCursor.SelectionType.WordUnderCursor)
        return cursor.selectionStart(), cursor.selectionEnd()

    def sizeHint(self) -> QSize:
        return self.document.size().toSize()

    def paintEvent(self, event: QPaintEvent) -> None:
        look = tokens()
        painter = QPainter(self)
        context = QAbstractTextDocumentLayout.PaintContext()
        context.palette = self.palette()
        context.palette.setColor(QPalette.ColorRole.Text, self.palette().color(self.foregroundRole()))
        context.clip = QRectF(event.rect())
        marks = [_mark(self.document, start, end, look.warning_soft) for start, end in self._found]
        if self._selected[0] < self._selected[1]:
            marks.append(_mark(self.document, *self._selected, look.selection))
        context.selections = marks
        painter.setClipRect(event.rect())
        self.document.documentLayout().draw(painter, context)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            event.ignore()
            return
        self._pressed_link = self._link_at(event.position())
        self.selection_begun.emit(self.place_at(event.position().toPoint()), 1)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.selection_begun.emit(self.place_at(event.position().toPoint()), 2)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self.selection_moved.emit(event.globalPosition().toPoint())
            return
        link = self._link_at(event.position())
        self.setCursor(Qt.CursorShape.PointingHandCursor if link else Qt.CursorShape.IBeamCursor)
        self.setToolTip(link if link.startswith(("http", "mailto")) else "")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        link = self._link_at(event.position())
        if link and link == self._pressed_link and self._selected[0] == self._selected[1]:
            self.link_chosen.emit(link)
        self._pressed_link = ""
        self.selection_ended.emit()

    def _link_at(self, point: QPointF) -> str:
        return self.document.documentLayout().anchorAt(point)

    def _every_character(self) -> QTextCursor:
        cursor = QTextCursor(self.document)
        cursor.select(QTextCursor.SelectionType.Document)
        return cursor

    def _changed(self) -> None:
        self.setAccessibleName(self.document.toPlainText().replace(_OBJECT, " ")[:_NAME_LENGTH])
        self._found = ()
        self.update()


def text_between(document: QTextDocument, start: int, end: int) -> str:
    cursor = QTextCursor(document)
    cursor.setPosition(min(start, document.characterCount() - 1))
    cursor.setPosition(min(end, document.characterCount() - 1), QTextCursor.MoveMode.KeepAnchor)
    text = cursor.selectedText()
    if _OBJECT in text:
        text = "".join(
            _source_at(document, cursor.selectionStart() + i) if c == _OBJECT else c for i, c in enumerate(text)
        )
    # Where tables and their cells begin and end, Qt has characters of its own.
    return (
        text.replace("\u2029", "\n").replace("\u2028", "\n").replace("\ufdd0", "\t").replace("\ufdd1", "").strip(" \t")
    )


def _source_at(document: QTextDocument, place: int) -> str:
    cursor = QTextCursor(document)
    cursor.setPosition(place + 1)
    return str(cursor.charFormat().property(QTextFormat.Property.ImageAltText.value) or "")


def _mark(document: QTextDocument, start: int, end: int, colour: str) -> QAbstractTextDocumentLayout.Selection:
    mark = QAbstractTextDocumentLayout.Selection()
    cursor = QTextCursor(document)
    cursor.setPosition(start)
    cursor.setPosition(min(end, document.characterCount() - 1), QTextCursor.MoveMode.KeepAnchor)
    mark.cursor = cursor
    form = QTextCharFormat()
    form.setBackground(QColor(colour))
    mark.format = form
    return mark
