"""The running program: every service built once, the window, and what ties them together.

Owns the order of starting and ending, and what closing the window means. Must not know what a page shows.
"""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication

from app.announcer import Announcer
from app.answer_notice import AnswerNotice
from app.answers import AnswerQueue
from app.background import Background, wait_for_background
from app.bundle import bundle
from app.conversations.store import ConversationStore
from app.engine_host import EngineHost
from app.engine_notice import EngineNotice
from app.gpu.runtime_folders import RuntimeFolders
from app.gpu.service import GpuRuntime
from app.hub_access import hub_access
from app.jobs import JobBoard
from app.keep_awake import KeepAwake, system_block
from app.ledger import Ledger
from app.machine_record import MACHINE_FILE_NAME
from app.main_window import MainWindow
from app.night_shift import NightShift
from app.options import Options
from app.pages import PageName, import_pages, program_pages
from app.paths import Paths
from app.published_list import ListSource, shipped_address
from app.secrets import Secrets
from app.services import Services
from app.settings import (
    FONT_SCALE,
    FREE_SPACE_FLOOR,
    KEEP_AWAKE,
    KEEP_IN_TRAY,
    MODELS_FOLDER,
    PROXY,
    RAM_BUDGET,
    SETUP_FINISHED,
    THEME,
    VRAM_BUDGET,
    Settings,
)
from app.signed_list import Release
from app.theme import Theme, ThemeChoice
from app.tray import Tray
from app.updates import UpdateCheck
from app.widgets.notice_bar import NoticeKind
from app.widgets.question import QuestionDialog
from app.work import Work
from engine.api import LoadOptions

_log = logging.getLogger(__name__)


