"""What one does with the folders of the list of chats: make, rename, delete with a way back, move chats.

Owns the menus for that. Must not know how the list is drawn.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QMenu

from app.conversations.model import PINNED_KEY, ChatRow, ConversationList, HeaderRow
from app.conversations.store import ConversationStore
from app.icons import icon
from app.widgets.popups import add_submenu


class FolderDeeds(QObject):
    """``naming_wanted`` carries the key of a group whose name is to be typed; ``deleted`` the way back."""

    naming_wanted = Signal(str)
    deleted = Signal(object)

    def __init__(self, store: ConversationStore, model: ConversationList, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._model = model

    def add(self, conversation_id: int | None = None) -> None:
        """A new folder, with one chat in it if that is given; it gets its name in the list."""
        folder = self._store.add_folder(self.tr("New folder"))
        if conversation_id is not None:
            self._store.set_folder(conversation_id, folder.id)
        self._model.refresh()
        self.naming_wanted.emit(f"folder-{folder.id}")

    def move(self, conversation_id: int, folder_id: int | None) -> None:
        self._store.set_folder(conversation_id, folder_id)

    def drop(self, conversation_id: int, group: HeaderRow | None) -> None:
        """Onto a folder or the pinned ones; anywhere else it goes back under its day."""
        self._store.set_folder(conversation_id, group.folder_id if group else None)
        if group is None or group.folder_id is None:
            self._store.set_pinned(conversation_id, group is not None and group.key == PINNED_KEY)

    def delete(self, row: HeaderRow) -> None:
        """Its chats stay, under their days."""
        if row.folder_id is None:
            return
        inside = [each.id for each in self._store.conversations() if each.folder_id == row.folder_id]
        self._store.remove_folder(row.folder_id)
        self.deleted.emit(partial(self._restore, row.text, inside))

    def add_move_menu(self, menu: QMenu, row: ChatRow) -> None:
        """Where the chat can go from where it is."""
        moving = add_submenu(menu, icon("folder"), self.tr("Move to folder"))
        for folder in self._store.folders():
            place = moving.addAction(folder.name.replace("&", "&&"))
            place.setCheckable(True)
            place.setChecked(folder.id == row.folder_id)
            place.triggered.connect(partial(self._move_to, row.id, folder.id))
        if not moving.isEmpty():
            moving.addSeparator()
        moving.addAction(icon("plus"), self.tr("New folder…")).triggered.connect(partial(self._add_with, row.id))
        if row.folder_id is not None:
            menu.addAction(icon("move"), self.tr("Take out of the folder")).triggered.connect(
                partial(self._move_to, row.id, None)
            )

    def fill_header_menu(self, menu: QMenu, row: HeaderRow) -> None:
        if row.folder_id is not None:
            menu.addAction(icon("edit"), self.tr("Rename the folder")).triggered.connect(
                lambda: self.naming_wanted.emit(row.key)
            )
        fold = self.tr("Show its chats") if row.is_folded else self.tr("Hide its chats")
        menu.addAction(icon("chevron-down" if row.is_folded else "chevron-up"), fold).triggered.connect(
            lambda: self._model.fold(row.key, not row.is_folded)
        )
        self.add_new_folder(menu)
        if row.folder_id is not None:
            menu.addSeparator()
            menu.addAction(icon("trash", colour="danger"), self.tr("Delete the folder")).triggered.connect(
                lambda: self.delete(row)
            )

    def add_new_folder(self, menu: QMenu) -> None:
        menu.addAction(icon("folder"), self.tr("New folder…")).triggered.connect(self._add_empty)

    def _add_empty(self, _is_checked: bool = False) -> None:
        self.add()

    def _move_to(self, conversation_id: int, folder_id: int | None, _is_checked: bool = False) -> None:
        self.move(conversation_id, folder_id)

    def _add_with(self, conversation_id: int, _is_checked: bool = False) -> None:
        self.add(conversation_id)

    def _restore(self, name: str, conversation_ids: list[int]) -> None:
        folder = self._store.add_folder(name)
        for each in conversation_ids:
            self._store.set_folder(each, folder.id)
