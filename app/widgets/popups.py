"""What opens over the window: menus and the lists of combo boxes, with round corners where the desktop can show them.

Without a compositor a see-through corner is black, so corners are square there; the style sheet has both.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QComboBox, QFrame, QMenu, QStyledItemDelegate, QWidget

from app.compositing import can_be_translucent


def popup_menu(parent: QWidget) -> QMenu:
    """Deletes itself when it closes."""
    menu = button_menu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return menu


def button_menu(parent: QWidget) -> QMenu:
    """Of a button that opens it again and again."""
    menu = QMenu(parent)
    _shape(menu, menu)
    return menu


def add_submenu(menu: QMenu, icon: QIcon, text: str) -> QMenu:
    inner = menu.addMenu(icon, text)
    _shape(inner, inner)
    return inner


def combo_box(name: str, parent: QWidget | None = None) -> QComboBox:
    """``name`` is the accessible name."""
    box = QComboBox(parent)
    box.setAccessibleName(name)
    # The delegate Qt gives it draws its items as the desktop's style does, whatever the style sheet says.
    box.setItemDelegate(QStyledItemDelegate(box))
    window = box.view().parentWidget()
    assert isinstance(window, QFrame), "Qt puts the list into a frame of its own"
    window.setFrameShape(QFrame.Shape.NoFrame)
    _shape(window, box.view())
    return box


def _shape(window: QWidget, drawn: QWidget) -> None:
    """``window`` is what the desktop places, ``drawn`` what has the border."""
    if can_be_translucent():
        window.setWindowFlag(Qt.WindowType.FramelessWindowHint)
        window.setWindowFlag(Qt.WindowType.NoDropShadowWindowHint)
        window.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)
        drawn.setProperty("corners", "round")
