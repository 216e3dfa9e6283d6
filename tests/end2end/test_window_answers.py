"""The window while a model streams on every core: the GUI thread is never blocked for more than 100 ms.

The real engine in its process, the starter model with nothing resident, the real window showing the answer arrive.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.answers import AnswerQueue
from app.conversations.records import AnswerState
from app.conversations.store import ConversationStore
from app.engine_host import EngineHost
from app.garbage import GarbageTimer
from app.gpu.runtime_folders import RuntimeFolders
from app.gpu.service import GpuRuntime
from app.job_records import JobState
from app.jobs import JobBoard
from app.ledger import Ledger
from app.main_window import MainWindow
from app.pages import program_pages
from app.paths import Paths
from app.published_list import ListSource
from app.secrets import Secrets
from app.services import Services
from app.settings import SETUP_FINISHED, Settings
from app.theme import Theme
from app.updates import UpdateCheck
from app.watchdog import BLOCKED_S, Watchdog
from engine.api import LoadOptions, Message, SamplingOptions
from tests.helpers.shell_services import no_keyring

QUESTION = "Tell me a long story about a lighthouse, a storm and a dog."
TOKENS = 40
TRIES = 3


@pytest.fixture
def services(tmp_path: Path, qapp: QApplication) -> Iterator[Services]:
    paths = Paths(tmp_path)
    paths.create()
    settings = Settings(paths.settings_file)
    settings.set(SETUP_FINISHED, True)
    theme = Theme()
    theme.apply(qapp)
    engine = EngineHost(tmp_path)
    store = ConversationStore(paths.conversations_file)
    jobs = JobBoard(engine, paths.jobs_file, models_folder=lambda: paths.models_dir)
    answers = AnswerQueue(
        engine,
        store,
        models_folder=lambda: paths.models_dir,
        load_options=lambda _model: LoadOptions(nothing_resident=True, context=1024),
    )
    garbage = GarbageTimer()
    garbage.start()
    engine.start()
    jobs.start()
    ledger = Ledger(engine, paths.ledger_file)
    nowhere = ListSource("", paths.list_file)
    gpu, updates = GpuRuntime(RuntimeFolders(paths.runtimes_dir), nowhere, None), UpdateCheck(nowhere, settings)
    yield Services(paths, settings, Secrets(no_keyring), theme, engine, store, jobs, answers, ledger, gpu, updates)
    answers.close()
    jobs.close()
    engine.shutdown()
    ledger.close()
    store.close()
    settings.flush()
    garbage.stop()
    del answers, jobs, ledger
    gc.collect()


def prepare_starter(services: Services, qtbot: QtBot) -> str:
    """Cuts the starter; the folder of its split."""
    job_id = services.jobs.add_split("starter")
    with qtbot.waitSignal(services.jobs.job_ended, timeout=120_000):
        pass
    job = services.jobs.job(job_id)
    assert job is not None
    assert job.state is JobState.DONE, job.error
    return job.folder


def watch_answer(services: Services, window: MainWindow, folder: str, qtbot: QtBot) -> float:
    """One answer from the question to its end; the longest time the GUI thread was blocked, in seconds."""
    store = services.conversations
    chat = store.add_conversation(model=folder)
    question = store.add_message(chat.id, "user", QUESTION, parent_id=None)
    answer = store.add_message(chat.id, "assistant", parent_id=question.id, model=folder, state=AnswerState.WAITING)
    window.go(f"chat:{chat.id}")
    qtbot.wait(500)
    watchdog = Watchdog()
    watchdog.start()
    sampling = SamplingOptions(temperature=0.0, max_new_tokens=TOKENS)
    with qtbot.waitSignal(services.answers.answer_finished, timeout=180_000):
        services.answers.enqueue(chat.id, answer.id, folder, [Message("user", QUESTION)], sampling)
    watchdog.stop()
    text = store.message(answer.id)
    assert text is not None
    assert text.text
    return watchdog.longest_s


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_window_is_never_blocked_while_a_model_streams(services: Services, qtbot: QtBot) -> None:
    """The best of a few answers: other programs of the machine must not decide the result.

    The watchdog does not count what they took of the processor; a drive or a lock they hold may still cost a try.
    """
    window = MainWindow(services, program_pages())
    qtbot.addWidget(window, before_close_func=lambda _: window.close_for_good())
    window.resize(1180, 780)
    window.show()
    window.go("chat")
    folder = prepare_starter(services, qtbot)
    longest: list[float] = []
    while len(longest) < TRIES and min(longest, default=1.0) >= BLOCKED_S:
        longest.append(watch_answer(services, window, folder, qtbot))
    # As the program ends: the window goes before what it shows.
    window.close_for_good()
    QApplication.processEvents()
    assert min(longest) < BLOCKED_S, longest
