"""Services for the test of a page: real settings, store and job board in a temporary folder, a fake engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from PySide6.QtCore import QObject

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
from tests.helpers.fake_engine import FakeEngineHost


def page_services(folder: Path, engine: FakeEngineHost, parent: QObject | None = None) -> Services:
    """A token lives for the session only, and there is no queue of answers. The board of jobs is started."""
    paths = Paths(folder)
    paths.create()
    jobs = JobBoard(engine, paths.jobs_file, models_folder=lambda: paths.models_dir, parent=parent)
    jobs.start()
    settings, nowhere = Settings(paths.settings_file), ListSource("", paths.list_file)
    return Services(
        paths=paths,
        settings=settings,
        secrets=Secrets(_no_keyring, parent),
        theme=Theme(parent),
        engine=engine,
        conversations=ConversationStore(paths.conversations_file),
        jobs=jobs,
        answers=cast(Any, None),
        ledger=Ledger(engine, paths.ledger_file, parent=parent),
        gpu=GpuRuntime(RuntimeFolders(paths.runtimes_dir), nowhere, None, parent=parent),
        updates=UpdateCheck(nowhere, settings, parent=parent),
    )


def close_page_services(services: Services) -> None:
    services.jobs.close()
    services.ledger.close()
    services.conversations.close()
    services.secrets.close()
    services.settings.flush()


def _no_keyring() -> Keyring:
    raise KeyringUnavailable("a test has none")
