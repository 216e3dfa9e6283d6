"""F1: every key of the program, from the one table that also makes the actions."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from app.shortcuts import SHORTCUTS, Group, Shortcut, title
from app.theme import tokens
from app.widgets.buttons import button
from app.widgets.labels import label


class ShortcutsDialog(QDialog):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look = tokens()
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        column = QVBoxLayout(self)
        column.setContentsMargins(look.xl, look.l, look.xl, look.l)
        column.setSpacing(look.l)
        column.addWidget(label(self.tr("Keyboard shortcuts"), "heading"))
        sides = QHBoxLayout()
        sides.setSpacing(look.xxl)
        for groups in ((Group.GENERAL,), (Group.CHATS, Group.ANSWER, Group.WRITING)):
            side = QVBoxLayout()
            side.setSpacing(look.l)
            for group in groups:
                side.addLayout(_group(group))
            side.addStretch()
            sides.addLayout(side, 1)
        column.addLayout(sides)
        close = button(self.tr("Close"), "primary")
        close.setDefault(True)
        close.clicked.connect(self.accept)
        column.addWidget(close, alignment=Qt.AlignmentFlag.AlignRight)


def _group(group: Group) -> QGridLayout:
    look = tokens()
    grid = QGridLayout()
    grid.setHorizontalSpacing(look.l)
    grid.setVerticalSpacing(look.s)
    grid.setColumnStretch(0, 1)
    grid.addWidget(label(_group_title(group), "section"), 0, 0, 1, 2)
    entries = [entry for entry in SHORTCUTS if entry.group is group]
    for row, entry in enumerate(entries, start=1):
        grid.addWidget(label(title(entry)), row, 0)
        grid.addLayout(_keys(entry), row, 1)
    return grid


def _group_title(group: Group) -> str:
    return {
        Group.GENERAL: QCoreApplication.translate("Shortcuts", "Window"),
        Group.CHATS: QCoreApplication.translate("Shortcuts", "Chats"),
        Group.ANSWER: QCoreApplication.translate("Shortcuts", "Answers"),
        Group.WRITING: QCoreApplication.translate("Shortcuts", "Writing"),
    }[group]


def _keys(entry: Shortcut) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(tokens().xs)
    row.addStretch()
    for keys in entry.keys:
        text = QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
        key = label(text, "key")
        key.setAccessibleName(f"{title(entry)}: {text}")
        row.addWidget(key)
    return row
