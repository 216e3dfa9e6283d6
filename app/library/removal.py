"""The question before a model is removed: what is freed, and that its original stays."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from app.library.shelf import ShelfModel, is_download
from app.widgets.question import QuestionDialog
from engine.quantities import format_size


def removal_question(model: ShelfModel, downloads: Path, parent: QWidget) -> QuestionDialog:
    """Accepted where it is to be removed."""
    return QuestionDialog(
        QCoreApplication.translate("Library", "Remove {title}?").format(title=model.short),
        removal_text(model, downloads),
        yes=QCoreApplication.translate("Library", "Remove"),
        no=QCoreApplication.translate("Library", "Keep it"),
        yes_kind="danger",
        parent=parent,
    )


def forgetting_question(folder: str, parent: QWidget) -> QuestionDialog:
    """Accepted where the folder is to be taken off the list."""
    return QuestionDialog(
        QCoreApplication.translate("Library", "Take this folder off the list?"),
        QCoreApplication.translate(
            "Library",
            "Nothing in {folder} is touched. Its models are no longer shown here, until you add the folder again.",
        ).format(folder=folder),
        yes=QCoreApplication.translate("Library", "Take it off"),
        no=QCoreApplication.translate("Library", "Keep it"),
        parent=parent,
    )


def removal_text(model: ShelfModel, downloads: Path) -> str:
    size = format_size(model.info.nbytes)
    if is_download(model, downloads):
        return QCoreApplication.translate(
            "Library",
            "Its blocks are deleted and {size} become free. To have it again, it is downloaded again. "
            "Your chats stay; they need another model to go on.",
        ).format(size=size)
    if model.info.source:
        return QCoreApplication.translate(
            "Library",
            "Its blocks are deleted and {size} become free. The original in {source} is not touched. "
            "Your chats stay; they need another model to go on.",
        ).format(size=size, source=model.info.source)
    return QCoreApplication.translate(
        "Library",
        "Its blocks are deleted and {size} become free. Your chats stay; they need another model to go on.",
    ).format(size=size)
