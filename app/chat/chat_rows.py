"""How a row of the list of chats is drawn: the title, its dot or spinner or pin, and the excerpt of a search."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPainter, QPen
from PySide6.QtWidgets import QLineEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.conversations.model import ROW_ROLE, ChatRow, HeaderRow
from app.icons import pixmap
from app.theme import tokens

Index = QModelIndex | QPersistentModelIndex


class ChatRowDelegate(QStyledItemDelegate):
    """``open_id`` is the conversation that is shown; ``spinner_turn`` in degrees; ``drop_key`` of the group that
    something hangs over.

    ``naming_begun`` when a field for a name is there; ``closeEditor`` when it goes.
    """

    naming_begun = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.open_id: int | None = None
        self.spinner_turn = 0
        self.drop_key = ""

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
            header_state: QStyle.StateFlag = option.state  # pyright: ignore[reportAttributeAccessIssue]
            self._paint_header(painter, area, row, header_state)
        elif isinstance(row, ChatRow):
            state: QStyle.StateFlag = option.state  # pyright: ignore[reportAttributeAccessIssue]
            self._paint_chat(painter, area.adjusted(0, 1, 0, -1), row, state)
        painter.restore()

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        editor = QLineEdit(parent)
        self.naming_begun.emit()
        is_folder = isinstance(index.data(ROW_ROLE), HeaderRow)
        editor.setAccessibleName(self.tr("Name of the folder") if is_folder else self.tr("Title of the chat"))
        return editor

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:
        editor.setMinimumHeight(0)
        editor.setStyleSheet("min-height: 0px;")
        area: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        # A group's name stands at the foot of its row, below the gap that parts it from the group before.
        is_folder = isinstance(index.data(ROW_ROLE), HeaderRow)
        editor.setGeometry(area.adjusted(0, max(area.height() - 30, 0), 0, 0) if is_folder else area)

    def _paint_header(self, painter: QPainter, area: QRect, row: HeaderRow, state: QStyle.StateFlag) -> None:
        """A folder has its icon; the arrow shows where chats are hidden, and where somebody points."""
        look = tokens()
        line = QRect(area.left() + 8, area.bottom() - look.font_small - 9, area.width() - 16, look.font_small + 8)
        is_chosen = bool(state & QStyle.StateFlag.State_HasFocus and state & QStyle.StateFlag.State_Selected)
        if row.key == self.drop_key:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(look.accent_soft))
            painter.drawRoundedRect(QRectF(line).adjusted(-8, -1, 8, 1), look.radius_small, look.radius_small)
            painter.setBrush(Qt.BrushStyle.NoBrush)
        if is_chosen:
            painter.setPen(QPen(QColor(look.accent), 1.5))
            painter.drawRoundedRect(QRectF(line).adjusted(-7.25, 0, 7.25, 0), look.radius_small, look.radius_small)
        if row.folder_id is not None:
            self._paint_icon(painter, "folder", line.left(), line)
            line.setLeft(line.left() + 20)
        _set_font(painter, look.font_small, QFont.Weight.DemiBold)
        painter.setPen(QColor(look.text_muted if row.folder_id is not None else look.text_faint))
        text = painter.fontMetrics().elidedText(row.text, Qt.TextElideMode.ElideRight, line.width() - 64)
        painter.drawText(line, int(Qt.AlignmentFlag.AlignVCenter), text)
        after = line.left() + painter.fontMetrics().horizontalAdvance(text)
        if row.is_folded or is_chosen or state & QStyle.StateFlag.State_MouseOver:
            self._paint_icon(painter, "chevron-right" if row.is_folded else "chevron-down", after + 4, line)
        if row.has_news:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(look.accent))
            painter.drawEllipse(QRectF(after + 22, line.center().y() - 2.5, 6, 6))
        if row.is_folded and row.count:
            painter.setPen(QColor(look.text_faint))
            _set_font(painter, look.font_small, QFont.Weight.Normal)
            alignment = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
            painter.drawText(line, int(alignment), str(row.count))

    def _paint_icon(self, painter: QPainter, name: str, left: int, line: QRect) -> None:
        ratio = painter.device().devicePixelRatio()
        place = round(line.center().y()) - 6
        painter.drawPixmap(left, place, pixmap(name, 14, colour="text_faint", ratio=ratio))

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
