"""Chats that leave for a file and come back from one: asks where, reads and writes in the background, says how it went.

Owns the file dialogs. Must not know what is in the files: ``app.conversations.exchange`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from app.background import Background
from app.conversations.exchange import Headings, export_json, export_markdown, import_json
from app.conversations.store import ConversationStore
from app.engine_texts import shown_text
from app.user_folders import documents
from engine.errors import EngineError


class ExchangeDeeds(QObject):
    """``said`` is one sentence for the user, after each deed that was not called off."""

    said = Signal(str)

    def __init__(self, store: ConversationStore, parent: QWidget) -> None:
        super().__init__(parent)
        self._store = store
        self._window = parent

    def export_as_markdown(self, conversation_id: int, title: str) -> None:
        headings = Headings(self.tr("You"), self.tr("Answer"), self.tr("File"))
        self._export(
            f"{file_name(title)}.md", lambda path: export_markdown(self._store, conversation_id, headings, path)
        )

    def export_as_json(self, conversation_ids: Sequence[int], title: str) -> None:
        self._export(
            f"{file_name(title)}.json",
            lambda path: path.write_text(export_json(self._store, conversation_ids), encoding="utf-8"),
        )

    def import_chats(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self._window, self.tr("Import chats"), str(documents()), "JSON (*.json)")
        if path:
            call = Background(partial(_import, self._store, Path(path)), self)
            call.done.connect(self._say_imported)
            call.failed.connect(self._say_not_imported)

    def _export(self, name: str, write: Callable[[Path], object]) -> None:
        kinds = "Markdown (*.md)" if name.endswith(".md") else "JSON (*.json)"
        path, _ = QFileDialog.getSaveFileName(self._window, self.tr("Export"), str(documents() / name), kinds)
        if path:
            call = Background(lambda: write(Path(path)), self)
            call.done.connect(lambda: self._say_exported(Path(path)))
            call.failed.connect(self._say_not_exported)

    def _say_exported(self, path: Path) -> None:
        self.said.emit(self.tr("Exported to {name}").format(name=path.name))

    @Slot(object)
    def _say_not_exported(self, error: Exception) -> None:
        self.said.emit(self.tr("Not exported: {reason}").format(reason=_reason(error)))

    @Slot(object)
    def _say_imported(self, conversation_ids: list[int]) -> None:
        self.said.emit(self.tr("%n chats imported", "", len(conversation_ids)))

    @Slot(object)
    def _say_not_imported(self, error: Exception) -> None:
        self.said.emit(self.tr("Not imported: {reason}").format(reason=_reason(error)))


def file_name(title: str) -> str:
    """A title that every system takes as a file's name."""
    kept = "".join(each if each.isalnum() or each in " -_" else " " for each in title)
    return " ".join(kept.split())[:60] or "chat"


def _import(store: ConversationStore, path: Path) -> list[int]:
    return import_json(store, path.read_text(encoding="utf-8", errors="replace"))


def _reason(error: Exception) -> str:
    if isinstance(error, EngineError):
        return shown_text(error.message)
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
