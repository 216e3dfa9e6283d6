"""Pictures of every page, in both themes and both languages, into ``docs/screenshots``.

    python -m tests.screenshots                         # all of them
    python -m tests.screenshots --only chat --to DIR    # those whose name contains "chat", elsewhere

The real window and the real pages on an engine that is not there, with chats and models that look like somebody's.
No screen is needed. Look at the results: they are for people to judge, no test compares them.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, cast

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QEventLoop, QPoint, QTimer
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from app.about_dialog import AboutDialog
from app.code_dialog import CodeDialog
from app.conversations.records import Draft, StoreError
from app.crash import CrashReport
from app.crash_dialog import CrashDialog
from app.gpu.meter import Amount
from app.gpu.status import GpuState, GpuStatus, Offer
from app.icons import app_icon
from app.library.move_dialog import MoveDialog
from app.main_window import MainWindow
from app.model_code import ModelCode
from app.pages import PageName, program_pages
from app.paths import Paths
from app.services import Services
from app.settings import MODELS_FOLDER, RAM_BUDGET, SETUP_FINISHED
from app.shortcuts_dialog import ShortcutsDialog
from app.signed_list import Part, RuntimeEntry
from app.start_failure import StartFailureDialog
from app.theme import ThemeChoice
from app.translation import install_language
from tests.helpers.fake_engine import FakeEngineHost, layer_progress
from tests.helpers.shell_services import shell_services
from tests.helpers.show_case import (
    CUTTING,
    DOWNLOADING,
    MACHINE,
    NEXT_QUESTION,
    SPLITTING,
    add_image_chat,
    fill_chats,
    fill_engine,
    write_past,
)

SIZE = (1280, 820)
LANGUAGES = ("en", "zh_CN")
THEMES = (ThemeChoice.LIGHT, ThemeChoice.DARK)
ROOT = Path(__file__).resolve().parent.parent


class Studio:
    """One window in one language and one theme. ``shoot`` names the picture."""

    def __init__(self, app: QApplication, folder: Path, language: str, theme: ThemeChoice, stack: ExitStack) -> None:
        self.services = stack.enter_context(shell_services(folder, app))
        self.language = language
        self.theme = theme
        self.services.theme.choose(theme)
        self.engine = cast(FakeEngineHost, self.services.engine)
        fill_engine(self.engine)
        self.services.jobs.start()

    def window(self, *, is_new: bool = False) -> MainWindow:
        self.services.settings.set(SETUP_FINISHED, not is_new)
        self.services.settings.set(MODELS_FOLDER, "/data/models")
        window = MainWindow(self.services, program_pages())
        window.resize(*SIZE)
        window.show()
        return window


def settle(milliseconds: int = 120) -> None:
    """Lets timers and answers of the engine come in."""
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


class Shoot(Protocol):
    def __call__(self, widget: QWidget, name: str, popup: QWidget | None = None) -> None: ...


def shoot_wizard(studio: Studio, shoot: Shoot) -> None:
    window = studio.window(is_new=True)
    window.go(PageName.WIZARD)
    page = cast(Any, window._page(PageName.WIZARD))
    settle()
    shoot(window, "wizard-1-welcome")
    page.welcome.forward.click()
    settle(300)
    shoot(window, "wizard-2-computer")
    page.machine.forward.click()
    settle(300)
    shoot(window, "wizard-3-model")
    page.choice.forward.click()
    settle(400)
    shoot(window, "wizard-4-cost")
    studio.engine.reply_nothing("download")
    page.cost.forward.click()
    settle(200)
    for request in studio.engine.asked("download"):
        for progress in (DOWNLOADING, CUTTING, DOWNLOADING):
            studio.engine.send(request.request_id, progress)
            settle(100)
    settle(300)
    shoot(window, "wizard-5-progress")
    window.close_for_good()


def shoot_chat(studio: Studio, shoot: Shoot) -> None:
    fill_chats(studio.services.conversations, studio.language)
    window = studio.window()
    window.go(PageName.CHAT)
    settle(400)
    page = cast(Any, window._page(PageName.CHAT))
    first = studio.services.conversations.conversations()[0]
    window.go(f"chat:{first.id}")
    settle(400)
    shoot(window, "chat")
    page._panel_button.click()
    settle(300)
    shoot(window, "chat-options")
    page._panel_button.click()
    page.choose_model()
    settle(300)
    shoot(window, "chat-models", page.picker)
    page.picker.hide()
    window.toggle_sidebar()
    page.desk.send(Draft(NEXT_QUESTION[studio.language]))
    settle(300)
    message_id = studio.services.answers.current
    assert message_id is not None
    for block in (1, 12, 30, 37):
        studio.services.answers.answer_progress.emit(message_id, layer_progress(block, 80, token_index=11))
        settle(40)
    settle(200)
    shoot(window, "chat-working")
    window.toggle_sidebar()
    window.new_chat()
    settle(300)
    shoot(window, "chat-new")
    window.go(f"chat:{add_image_chat(studio.services.conversations, studio.language)}")
    settle(900)
    shoot(window, "chat-images")
    window.close_for_good()


def shoot_library(studio: Studio, shoot: Shoot) -> None:
    window = studio.window()
    window.go(PageName.LIBRARY)
    studio.engine.reply_nothing("split")
    studio.services.jobs.add_split("Qwen/Qwen3-14B", title="Qwen3-14B")
    settle(300)
    for request in studio.engine.asked("split"):
        studio.engine.send(request.request_id, SPLITTING)
    settle(400)
    shoot(window, "library")
    page = cast(Any, window._page(PageName.LIBRARY))
    page._scroll.verticalScrollBar().setValue(page._scroll.verticalScrollBar().maximum())
    settle()
    shoot(window, "library-folders")
    page._places.ask_where(page._models[0])
    settle(300)
    dialog = window.findChildren(MoveDialog)[-1]
    shoot(dialog, "library-move")
    dialog.accept()
    settle(100)
    window.close_for_good()


def shoot_settings(studio: Studio, shoot: Shoot) -> None:
    studio.services.settings.set(RAM_BUDGET, 12_000_000_000)
    window = studio.window()
    window.go(PageName.SETTINGS)
    settle(700)
    shoot(window, "settings")
    window.resize(SIZE[0], 1900)
    settle(200)
    shoot(window, "settings-whole")
    window.resize(*SIZE)
    for name, dialog in dialogs(studio.services, window).items():
        dialog.open()
        settle()
        shoot(dialog, name)
        dialog.reject()
    window.close_for_good()


def shoot_card(studio: Studio, shoot: Shoot) -> None:
    window = studio.window(is_new=True)
    window.go(PageName.WIZARD)
    cast(Any, window._page(PageName.WIZARD)).welcome.forward.click()
    gpu = studio.services.gpu
    for name, status in CARD.items():
        gpu.status = status
        gpu.changed.emit()
        settle(300)
        shoot(window, name)
    window.close_for_good()


def dialogs(services: Services, window: QWidget) -> dict[str, QDialog]:
    report = CrashReport("ValueError", "Strata · Python 3.11 · Qt 6\nThread: MainThread\nTraceback …\nValueError: x")
    failure = StoreError(
        f"The conversations in {services.paths.conversations_file.name} cannot be opened.",
        "Check that the folder can be written and the drive is not full.",
        detail="OperationalError('database is locked')",
    )
    return {
        "model-code": CodeDialog(CODE, services.engine, window),
        "start-failure": StartFailureDialog(failure, services.paths.data_dir),
        "shortcuts": ShortcutsDialog(window),
        "about": AboutDialog(window),
        "crash": CrashDialog(report, services.paths.logs_dir, window),
    }


CODE = ModelCode(
    "nova-lab/Nova-34B-Chat",
    "5f2c9a71d04be8836c1f7a2d9e54b0c83a6719ef",
    (("configuration_nova.py", 9_160), ("modeling_nova.py", 74_300), ("tokenization_nova.py", 12_050)),
    "",
)

_RUNTIME = RuntimeEntry(
    "cp311", "2.13.0", "win-amd64", "1", 13, (580,), (7, 5), (Part("", 2_410_000_000, ""),), 4_870_000_000
)
_FOUND = GpuStatus(GpuState.AVAILABLE, card="NVIDIA GeForce RTX 4070", driver="581.29")
CARD = {
    "card": _FOUND,
    "card-offer": replace(
        _FOUND, state=GpuState.OFFERED, offer=Offer(_RUNTIME, 2_410_000_000, 7_280_000_000, 312_000_000_000)
    ),
    "card-download": replace(
        _FOUND, state=GpuState.FETCHING, amount=Amount(1_210_000_000, 2_410_000_000, 34_000_000.0, 35.3)
    ),
}

SCENES: dict[str, Callable[[Studio, Shoot], None]] = {
    "wizard": shoot_wizard,
    "chat": shoot_chat,
    "library": shoot_library,
    "settings": shoot_settings,
    "card": shoot_card,
}


def shoot_all(app: QApplication, target: Path, wanted: str) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for language in LANGUAGES:
        translators = install_language(app, language)
        for theme in THEMES:
            for name, scene in SCENES.items():
                if wanted in name:
                    shoot_scene(app, scene, language, theme, target)
        for each in translators:
            app.removeTranslator(each)


def shoot_scene(
    app: QApplication, scene: Callable[[Studio, Shoot], None], language: str, theme: ThemeChoice, target: Path
) -> None:
    def shoot(widget: QWidget, name: str, popup: QWidget | None = None) -> None:
        """A ``popup`` is a window of its own and is drawn where it is."""
        file = target / f"{name}-{theme}-{language}.png"
        picture = widget.grab()
        if popup is not None:
            painter = QPainter(picture)
            painter.drawPixmap(widget.mapFromGlobal(popup.mapToGlobal(QPoint(0, 0))), popup.grab())
            painter.end()
        picture.save(str(file))
        print(file.name)

    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        MACHINE.write(Path(folder))
        write_past(Paths(Path(folder)).ledger_file)
        scene(Studio(app, Path(folder), language, theme, stack), shoot)
        settle(50)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=ROOT / "docs" / "screenshots")
    parser.add_argument("--only", default="", metavar="SCENE", help=", ".join(SCENES))
    given = parser.parse_args()
    app = QApplication([])
    app.setWindowIcon(app_icon())
    shoot_all(app, given.to, given.only)


if __name__ == "__main__":
    main()
