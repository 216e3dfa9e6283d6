"""Each kind of part as a widget: what a message is drawn with. They show and signal; they decide nothing.

A view lives only while its part is near the visible area. ``height_for`` is asked before it is placed.
"""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QEnterEvent, QFont, QPainter, QPainterPath, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QScrollArea, QWidget

from app.chat.code_colours import coloured_runs, language_title
from app.chat.document_view import DocumentView
from app.chat.formulas import Formulas
from app.chat.image_views import ImageButton, shown_size
from app.chat.markdown_html import prose_html
from app.chat.parts import Part, PartKind
from app.chat.thumbnails import Thumbnails
from app.conversations.records import StoredImage
from app.engine_texts import shown_text
from app.icons import icon
from app.model_names import model_title
from app.theme import mono_font, tokens
from app.verdicts import duration_text
from app.widgets.buttons import icon_button
from app.widgets.labels import IconLabel, label, paragraph

BUBBLE_PADDING = 16
_BUBBLE_SHARE = 0.85
_ONE_IMAGE = QSize(360, 280)
_ONE_OF_SEVERAL = QSize(180, 140)
_CODE_PADDING = 16
_CODE_HEAD = 36


class PartView(QWidget):
    """A part that is drawn the same whatever it says, as high as its insides want it. Most views know better.

    ``document`` is what of it can be selected, if anything.
    """

    entered = Signal()
    outdent = 0
    """How far it reaches left of the column, so that an icon's own padding does not indent it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.document: DocumentView | None = None

    def set_part(self, part: Part) -> None:
        """Takes over what it shows. Called again while an answer grows."""

    def height_for(self, width: int) -> int:
        """At this width; lays out its insides."""
        return self.sizeHint().height()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.entered.emit()


def reading_font() -> QFont:
    """A touch larger than the interface's: answers are read, not glanced at."""
    font = QFont(QApplication.font())
    font.setPixelSize(tokens().font_body + 1)
    return font