class Program(QObject):
    """``start`` shows the window; ``stop`` ends everything and blocks until it is on disk."""

    def __init__(self, app: QApplication, options: Options, settings: Settings, secrets: Secrets) -> None:
        super().__init__()
        self._app = app
        self._options = options
        self.wants_restart = False
        self._is_stopping = False
        paths = Paths(options.data_dir)
        theme = Theme(self)
        theme.choose(ThemeChoice(settings.value(THEME)))
        theme.set_font_scale(settings.value(FONT_SCALE))
        theme.apply(app)
        self.services = self._build(paths, settings, secrets, theme)
        settings.changed.connect(self._take_setting)
        self.work = Work(self.services.answers, self.services.jobs, self.services.gpu, self)
        self.window = MainWindow(self.services, program_pages())
        self.tray = Tray(self.work, self)
        self._engine_notice = EngineNotice(self.services.engine, self.window.notice, self)
        self._answer_notice = AnswerNotice(self.services.answers, self.window.notice, self)
        self._keep_awake = KeepAwake(system_block(), is_allowed=settings.value(KEEP_AWAKE), parent=self)
        self._night_shift = NightShift(settings, self.services.jobs, parent=self)
        self._announcer = Announcer(
            settings, self.services.conversations, is_seen=self._is_seen, notify=self.tray.notify, parent=self
        )
        self._connect()

    def start(self) -> None:
        """The window first; what costs time follows when it is on the screen."""
        if not self._options.is_safe_mode:
            # Before a page is built, so that it finds them under way; the engine is asked once it runs.
            self.services.answers.resume_unfinished()
        is_new = not self.services.settings.value(SETUP_FINISHED)
        self.window.go(PageName.WIZARD if is_new and not self._options.is_safe_mode else PageName.CHAT)
        if self._options.file is not None:
            self.window.go(f"{PageName.WIZARD}:{self._options.file}")
        self.window.show()
        QTimer.singleShot(0, self, self._start_working)

    def stop(self) -> None:
        """In this order: what is under way is written down, then the engine ends, then the files close."""
        self._is_stopping = True
        self.tray.leave()
        self._keep_awake.set_working(False)
        self.services.answers.close()
        self.services.jobs.close()
        self.services.gpu.close()
        self.services.engine.shutdown()
        self.services.ledger.close()
        wait_for_background()
        self.services.conversations.close()
        self.services.secrets.close()
        self.services.settings.flush()

    def show_window(self, target: str = "") -> None:
        self.tray.leave()
        if target:
            self.window.go(target)
        self.window.bring_to_front()

    def show_file(self, file: str) -> None:
        """What another start was given, "" for nothing."""
        self.show_window(f"{PageName.WIZARD}:{file}" if file else "")

    def quit(self) -> None:
        """Asks first where something is under way."""
        if self.work.is_busy() and not self._is_confirmed():
            return
        self.leave()

    def leave(self) -> None:
        """Without a question."""
        self.window.close_for_good()
        self._app.quit()

    def restart(self) -> None:
        self.wants_restart = True
        self.leave()

    def _build(self, paths: Paths, settings: Settings, secrets: Secrets, theme: Theme) -> Services:
        def models_folder() -> Path:
            return Path(settings.value(MODELS_FOLDER) or paths.models_dir)

        def load_options(_model: str) -> LoadOptions:
            return LoadOptions(ram=settings.value(RAM_BUDGET), vram=settings.value(VRAM_BUDGET))

        def proxy() -> str:
            return settings.value(PROXY)

        shipped = bundle()
        source = ListSource(shipped_address(shipped), paths.list_file, proxy=proxy)
        gpu = GpuRuntime(
            RuntimeFolders(paths.runtimes_dir),
            source,
            shipped,
            floor_bytes=lambda: settings.value(FREE_SPACE_FLOOR),
            proxy=proxy,
            parent=self,
        )
        engine = EngineHost(paths.data_dir, models_folder=models_folder(), runtimes=gpu.overlay, parent=self)
        gpu.follow(engine)
        conversations = ConversationStore(paths.conversations_file)
        jobs = JobBoard(
            engine,
            paths.jobs_file,
            models_folder=models_folder,
            hub_access=lambda: hub_access(settings, secrets),
            floor_bytes=lambda: settings.value(FREE_SPACE_FLOOR),
            parent=self,
        )
        answers = AnswerQueue(
            engine, conversations, models_folder=models_folder, load_options=load_options, parent=self
        )
        ledger = Ledger(engine, paths.ledger_file, parent=self)
        updates = UpdateCheck(source, settings, parent=self)
        return Services(paths, settings, secrets, theme, engine, conversations, jobs, answers, ledger, gpu, updates)

    def _connect(self) -> None:
        self.window.close_requested.connect(self._close_window)
        self.window.quit_requested.connect(self.quit)
        self.window.restart_requested.connect(self.restart)
        self.tray.opened.connect(self.show_window)
        self.tray.quit_requested.connect(self.quit)
        self._night_shift.held.connect(self._say_held)
        self.services.gpu.fell_back.connect(self._say_fell_back)
        self.services.gpu.switched.connect(self._forget_machine)
        self.services.updates.found_newer.connect(self._say_newer)
        self.work.busy_changed.connect(self._keep_awake.set_working)
        self.work.busy_changed.connect(self._take_busy)

    def _start_working(self) -> None:
        _log.info("the window is there")
        import_pages()
        services = self.services
        self._announcer.follow(services.answers, services.jobs)
        services.secrets.open()
        if services.settings.set_aside is not None:
            self.window.notice.show_notice(
                NoticeKind.WARNING,
                self.tr("The settings could not be read, so the default ones hold."),
                self.tr("The damaged file was kept as {name}.").format(name=services.settings.set_aside.name),
            )
        if services.conversations.rescued_from is not None:
            self.window.notice.show_notice(
                NoticeKind.WARNING,
                self.tr("The file of your chats was damaged. All that could be read of it is here."),
                self.tr("The damaged file was kept as {name}.").format(name=services.conversations.rescued_from.name),
            )
        if self._options.is_safe_mode:
            self._say_safe_mode()
            return
        services.engine.start()
        services.gpu.start()
        services.updates.start()
        services.jobs.start()
        Background(services.conversations.remove_unused_images, self)
        self._night_shift.look()

    def _say_safe_mode(self) -> None:
        self.window.notice.show_notice(
            NoticeKind.WARNING,
            self.tr("Safe mode: default settings hold, and the engine is not started."),
            self.tr("You can read your chats and export them. Start Strata again to answer."),
            can_dismiss=False,
        )

    def _say_held(self, _job_id: str, start: datetime) -> None:
        self.window.notice.show_notice(
            NoticeKind.INFO,
            self.tr("This job starts at {time}.").format(time=f"{start:%H:%M}"),
            self.tr("The settings say that jobs start at night. Continue it in the library to start it now."),
        )

    def _say_fell_back(self, reason: str) -> None:
        self.window.notice.show_notice(
            NoticeKind.WARNING,
            self.tr("The software for your graphics card did not start, so models run on the processor."),
            self.tr("Nothing is lost. Under Settings you can try it again, or remove it."),
            detail=reason,
        )

    def _forget_machine(self) -> None:
        """What was measured with another device holds no more: the wizard measures anew."""
        (self.services.paths.data_dir / MACHINE_FILE_NAME).unlink(missing_ok=True)

    def _say_newer(self, release: Release) -> None:
        self.window.notice.show_notice(
            NoticeKind.INFO,
            self.tr("Strata {version} is available.").format(version=release.version),
            self.tr("Under Settings, Program, you see what is new."),
        )

    def _close_window(self) -> None:
        keeps_working = self.services.settings.value(KEEP_IN_TRAY) and Tray.is_available()
        if self.work.is_busy() and keeps_working:
            self.window.hide()
            self.tray.stay()
        else:
            self.quit()

    def _is_confirmed(self) -> bool:
        self.window.bring_to_front()
        question = QuestionDialog(
            self.tr("Quit while something is under way?"),
            self.tr("It continues from where it is the next time you start Strata. Nothing is lost."),
            yes=self.tr("Quit"),
            no=self.tr("Keep working"),
            parent=self.window,
        )
        return question.exec() == QuestionDialog.DialogCode.Accepted

    def _take_busy(self, is_busy: bool) -> None:
        """With the window closed and the work done the icon stays: the notice that says so leads back."""
        if not is_busy and not self._is_stopping:
            self._app.alert(self.window)

    def _is_seen(self) -> bool:
        return self.window.isVisible() and self._app.applicationState() is Qt.ApplicationState.ApplicationActive

    def _take_setting(self, name: str) -> None:
        services = self.services
        if name == THEME.name:
            services.theme.choose(ThemeChoice(services.settings.value(THEME)))
        elif name == FONT_SCALE.name:
            services.theme.set_font_scale(services.settings.value(FONT_SCALE))
        elif name == KEEP_AWAKE.name:
            self._keep_awake.set_allowed(services.settings.value(KEEP_AWAKE))
        elif name == MODELS_FOLDER.name and not self._options.is_safe_mode:
            folder = Path(services.settings.value(MODELS_FOLDER) or services.paths.models_dir)
            services.engine.restart(models_folder=folder)
