"""The popup that chooses a model: a search field, the models with size and state, and the way to add one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from app.compositing import can_be_translucent
from app.icons import pixmap
from app.model_names import model_title
from app.theme import tokens
from app.verdicts import duration_text
from app.widgets.buttons import button
from app.widgets.labels import label, line
from engine.api import ModelInfo
from engine.quantities import format_size

_WIDTH = 400
_ROW_HEIGHT = 52
_MOST_ROWS = 6
_MODEL = int(Qt.ItemDataRole.UserRole)
_DETAIL = _MODEL + 1
_IS_CHOSEN = _MODEL + 2


class ModelPicker(QFrame):
    """``chosen`` carries a ``ModelInfo``; only ready models can be chosen."""

    chosen = Signal(object)
    add_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        is_rounded = can_be_translucent()
        self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground, is_rounded)
        self.setAccessibleName(self.tr("Models"))
        look = tokens()
        card = QFrame(self)
        card.setProperty("role", "popup" if is_rounded else "popup-square")
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(card)
        column = QVBoxLayout(card)
        column.setContentsMargins(look.s, look.s, look.s, look.s)
        column.setSpacing(look.s)
        self.search = QLineEdit()
        self.search.setPlaceholderText(self.tr("Search models"))
        self.search.setAccessibleName(self.tr("Search models"))
        self.search.setClearButtonEnabled(True)
        self.search.installEventFilter(self)
        self.search.textChanged.connect(self._filter)
        self.list = QListWidget()
        self.list.setAccessibleName(self.tr("Models"))
        self.list.setItemDelegate(_ModelDelegate(self.list))
        self.list.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.list.setMouseTracking(True)
        self.list.installEventFilter(self)
        self.list.itemClicked.connect(self._choose)
        self.list.itemActivated.connect(self._choose)
        self._nothing = label("", "muted")
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.add = button(self.tr("Add a model…"), "quiet", icon_name="plus")
        self.add.clicked.connect(self._add)
        column.addWidget(self.search)
        column.addWidget(self.list)
        column.addWidget(self._nothing)
        column.addWidget(line())
        column.addWidget(self.add)
        self._models: Sequence[ModelInfo] = ()
        self._current = ""
        self._anchor: QWidget | None = None
        self._s_per_token: Mapping[str, float] = {}
        self.setFixedWidth(_WIDTH)

    def show_models(self, models: Sequence[ModelInfo], current: str, s_per_token: Mapping[str, float]) -> None:
        """``current`` is the name of the one in use; ``s_per_token`` the predictions that are known, by name."""
        self._models, self._current, self._s_per_token = models, current, s_per_token
        self._filter(self.search.text())

    def open_above(self, anchor: QWidget) -> None:
        """With its lower left corner at the anchor's upper left one."""
        self.search.clear()
        self._filter("")
        self._anchor = anchor
        self._place()
        self.show()
        # Only what is shown knows its height.
        self._place()
        self.search.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.hide()
        else:
            super().keyPressEvent(event)

    def _place(self) -> None:
        if self._anchor is None:
            return
        self.adjustSize()
        corner = self._anchor.mapToGlobal(QPoint(0, -self.height() - 8))
        self.move(corner.x(), max(corner.y(), self._anchor.screen().availableGeometry().top()))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The arrow keys and Enter work in the list while one types. Escape is the popup's before it is the page's."""
        if event.type() is QEvent.Type.ShortcutOverride and cast(QKeyEvent, event).key() == Qt.Key.Key_Escape:
            event.accept()
            return True
        if watched is self.search and event.type() is QEvent.Type.KeyPress:
            key = cast(QKeyEvent, event).key()
            if key in {Qt.Key.Key_Down, Qt.Key.Key_Up}:
                step = 1 if key == Qt.Key.Key_Down else -1
                self.list.setCurrentRow(min(max(self.list.currentRow() + step, 0), self.list.count() - 1))
                return True
            if key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
                if item := self.list.currentItem():
                    self._choose(item)
                return True
        return super().eventFilter(watched, event)

    def _filter(self, words: str) -> None:
        self.list.clear()
        folded = words.casefold().split()
        for model in self._models:
            if all(word in f"{model.title} {model.name}".casefold() for word in folded):
                self.list.addItem(self._item(model))
        count = self.list.count()
        self.list.setFixedHeight(min(max(count, 1), _MOST_ROWS) * _ROW_HEIGHT + 4)
        self.list.setVisible(count > 0)
        self._nothing.setVisible(count == 0)
        self._nothing.setText(self.tr("No model is called that") if words else self.tr("No model is here yet"))
        current = next((row for row in range(count) if self.list.item(row).data(_IS_CHOSEN)), 0)
        self.list.setCurrentRow(current if count else -1)
        self._place()

    def _item(self, model: ModelInfo) -> QListWidgetItem:
        item = QListWidgetItem(model_title(model.title))
        item.setSizeHint(QSize(_WIDTH - 32, _ROW_HEIGHT))
        detail = self._detail(model)
        item.setData(_MODEL, model)
        item.setData(_DETAIL, detail)
        item.setData(_IS_CHOSEN, model.name == self._current)
        item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{item.text()}, {detail}")
        item.setToolTip(model.title)
        if model.state != "ready":
            item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEnabled)
        return item

    def _detail(self, model: ModelInfo) -> str:
        parts = [format_size(model.nbytes)]
        if model.dtype:
            parts.append(model.dtype)
        if model.name in self._s_per_token:
            seconds = duration_text(self._s_per_token[model.name])
            parts.append(self.tr("about {duration} per token").format(duration=seconds))
        if model.accepts_images:
            parts.append(self.tr("sees images"))
        if model.state == "unfinished":
            parts.append(self.tr("not cut to its end yet"))
        elif model.state == "damaged":
            parts.append(self.tr("damaged: repair it in the library"))
        elif model.state == "away":
            parts.append(self.tr("on a drive that is not connected"))
        return " · ".join(parts)

    def _choose(self, item: QListWidgetItem) -> None:
        if item.flags() & Qt.ItemFlag.ItemIsEnabled:
            self.hide()
            self.chosen.emit(item.data(_MODEL))

    def _add(self) -> None:
        self.hide()
        self.add_asked.emit()


class _ModelDelegate(QStyledItemDelegate):
    """Two lines, and a tick at the one in use."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        look = tokens()
        area: QRect = option.rect.adjusted(2, 2, -2, -2)  # pyright: ignore[reportAttributeAccessIssue]
        state: QStyle.StateFlag = option.state  # pyright: ignore[reportAttributeAccessIssue]
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(look.hover))
            painter.drawRoundedRect(area, look.radius_small, look.radius_small)
        is_enabled = bool(index.flags() & Qt.ItemFlag.ItemIsEnabled)
        text = area.adjusted(12, 6, -36, -6)
        font = QFont(painter.font())
        font.setPixelSize(look.font_body)
        font.setWeight(QFont.Weight.Medium)
        painter.setFont(font)
        painter.setPen(QColor(look.text if is_enabled else look.text_faint))
        title = painter.fontMetrics().elidedText(str(index.data()), Qt.TextElideMode.ElideMiddle, text.width())
        painter.drawText(text, int(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft), title)
        font.setPixelSize(look.font_small)
        font.setWeight(QFont.Weight.Normal)
        painter.setFont(font)
        painter.setPen(QColor(look.text_muted if is_enabled else look.text_faint))
        detail = painter.fontMetrics().elidedText(str(index.data(_DETAIL)), Qt.TextElideMode.ElideRight, text.width())
        painter.drawText(text, int(Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft), detail)
        if index.data(_IS_CHOSEN):
            ratio = painter.device().devicePixelRatio()
            painter.drawPixmap(
                area.right() - 28, area.center().y() - 8, pixmap("check", 16, colour="accent", ratio=ratio)
            )
        painter.restore()
