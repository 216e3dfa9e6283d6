"""Buttons with a kind and an accessible name, and a row of mutually exclusive segments."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QToolButton, QWidget

from app.icons import icon
from app.theme import tokens


class PressButton(QPushButton):
    """Enter presses the button that has the focus, as Space does: outside a dialog Qt would do nothing."""

    def keyPressEvent(self, arg__1: QKeyEvent) -> None:
        super().keyPressEvent(_with_space_for_enter(arg__1))

    def keyReleaseEvent(self, arg__1: QKeyEvent) -> None:
        super().keyReleaseEvent(_with_space_for_enter(arg__1))


class PressToolButton(QToolButton):
    """A tool button that Enter presses as well."""

    def keyPressEvent(self, arg__1: QKeyEvent) -> None:
        super().keyPressEvent(_with_space_for_enter(arg__1))

    def keyReleaseEvent(self, arg__1: QKeyEvent) -> None:
        super().keyReleaseEvent(_with_space_for_enter(arg__1))


def _with_space_for_enter(event: QKeyEvent) -> QKeyEvent:
    is_plain = event.modifiers() in {Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier}
    if event.key() not in {Qt.Key.Key_Return, Qt.Key.Key_Enter} or not is_plain:
        return event
    kind = QEvent.Type(event.type())
    return QKeyEvent(kind, Qt.Key.Key_Space, Qt.KeyboardModifier.NoModifier, " ", event.isAutoRepeat())


def button(text: str, kind: str = "", *, icon_name: str = "", parent: QWidget | None = None) -> PressButton:
    """``kind``: primary, danger, quiet, link, or none for the ordinary one."""
    result = PressButton(text, parent)
    result.setAccessibleName(text)
    result.setAutoDefault(False)
    if kind:
        result.setProperty("kind", kind)
    if icon_name:
        colour = {"primary": "accent_text", "danger": "danger_text", "link": "accent"}.get(kind, "text_muted")
        result.setIcon(icon(icon_name, colour=colour))
        # Wider than high: room between the icon and the text, which a style sheet cannot give (Qt 6.12).
        result.setIconSize(QSize(tokens().icon + tokens().xs, tokens().icon))
    return result


def icon_button(
    icon_name: str, name: str, *, kind: str = "", size: int = 20, parent: QWidget | None = None
) -> PressToolButton:
    """An icon alone: ``name`` is what a screen reader says and the tooltip shows."""
    result = PressToolButton(parent)
    result.setIcon(icon(icon_name, colour="accent_text" if kind == "primary" else "text_muted"))
    result.setIconSize(QSize(size, size))
    result.setToolTip(name)
    result.setAccessibleName(name)
    result.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    if kind:
        result.setProperty("kind", kind)
    return result


class SegmentedControl(QWidget):
    """One of a few: a row of segments, moved through with the arrow keys."""

    chosen = Signal(str)

    def __init__(self, choices: Sequence[tuple[str, str]], name: str, parent: QWidget | None = None) -> None:
        """``choices`` are (value, text); ``name`` is the accessible name."""
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("role", "segments")
        self._group = QButtonGroup(self)
        self._segments: dict[str, QToolButton] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(3, 3, 3, 3)
        row.setSpacing(2)
        for value, text in choices:
            self._add_segment(row, value, text)

    def _add_segment(self, row: QHBoxLayout, value: str, text: str) -> None:
        segment = PressToolButton(self)
        segment.setText(text)
        segment.setAccessibleName(text)
        segment.setCheckable(True)
        segment.setProperty("kind", "segment")
        segment.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        segment.clicked.connect(lambda: self.chosen.emit(value))
        self._group.addButton(segment)
        self._segments[value] = segment
        row.addWidget(segment)

    def value(self) -> str:
        return next((value for value, segment in self._segments.items() if segment.isChecked()), "")

    def set_value(self, value: str) -> None:
        """Without a signal. An unknown value leaves the choice as it is."""
        if value in self._segments:
            self._segments[value].setChecked(True)
