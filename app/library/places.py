"""Where models are kept: moving one to another drive, and the folders they are looked for in.

Asks the user, the engine and the board of jobs. Must not know how the library lists its models.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QWidget

from app.drive_watch import DriveWatch
from app.engine_calls import EngineCall
from app.library.folders_view import FoldersView
from app.library.move_dialog import MoveDialog
from app.library.removal import forgetting_question
from app.library.shelf import ShelfModel
from app.services import Services
from app.settings import FREE_SPACE_FLOOR, MODELS_FOLDER


class Places(QObject):
    """``changed``: other models may be there now. ``failed`` carries the engine's error. ``view`` is to be shown."""

    changed = Signal()
    failed = Signal(object)

    def __init__(self, services: Services, page: QWidget) -> None:
        super().__init__(page)
        self._services = services
        self._page = page
        self.drives = DriveWatch(services.engine, services.paths, self)
        self.view = FoldersView()
        self.view.add_asked.connect(lambda folder: self._ask("add_models_folder", folder))
        self.view.main_asked.connect(self._use_folder)
        self.view.forget_asked.connect(self._confirm_forgetting)
        self.view.hide()

    def look(self) -> None:
        """Which folders and drives there are now, and what they hold. Measures nothing."""
        self.drives.look(measures=False)
        call = EngineCall(self._services.engine, "model_folders", parent=self)
        call.result.connect(self.view.show_folders)
        call.result.connect(lambda _folders: self.view.show())

    def ask_where(self, model: ShelfModel) -> None:
        """The drives are listed at once; their speeds come as they are measured."""
        self.drives.look()
        floor = self._services.settings.value(FREE_SPACE_FLOOR)
        dialog = MoveDialog(model, self.drives, floor_bytes=floor, parent=self._page)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.accepted.connect(lambda: self._move(model, dialog.folder))
        dialog.open()

    def _move(self, model: ShelfModel, folder: Path) -> None:
        title = self.tr("Moving {title}").format(title=model.short)
        self._services.jobs.add_move(model.info.name, folder, title=title)

    def _use_folder(self, folder: str) -> None:
        """The same setting as on the page of settings; the engine starts anew with it."""
        is_usual = Path(folder) == self._services.paths.models_dir
        self._services.settings.set(MODELS_FOLDER, "" if is_usual else folder)

    def _confirm_forgetting(self, folder: str) -> None:
        question = forgetting_question(folder, self._page)
        question.accepted.connect(lambda: self._ask("forget_models_folder", folder))
        question.open()

    def _ask(self, method: str, folder: str) -> None:
        call = EngineCall(self._services.engine, method, Path(folder), parent=self)
        call.result.connect(lambda _none: self.changed.emit())
        call.failed.connect(self.failed)
