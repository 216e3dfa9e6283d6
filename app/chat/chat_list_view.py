"""The list of chats as a view: rows that can be dragged onto a group.

Owns what is dragged and which group it hangs over. Must not know what a move does to a conversation.
"""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QDrag,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QPainter,
    QPixmap,
)
from PySide6.QtWidgets import QListView, QWidget

from app.chat.chat_rows import ChatRowDelegate
from app.conversations.model import CHAT_MIME_TYPE, ConversationList, HeaderRow
from app.theme import tokens

_CARD_WIDTH = 220


class ChatListView(QListView):
    """``chat_dropped`` carries a conversation's id and the ``HeaderRow`` of a group, None for the place below all."""

    chat_dropped = Signal(int, object)

    def __init__(self, model: ConversationList, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chats = model
        self.delegate = ChatRowDelegate(self)
        self.setAccessibleName(self.tr("Chats"))
        self.setModel(model)
        self.setItemDelegate(self.delegate)
        self.setMouseTracking(True)
        self.setUniformItemSizes(False)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QListView.EditTrigger.EditKeyPressed)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setDragEnabled(True)
        self.setAcceptDrops(True)
        self.setDropIndicatorShown(False)

    def startDrag(self, actions: Qt.DropAction) -> None:
        drag = QDrag(self)
        drag.setMimeData(self._chats.mimeData(self.selectedIndexes()))
        drag.setPixmap(self._card(self.currentIndex().data()))
        drag.setHotSpot(QPoint(16, 16))
        drag.exec(actions)

    def _card(self, title: str) -> QPixmap:
        """What hangs at the pointer: the title on a card, where the row itself would be text upon text."""
        look = tokens()
        metrics = self.fontMetrics()
        text = metrics.elidedText(title, Qt.TextElideMode.ElideRight, _CARD_WIDTH)
        size = QSize(metrics.horizontalAdvance(text) + 24, metrics.height() + 14)
        ratio = self.devicePixelRatioF()
        card = QPixmap(size * ratio)
        card.setDevicePixelRatio(ratio)
        card.fill(Qt.GlobalColor.transparent)
        painter = QPainter(card)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(look.line_strong))
        painter.setBrush(QColor(look.raised))
        painter.drawRoundedRect(QRectF(0.5, 0.5, size.width() - 1, size.height() - 1), look.radius, look.radius)
        painter.setFont(self.font())
        painter.setPen(QColor(look.text))
        painter.drawText(QRectF(0, 0, size.width(), size.height()), Qt.AlignmentFlag.AlignCenter, text)
        painter.end()
        return card

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasFormat(CHAT_MIME_TYPE):
            event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        super().dragMoveEvent(event)  # scrolls near the edges
        if event.mimeData().hasFormat(CHAT_MIME_TYPE):
            group = self._group_at(event.position().toPoint())
            self._mark(group.key if group else "")
            event.acceptProposedAction()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        super().dragLeaveEvent(event)
        self._mark("")

    def dropEvent(self, event: QDropEvent) -> None:
        self._mark("")
        dragged = bytes(event.mimeData().data(CHAT_MIME_TYPE).data())
        if dragged.isdigit():
            event.acceptProposedAction()
            self.chat_dropped.emit(int(dragged), self._group_at(event.position().toPoint()))

    def _group_at(self, point: QPoint) -> HeaderRow | None:
        return self._chats.group_at(self.indexAt(point).row())

    def _mark(self, key: str) -> None:
        if key != self.delegate.drop_key:
            self.delegate.drop_key = key
            self.viewport().update()
