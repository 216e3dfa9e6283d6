"""A column whose text can be marked with the mouse, across parts and messages, and copied.

Owns the selection. The texts themselves come from the views, or are made for it where a part is not near.
"""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.chat.document_view import DocumentView
from app.chat.formulas import Formulas
from app.chat.part_views import PartView
from app.chat.selection import Place, Selection
from app.chat.thumbnails import Thumbnails
from app.chat.virtual_column import Key, VirtualColumn

_EVERYTHING = 10**9


class MarkedColumn(VirtualColumn):
    link_chosen = Signal(str)

    def __init__(self, formulas: Formulas, thumbnails: Thumbnails, parent: QWidget | None = None) -> None:
        super().__init__(formulas, thumbnails, parent)
        self._selection = Selection()

    @property
    def has_selection(self) -> bool:
        return not self._selection.is_empty

    def selected_text(self) -> str:
        if self._selection.is_empty:
            return ""
        first, last = self._selection.bounds
        texts = (
            self._selected_in(index, part)
            for index in range(first.item, min(last.item, len(self._items) - 1) + 1)
            for part in range(len(self._items[index].parts))
            if (first.item, first.part) <= (index, part) <= (last.item, last.part)
        )
        return "\n\n".join(each for each in texts if each)

    def copy_selection(self) -> None:
        if text := self.selected_text():
            QGuiApplication.clipboard().setText(text)

    def clear_selection(self) -> bool:
        """Whether there was one."""
        was_empty = self._selection.is_empty
        self._selection.clear()
        self._draw_selection()
        return not was_empty

    def select_all(self) -> None:
        if self._items:
            last = len(self._items) - 1
            self._selection.set(Place(0, 0, 0), Place(last, len(self._items[last].parts) - 1, _EVERYTHING))
            self._draw_selection()

    def _selected_in(self, index: int, part: int) -> str:
        view = self._views.get((index, part))
        made = view or self._factory.make(self._items[index].parts[part], self._items[index])
        text = ""
        if made.document is not None:
            text = made.document.text_between(*self._selection.within(index, part, made.document.length))
        if view is None:
            made.deleteLater()
        return text

    def _begin_selection(self, document: DocumentView, position: int, clicks: int) -> None:
        self.setFocus()
        key = self._key_of(document)
        if key is None:
            return
        extends = bool(QGuiApplication.keyboardModifiers() & Qt.KeyboardModifier.ShiftModifier)
        if clicks == 2:
            start, end = document.word_at(position)
            self._selection.set(Place(*key, start), Place(*key, end))
        elif extends and self._selection.anchor is not None:
            self._selection.set(self._selection.anchor, Place(*key, position))
        else:
            self._selection.begin(Place(*key, position))
        self._draw_selection()

    def _begin_at(self, point: QPoint) -> None:
        if place := self._place_at(point):
            self._selection.begin(place)

    def _move_selection(self, point: QPoint) -> None:
        if self._selection.anchor is None:
            return
        inside = self.viewport().mapFromGlobal(point)
        below = inside.y() - self.viewport().height()
        if inside.y() < 0 or below > 0:
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + (inside.y() if inside.y() < 0 else below) // 2)
        if place := self._place_at(inside):
            self._selection.set(self._selection.anchor, place)
            self._draw_selection()

    def _end_selection(self) -> None:
        clipboard = QGuiApplication.clipboard()
        if not self._selection.is_empty and clipboard.supportsSelection():
            clipboard.setText(self.selected_text(), clipboard.Mode.Selection)

    def _place_at(self, point: QPoint) -> Place | None:
        """The character nearest to a point of the viewport."""
        best: tuple[int, Key, DocumentView] | None = None
        for key, view in self._views.items():
            if view.document is not None:
                distance = max(view.y() - point.y(), point.y() - view.geometry().bottom(), 0)
                if best is None or distance < best[0]:
                    best = (distance, key, view.document)
        if best is None:
            return None
        _, key, document = best
        return Place(*key, document.place_at(document.mapFrom(self.viewport(), point)))

    def _key_of(self, document: DocumentView) -> Key | None:
        return next((key for key, view in self._views.items() if view.document is document), None)

    def _draw_selection(self) -> None:
        for (index, part), view in self._views.items():
            if view.document is not None:
                view.document.set_selected(*self._selection.within(index, part, view.document.length))

    def _view_made(self, key: Key, view: PartView) -> None:
        document = view.document
        if document is None:
            return
        document.selection_begun.connect(lambda place, clicks: self._begin_selection(document, place, clicks))
        document.selection_moved.connect(self._move_selection)
        document.selection_ended.connect(self._end_selection)
        document.link_chosen.connect(self.link_chosen)

    def _placed(self) -> None:
        self._draw_selection()
