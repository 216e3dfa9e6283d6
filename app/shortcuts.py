"""Every key of the program, in one table: it makes the QActions, and F1 shows it.

Whoever owns a deed makes its action here: ``add_action(self, "regenerate", self.regenerate)``. A page passes itself,
so that the key works while the page is seen; the main window's keys work everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QWidget

from app.translation import QT_TRANSLATE_NOOP

_CONTEXT = "Shortcuts"


class Group(StrEnum):
    GENERAL = "general"
    CHATS = "chats"
    ANSWER = "answer"
    WRITING = "writing"


@dataclass(frozen=True, slots=True)
class Shortcut:
    """``keys`` in Qt's portable spelling, the first one shown first. On a Mac Ctrl is the Command key.

    A key that is ``handled_by_widget`` (Enter in the composer) is only shown, never made into an action.
    """

    name: str
    keys: tuple[str, ...]
    title: str
    group: Group
    handled_by_widget: bool = False


SHORTCUTS: tuple[Shortcut, ...] = (
    Shortcut("new_chat", ("Ctrl+N",), QT_TRANSLATE_NOOP("Shortcuts", "New chat"), Group.CHATS),
    Shortcut("search_chats", ("Ctrl+K",), QT_TRANSLATE_NOOP("Shortcuts", "Search chats"), Group.CHATS),
    Shortcut("find_in_chat", ("Ctrl+F",), QT_TRANSLATE_NOOP("Shortcuts", "Find in this chat"), Group.CHATS),
    Shortcut("choose_model", ("Ctrl+L",), QT_TRANSLATE_NOOP("Shortcuts", "Choose the model"), Group.CHATS),
    Shortcut("send", ("Enter",), QT_TRANSLATE_NOOP("Shortcuts", "Send"), Group.WRITING, handled_by_widget=True),
    Shortcut(
        "new_line", ("Shift+Enter",), QT_TRANSLATE_NOOP("Shortcuts", "New line"), Group.WRITING, handled_by_widget=True
    ),
    Shortcut(
        "edit_last",
        ("Up",),
        QT_TRANSLATE_NOOP("Shortcuts", "Edit the last prompt, when the composer is empty"),
        Group.WRITING,
        handled_by_widget=True,
    ),
    Shortcut("stop", ("Esc",), QT_TRANSLATE_NOOP("Shortcuts", "Stop the answer"), Group.ANSWER),
    Shortcut("regenerate", ("Ctrl+R",), QT_TRANSLATE_NOOP("Shortcuts", "Answer again"), Group.ANSWER),
    Shortcut("copy_last", ("Ctrl+Shift+C",), QT_TRANSLATE_NOOP("Shortcuts", "Copy the last answer"), Group.ANSWER),
    Shortcut("previous_version", ("Left",), QT_TRANSLATE_NOOP("Shortcuts", "Previous version"), Group.ANSWER),
    Shortcut("next_version", ("Right",), QT_TRANSLATE_NOOP("Shortcuts", "Next version"), Group.ANSWER),
    Shortcut("sidebar", ("Ctrl+B",), QT_TRANSLATE_NOOP("Shortcuts", "Show or hide the sidebar"), Group.GENERAL),
    Shortcut("settings", ("Ctrl+,",), QT_TRANSLATE_NOOP("Shortcuts", "Settings"), Group.GENERAL),
    Shortcut("zoom_in", ("Ctrl++", "Ctrl+="), QT_TRANSLATE_NOOP("Shortcuts", "Larger text"), Group.GENERAL),
    Shortcut("zoom_out", ("Ctrl+-",), QT_TRANSLATE_NOOP("Shortcuts", "Smaller text"), Group.GENERAL),
    Shortcut("zoom_reset", ("Ctrl+0",), QT_TRANSLATE_NOOP("Shortcuts", "Text at its usual size"), Group.GENERAL),
    Shortcut("shortcuts", ("F1", "Ctrl+/"), QT_TRANSLATE_NOOP("Shortcuts", "Keyboard shortcuts"), Group.GENERAL),
    Shortcut("quit", ("Ctrl+Q",), QT_TRANSLATE_NOOP("Shortcuts", "Quit Strata"), Group.GENERAL),
)


def shortcut(name: str) -> Shortcut:
    """Raises ``KeyError`` for a name that is not in the table."""
    for each in SHORTCUTS:
        if each.name == name:
            return each
    raise KeyError(name)


def title(entry: Shortcut) -> str:
    """What the key does, in the user's language."""
    return QCoreApplication.translate(_CONTEXT, entry.title)


def key_text(entry: Shortcut) -> str:
    """The first key as this system writes it."""
    return QKeySequence(entry.keys[0]).toString(QKeySequence.SequenceFormat.NativeText)


def add_action(owner: QWidget, name: str, handler: Callable[[], object]) -> QAction:
    """An action with the table's keys and title, added to ``owner`` and calling ``handler``.

    Keys with Ctrl work wherever the focus is while ``owner`` is seen; others, as Escape, mean something else elsewhere.
    """
    entry = shortcut(name)
    action = QAction(title(entry), owner)
    action.setObjectName(name)
    if not entry.handled_by_widget:
        action.setShortcuts([QKeySequence(keys) for keys in entry.keys])
    action.setShortcutContext(
        Qt.ShortcutContext.WindowShortcut
        if isinstance(owner, QMainWindow) or entry.keys[0].startswith("Ctrl+")
        else Qt.ShortcutContext.WidgetWithChildrenShortcut
    )
    # Without the lambda PySide passes the action's "checked" to a handler that has a parameter.
    action.triggered.connect(lambda: handler())  # noqa: PLW0108
    owner.addAction(action)
    return action