class NameView(PartView):
    """Who answers."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(tokens().s)
        row.addWidget(IconLabel("spark", size=16, colour="accent"))
        self._name = label("", "small")
        row.addWidget(self._name, 1)

    def set_part(self, part: Part) -> None:
        self._name.setText(model_title(part.text) or self.tr("Answer"))

    def height_for(self, width: int) -> int:
        return tokens().font_small + 12


class QuestionView(PartView):
    """What the user wrote, exactly as written, in a bubble on the right."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.document = self._text = DocumentView(self)
        self._part = Part(PartKind.QUESTION)

    def set_part(self, part: Part) -> None:
        self._part = part
        self._text.set_plain(part.text, reading_font(), line_height=145)

    def height_for(self, width: int) -> int:
        widest = round(width * _BUBBLE_SHARE) - 2 * BUBBLE_PADDING
        text_height = self._text.height_for(widest)
        is_piece = not (self._part.is_first and self._part.is_last)
        text_width = widest if is_piece else min(self._text.natural_width() + 1, widest)
        # Qt puts a line's extra height below its text: the padding evens that out.
        top = 12 if self._part.is_first else 0
        self._text.setGeometry(width - text_width - BUBBLE_PADDING, top, text_width, text_height)
        self._text.height_for(text_width)
        return top + text_height + (5 if self._part.is_last else 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        look = tokens()
        bubble = QRectF(self._text.x() - BUBBLE_PADDING, 0, self._text.width() + 2 * BUBBLE_PADDING, self.height())
        _fill_rounded(
            self,
            bubble,
            look.radius_large + 4,
            look.hover,
            rounds_top=self._part.is_first,
            rounds_bottom=self._part.is_last,
        )


class ImagesView(PartView):
    """The images that went with a question, on the right above it: one large, several smaller."""

    image_chosen = Signal(object)

    def __init__(self, parent: QWidget, thumbnails: Thumbnails) -> None:
        super().__init__(parent)
        self._thumbnails = thumbnails
        self._buttons: list[ImageButton] = []

    def set_part(self, part: Part) -> None:
        for each in self._buttons:
            each.deleteLater()
        box = _ONE_IMAGE if len(part.images) == 1 else _ONE_OF_SEVERAL
        self._buttons = [self._button(image, box) for image in part.images]

    def height_for(self, width: int) -> int:
        """In lines from the right, as many beside each other as there is room for."""
        gap = tokens().s
        lines: list[list[ImageButton]] = [[]]
        for each in self._buttons:
            taken = sum(other.width() + gap for other in lines[-1])
            if lines[-1] and taken + each.width() > width:
                lines.append([])
            lines[-1].append(each)
        top = 0
        for line in lines:
            left = width - sum(each.width() + gap for each in line) + gap
            for each in line:
                each.move(max(left, 0), top)
                left += each.width() + gap
            top += max((each.height() for each in line), default=0) + gap
        return max(top - gap, 0)

    def _button(self, image: StoredImage, box: QSize) -> ImageButton:
        button = ImageButton(image, self._thumbnails, shown_size(image, box), parent=self)
        button.clicked.connect(lambda: self.image_chosen.emit(image))
        button.show()
        return button


class FilesView(PartView):
    """The files that went with a question, on the right above it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(tokens().s)
        self._row.addStretch(1)

    def set_part(self, part: Part) -> None:
        for each in part.files[:4]:
            chip = label(each.name, "badge-muted", parent=self)
            chip.setToolTip(self.tr("{name}, {count} characters").format(name=each.name, count=len(each.text)))
            self._row.addWidget(chip)
        if len(part.files) > 4:
            self._row.addWidget(label(f"+{len(part.files) - 4}", "badge-muted", parent=self))

    def height_for(self, width: int) -> int:
        return tokens().font_small + 14


class ThinkingHead(PartView):
    """Says how long was thought; pressed, it shows what."""

    toggled = Signal()
    outdent = 10

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        self.button = icon_button("chevron-right", "", size=14, parent=self)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.clicked.connect(self.toggled)
        row.addWidget(self.button)
        row.addStretch(1)

    def set_part(self, part: Part) -> None:
        self.button.setIcon(icon("chevron-down" if part.is_open else "chevron-right"))
        text = self._text(part)
        self.button.setText(text)
        self.button.setAccessibleName(text)
        self.button.setToolTip(self.tr("Hide the thinking") if part.is_open else self.tr("Show the thinking"))

    def height_for(self, width: int) -> int:
        return self.button.sizeHint().height()

    def _text(self, part: Part) -> str:
        if not part.is_last:
            return self.tr("Thinking…")
        if part.seconds is None:
            return self.tr("Thought before answering")
        return self.tr("Thought for {duration}").format(duration=duration_text(part.seconds))


class ProseView(PartView):
    """Markdown, or a formula by itself. Thinking is quieter and has a line at its left."""

    def __init__(self, parent: QWidget, formulas: Formulas) -> None:
        super().__init__(parent)
        self.document = self._text = DocumentView(self)
        self._formulas = formulas
        self._is_thinking = False

    def set_part(self, part: Part) -> None:
        look = tokens()
        self._is_thinking = part.kind is PartKind.THINKING
        if part.kind is PartKind.FORMULA:
            html = self._formula(part.text, True)
        else:
            html = prose_html(part.text, look, self._formula, self.tr("Copy"))
        if self._is_thinking:
            html = f'<div style="color:{look.text_muted};">{html}</div>'
        self._text.set_html(html, reading_font())

    def height_for(self, width: int) -> int:
        indent = 20 if self._is_thinking else 0
        height = self._text.height_for(width - indent)
        self._text.setGeometry(indent, 0, width - indent, height)
        return height

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._is_thinking:
            painter = QPainter(self)
            painter.fillRect(QRectF(6, 0, 2, self.height()), QColor(tokens().line))
            painter.end()

    def _formula(self, latex: str, stands_alone: bool) -> str:
        return self._formulas.html(self._text.document, latex, stands_alone, tokens())


class CodeView(PartView):
    """A fence: its language, a button that copies it, and lines that scroll sideways rather than wrap."""

    copy_asked = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._part = Part(PartKind.CODE)
        self.document = self._text = DocumentView()
        self._scroll = _SidewaysScroll(self)
        self._scroll.setWidget(self._text)
        self._language = label("", "faint", parent=self)
        self._copy = icon_button("copy", self.tr("Copy the code"), size=16, parent=self)
        self._copy.clicked.connect(self._copied)

    def set_part(self, part: Part) -> None:
        self._part = part
        self._language.setText(language_title(part.language))
        self._language.adjustSize()
        self._text.set_code(part.text, mono_font(tokens()), coloured_runs(part.text, part.language, tokens()))
        for each in (self._language, self._copy):
            each.setVisible(part.is_first)

    def height_for(self, width: int) -> int:
        height = self._text.height_for(-1)
        text_width = self._text.natural_width() + 2
        self._text.resize(max(text_width, width - 2 * _CODE_PADDING), height)
        head = _CODE_HEAD if self._part.is_first else 0
        overflow = 12 if text_width > width - 2 * _CODE_PADDING else 0
        self._scroll.setGeometry(_CODE_PADDING, head, width - 2 * _CODE_PADDING, height + overflow)
        self._language.move(_CODE_PADDING, (_CODE_HEAD - self._language.height()) // 2)
        size = self._copy.sizeHint()
        self._copy.setGeometry(
            width - size.width() - 6, (_CODE_HEAD - size.height()) // 2 + 1, size.width(), size.height()
        )
        return head + height + overflow + (_CODE_PADDING - 6 - overflow // 2 if self._part.is_last else 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        look = tokens()
        _fill_rounded(
            self,
            QRectF(self.rect()),
            look.radius,
            look.code_background,
            rounds_top=self._part.is_first,
            rounds_bottom=self._part.is_last,
        )

    def _copied(self) -> None:
        self.copy_asked.emit()
        self._copy.setIcon(icon("check", colour="success"))
        QTimer.singleShot(1500, self._copy, lambda: self._copy.setIcon(icon("copy")))


class ErrorView(PartView):
    """Why the answer ends here, and trying again."""

    retry_asked = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        look = tokens()
        row = QHBoxLayout(self)
        row.setContentsMargins(look.m, look.s, look.s, look.s)
        row.setSpacing(look.s + look.xs)
        row.addWidget(IconLabel("error", size=18, colour="danger"))
        self._text = paragraph("", parent=self)
        row.addWidget(self._text, 1)
        self.retry = icon_button("refresh", self.tr("Try again"), size=18)
        self.retry.clicked.connect(self.retry_asked)
        row.addWidget(self.retry)

    def set_part(self, part: Part) -> None:
        self._text.setText(shown_text(part.text) or self.tr("The answer failed."))

    def height_for(self, width: int) -> int:
        text_width = width - 2 * tokens().m - 70
        return max(self._text.heightForWidth(text_width) + 2 * tokens().s + 4, 52)

    def paintEvent(self, event: QPaintEvent) -> None:
        look = tokens()
        _fill_rounded(self, QRectF(self.rect()), look.radius, look.danger_soft, rounds_top=True, rounds_bottom=True)


class _SidewaysScroll(QScrollArea):
    """Leaves turning the wheel to the conversation, except sideways."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFrameShape(QScrollArea.Shape.NoFrame)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if abs(event.angleDelta().x()) > abs(event.angleDelta().y()):
            super().wheelEvent(event)
        else:
            event.ignore()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.verticalScrollBar().setValue(0)


def _fill_rounded(
    widget: QWidget, area: QRectF, radius: float, colour: str, *, rounds_top: bool, rounds_bottom: bool
) -> None:
    path = QPainterPath()
    path.setFillRule(Qt.FillRule.WindingFill)
    path.addRoundedRect(area, radius, radius)
    half = area.height() / 2
    if not rounds_top:
        path.addRect(QRectF(area.x(), area.y(), area.width(), half))
    if not rounds_bottom:
        path.addRect(QRectF(area.x(), area.y() + half, area.width(), area.height() - half))
    painter = QPainter(widget)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillPath(path, QColor(colour))
    painter.end()
