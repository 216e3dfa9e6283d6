"""How a row of the list of chats is drawn: the title, its dot or spinner or pin, and the excerpt of a search."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen
from PySide6.QtWidgets import QLineEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.conversations.model import ROW_ROLE, ChatRow, HeaderRow
from app.icons import pixmap
from app.theme import tokens

Index = QModelIndex | QPersistentModelIndex


class ChatRowDelegate(QStyledItemDelegate):
    """``open_id`` is the conversation that is shown; ``spinner_turn`` in degrees."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.open_id: int | None = None
        self.spinner_turn = 0

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        look = tokens()
        row = index.data(ROW_ROLE)
        if isinstance(row, HeaderRow):
            return QSize(100, look.font_small + (24 if index.row() else 16))
        height = look.font_body + 20
        return QSize(100, height + (look.font_small + 6 if row is not None and row.excerpt else 0))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = index.data(ROW_ROLE)
        area: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if isinstance(row, HeaderRow):
            self._paint_header(painter, area, row)
        elif isinstance(row, ChatRow):
            state: QStyle.StateFlag = option.state  # pyright: ignore[reportAttributeAccessIssue]
            self._paint_chat(painter, area.adjusted(0, 1, 0, -1), row, state)
        painter.restore()

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        editor = QLineEdit(parent)
        editor.setAccessibleName(self.tr("Title of the chat"))
        return editor

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:
        editor.setMinimumHeight(0)
        editor.setStyleSheet("min-height: 0px;")
        editor.setGeometry(option.rect)  # pyright: ignore[reportAttributeAccessIssue]

    def _paint_header(self, painter: QPainter, area: QRect, row: HeaderRow) -> None:
        look = tokens()
        _set_font(painter, look.font_small, QFont.Weight.DemiBold)
        painter.setPen(QColor(look.text_faint))
        painter.drawText(area.adjusted(8, 0, -8, -4), int(Qt.AlignmentFlag.AlignBottom), row.text)

    def _paint_chat(self, painter: QPainter, area: QRect, row: ChatRow, state: QStyle.StateFlag) -> None:
        look = tokens()
        self._paint_ground(painter, area, row, state)
        mark = QRect(area.right() - 26, area.top(), 20, look.font_body + 18)
        has_mark = self._paint_mark(painter, mark, row)
        text = area.adjusted(8, 0, -30 if has_mark else -8, 0)
        _set_font(painter, look.font_body, QFont.Weight.DemiBold if row.is_unread else QFont.Weight.Normal)
        painter.setPen(QColor(look.text))
        first = QRect(text.left(), text.top(), text.width(), look.font_body + 18)
        title = painter.fontMetrics().elidedText(row.title, Qt.TextElideMode.ElideRight, first.width())
        painter.drawText(first, int(Qt.AlignmentFlag.AlignVCenter), title)
        if row.excerpt:
            _set_font(painter, look.font_small, QFont.Weight.Normal)
            painter.setPen(QColor(look.text_muted))
            second = text.adjusted(0, look.font_body + 12, 22 if has_mark else 0, -4)
            excerpt = painter.fontMetrics().elidedText(row.excerpt, Qt.TextElideMode.ElideRight, second.width())
            painter.drawText(second, int(Qt.AlignmentFlag.AlignTop), excerpt)

    def _paint_ground(self, painter: QPainter, area: QRect, row: ChatRow, state: QStyle.StateFlag) -> None:
        look = tokens()
        colour = ""
        if row.id == self.open_id:
            colour = look.pressed
        elif state & QStyle.StateFlag.State_MouseOver:
            colour = look.hover
        painter.setPen(Qt.PenStyle.NoPen)
        if state & QStyle.StateFlag.State_HasFocus and state & QStyle.StateFlag.State_Selected:
            painter.setPen(QPen(QColor(look.accent), 1.5))
        if colour or painter.pen().style() != Qt.PenStyle.NoPen:
            painter.setBrush(QColor(colour) if colour else Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(
                QRectF(area).adjusted(0.75, 0.75, -0.75, -0.75), look.radius_small, look.radius_small
            )

    def _paint_mark(self, painter: QPainter, area: QRect, row: ChatRow) -> bool:
        """A spinner before a dot before a pin: the most urgent one."""
        look = tokens()
        centre = QRectF(area).center()
        if row.is_working:
            ring = QRectF(centre.x() - 6, centre.y() - 6, 12, 12)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(look.line_strong), 1.75))
            painter.setOpacity(0.35)
            painter.drawEllipse(ring)
            painter.setOpacity(1.0)
            painter.setPen(QPen(QColor(look.accent), 1.75, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
            painter.drawArc(ring, -self.spinner_turn * 16, 100 * 16)
        elif row.is_unread:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(look.accent))
            painter.drawEllipse(centre, 4, 4)
        elif row.is_pinned:
            ratio = painter.device().devicePixelRatio()
            painter.drawPixmap(
                round(centre.x()) - 7, round(centre.y()) - 7, pixmap("pin", 14, colour="text_faint", ratio=ratio)
            )
        return row.is_working or row.is_unread or row.is_pinned


def _set_font(painter: QPainter, pixels: int, weight: QFont.Weight) -> None:
    font = QFont(painter.font())
    font.setPixelSize(pixels)
    font.setWeight(weight)
    painter.setFont(font)
