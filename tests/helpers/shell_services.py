"""Services for tests of the shell: real ones in a temporary folder, with an engine that is not there."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtWidgets import QApplication

from app.answers import AnswerQueue
from app.conversations.store import ConversationStore
from app.gpu.runtime_folders import RuntimeFolders
from app.gpu.service import GpuRuntime
from app.jobs import JobBoard
from app.ledger import Ledger
from app.paths import Paths
from app.published_list import ListSource
from app.secrets import Keyring, KeyringUnavailable, Secrets
from app.services import Services
from app.settings import Settings
from app.theme import Theme
from app.updates import UpdateCheck
from engine.api import LoadOptions
from tests.helpers.fake_engine import FakeEngineHost


def no_keyring() -> Keyring:
    raise KeyringUnavailable("none in tests")


@contextmanager
def shell_services(folder: Path, app: QApplication) -> Iterator[Services]:
    """The theme is put on ``app``; everything is closed at the end."""
    paths = Paths(folder)
    paths.create()
    settings = Settings(paths.settings_file)
    secrets = Secrets(no_keyring)
    theme = Theme()
    theme.apply(app)
    engine = FakeEngineHost()
    conversations = ConversationStore(paths.conversations_file)
    jobs = JobBoard(engine, paths.jobs_file, models_folder=lambda: paths.models_dir)
    answers = AnswerQueue(
        engine, conversations, models_folder=lambda: paths.models_dir, load_options=lambda _model: LoadOptions()
    )
    ledger = Ledger(engine, paths.ledger_file)
    nowhere = ListSource("https://strata.invalid/list.json", paths.list_file)
    gpu, updates = GpuRuntime(RuntimeFolders(paths.runtimes_dir), nowhere, None), UpdateCheck(nowhere, settings)
    try:
        yield Services(paths, settings, secrets, theme, engine, conversations, jobs, answers, ledger, gpu, updates)
    finally:
        answers.close()
        jobs.close()
        ledger.close()
        conversations.close()
        secrets.close()
        settings.flush()
        # Here, in the GUI thread: a writing thread that collected them would delete their timers there.
        del answers, jobs, ledger
        gc.collect()
