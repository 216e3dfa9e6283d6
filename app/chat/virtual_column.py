"""A column of messages of which only what is near the visible part exists as widgets.

Owns scrolling, measuring and placing. Where the reader is, is a part and an offset into it, never a number of the
scroll bar: heights above may turn out other than guessed without moving what is being read. Sticks to the end only
while the reader is there. Must not know what the parts mean or what can be done with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from app.chat.formulas import Formulas
from app.chat.part_factory import PartFactory
from app.chat.part_views import PartView
from app.chat.parts import Part
from app.chat.row_heights import RowHeights
from app.chat.thumbnails import Thumbnails
from app.chat.transcript_item import TranscriptItem
from app.theme import tokens

Key = tuple[int, int]
"""A part's place: the index of its message, and its own in that message."""

_MARGIN_BELOW = 24


class VirtualColumn(QAbstractScrollArea):
    """``made_views`` and ``drawn_parts`` count the work that was done, for tests and for the curious."""

    def __init__(self, formulas: Formulas, thumbnails: Thumbnails, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.made_views = 0
        self.drawn_parts = 0
        self._factory = PartFactory(self.viewport(), formulas, thumbnails)
        self._items: list[TranscriptItem] = []
        self._heights = RowHeights()
        self._views: dict[Key, PartView] = {}
        self._anchor: tuple[int, int, int] = (0, 0, 0)
        self._sticks = True
        self._is_placing = False
        self._placing = QTimer(self, singleShot=True, interval=0)
        self._placing.timeout.connect(self.place)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setAutoFillBackground(False)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)

    def views(self) -> Sequence[PartView]:
        """Those that exist now, top to bottom."""
        return [self._views[key] for key in sorted(self._views)]

    def jump_to_end(self) -> None:
        self._sticks = True
        self.place()

    def show_item(self, index: int) -> None:
        """Scrolls so that the message begins near the top."""
        self._sticks = False
        self._anchor = (index, 0, -8)
        self.place()
        bar = self.verticalScrollBar()
        self._sticks = bar.value() >= bar.maximum()

    def place(self) -> None:
        """Makes, measures and places what is near the visible part; forgets the rest."""
        if self._is_placing:
            return
        self._is_placing = True
        try:
            self._place()
        finally:
            self._is_placing = False
        self._placed()

    def column_width(self) -> int:
        """Of the whole width: nothing moves when a scroll bar comes."""
        return max(min(self.width() - 2 * tokens().xl, tokens().reading_width), 120)

    def column_left(self) -> int:
        return (self.width() - self.column_width()) // 2

    # For those who build on this

    def _view_made(self, key: Key, view: PartView) -> None:
        """A view has come into being."""

    def _placed(self) -> None:
        """Everything has its place."""

    def _replace_items(self, items: Sequence[TranscriptItem], first: int = 0) -> None:
        """All from ``first`` on are others now."""
        self._drop_views([key for key in self._views if key[0] >= first])
        self._items[first:] = items
        self._heights = RowHeights(each.height for each in self._items)

    def _redraw_parts(self, index: int, before: Sequence[Part]) -> None:
        """Fills the views of parts that changed, or drops them where another kind is needed."""
        parts = self._items[index].parts
        for key in [key for key in self._views if key[0] == index]:
            old = before[key[1]] if key[1] < len(before) else None
            new = parts[key[1]] if key[1] < len(parts) else None
            if old is None or new is None or old.kind is not new.kind:
                self._drop_views([key])
            elif old != new:
                self._views[key].set_part(new)
                self.drawn_parts += 1
        self._heights.set(index, self._items[index].height)

    def _drop_views(self, keys: Iterable[Key]) -> None:
        for key in list(keys):
            view = self._views.pop(key)
            focused = self.window().focusWidget()
            if view.isAncestorOf(focused):
                self.setFocus()
            view.hide()
            view.deleteLater()

    def _forget_measures(self) -> None:
        for index, item in enumerate(self._items):
            item.forget_measures(self.column_width())
            self._heights.set(index, item.height)

    def _line_height(self) -> int:
        return round(tokens().font_body * 1.6)

    # Qt's

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Views are placed by ``place``; nothing is to be scrolled."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self._forget_measures()
        self.place()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in {QEvent.Type.PaletteChange, QEvent.Type.FontChange} and not self._is_placing:
            self._drop_views(list(self._views))
            self._forget_measures()
            self._placing.start()

    # Placing

    def _place(self) -> None:
        height = self.viewport().height()
        bar = self.verticalScrollBar()
        if not self._items or height <= 0:
            self._drop_views(list(self._views))
            bar.setRange(0, 0)
            return
        near = self._near_end(height) if self._sticks else self._near_anchor(height)
        for index in {key[0] for key in near}:
            self._heights.set(index, self._items[index].height)
        highest = max(self._heights.total + _MARGIN_BELOW - height, 0)
        top = highest if self._sticks else self._anchored_top(highest)
        if self._sticks:
            self._anchor_at(top)
        self._drop_views([key for key in self._views if key not in near])
        self._move_views(near, top)
        bar.setRange(0, highest)
        bar.setPageStep(height)
        bar.setSingleStep(self._line_height() * 2)
        bar.setValue(top)

    def _anchored_top(self, highest: int) -> int:
        index, part, offset = self._anchor
        wanted = self._heights.top_of(index) + self._items[index].top_of(part) + offset
        top = min(max(wanted, 0), highest)
        if top != wanted:
            self._anchor_at(top)
        return top

    def _near_end(self, height: int) -> set[Key]:
        near: set[Key] = set()
        room = height + height // 2
        for key in self._backwards((len(self._items) - 1, len(self._items[-1].parts) - 1)):
            near.add(key)
            room -= self._measure(key)
            if room <= 0:
                break
        return near

    def _near_anchor(self, height: int) -> set[Key]:
        index, part, offset = self._anchor
        index = min(index, len(self._items) - 1)
        part = min(part, len(self._items[index].parts) - 1)
        self._anchor = (index, part, offset)
        near: set[Key] = set()
        room = height + height // 2 + max(offset, 0)
        for key in self._forwards((index, part)):
            near.add(key)
            room -= self._measure(key)
            if room <= 0:
                break
        # Where the end is near, what is above may be visible as well.
        room = height // 2 + max(room, 0)
        for key in self._backwards((index, part)):
            if key != (index, part):
                near.add(key)
                room -= self._measure(key)
            if room <= 0:
                break
        return near

    def _forwards(self, start: Key) -> Iterable[Key]:
        index, part = start
        while index < len(self._items):
            while part < len(self._items[index].parts):
                yield index, part
                part += 1
            index, part = index + 1, 0

    def _backwards(self, start: Key) -> Iterable[Key]:
        index, part = start
        while True:
            while part >= 0:
                yield index, part
                part -= 1
            index -= 1
            if index < 0:
                return
            part = len(self._items[index].parts) - 1

    def _measure(self, key: Key) -> int:
        """Makes the view where there is none; returns its height with the gap above."""
        index, part = key
        item = self._items[index]
        view = self._views.get(key)
        if view is None:
            view = self._make_view(key)
            # Its insides are laid out by measuring.
            item.measured[part] = False
        if not item.measured[part]:
            item.set_height(part, view.height_for(self.column_width()) + item.gap_above(part))
        return item.heights[part]

    def _make_view(self, key: Key) -> PartView:
        item = self._items[key[0]]
        view = self._factory.make(item.parts[key[1]], item)
        self.made_views += 1
        self.drawn_parts += 1
        self._views[key] = view
        self._view_made(key, view)
        view.show()
        return view

    def _move_views(self, near: set[Key], top: int) -> None:
        left, width = self.column_left(), self.column_width()
        for index, part in near:
            item = self._items[index]
            gap = item.gap_above(part)
            y = self._heights.top_of(index) - top + item.top_of(part) + gap
            view = self._views[index, part]
            view.setGeometry(left - view.outdent, y, width + view.outdent, item.heights[part] - gap)

    def _anchor_at(self, top: int) -> None:
        index = self._heights.row_at(top)
        item = self._items[index]
        item.make()
        self._heights.set(index, item.height)
        inside = top - self._heights.top_of(index)
        part = item.part_at(inside)
        self._anchor = (index, part, inside - item.top_of(part))

    def _scrolled(self, value: int) -> None:
        if self._is_placing or not self._items:
            return
        self._sticks = value >= self.verticalScrollBar().maximum() - 2
        if not self._sticks:
            self._anchor_at(value)
        self.place()
