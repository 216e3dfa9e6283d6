"""The real program as somebody meets it: its own process on a screen of its own, with a keyboard and a mouse.

A hub on this machine that breaks connections, a program and an engine that are killed, and nothing lost.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.conversations.records import AnswerState, StoredMessage
from app.conversations.store import ConversationStore
from app.paths import Paths
from app.settings import MIRROR, SETUP_FINISHED
from app.settings_file import write_settings
from engine.store.model_store import ModelStore
from tests.helpers.checkpoints import cut
from tests.helpers.desktop import DrivenProgram, screen
from tests.helpers.hub_server import FakeRepo, Fault, HubServer, Seen
from tests.helpers.talking_checkpoint import make_talking_checkpoint

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="a screen without a monitor needs an X server"),
]

REPO = "acme/talker"
QUESTION = "Tell me about the lighthouse"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_talking_checkpoint(tmp_path_factory.mktemp("hub") / "talker")


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    with screen() as name:
        yield name


@pytest.fixture
def program(display: str, tmp_path: Path) -> Iterator[DrivenProgram]:
    program = DrivenProgram(display, tmp_path)
    Paths(program.data_dir).create()
    yield program
    program.close()


@pytest.fixture
def server(checkpoint: Path) -> Iterator[HubServer]:
    with HubServer({REPO: FakeRepo.of_folder(checkpoint)}) as server:
        yield server


def settings(program: DrivenProgram, **values: object) -> None:
    write_settings(Paths(program.data_dir).settings_file, values)


def answer_of(program: DrivenProgram) -> StoredMessage | None:
    """The one answer, as the file has it: another process reads while the program writes."""
    store = ConversationStore(Paths(program.data_dir).conversations_file)
    try:
        chats = store.conversations()
        messages = store.messages(chats[0].id) if chats else []
        return next((each for each in messages if each.role == "assistant"), None)
    finally:
        store.close()


def stored_text(program: DrivenProgram, more_than: int) -> str | None:
    answer = answer_of(program)
    return answer.text if answer is not None and len(answer.text) > more_than else None


def wait_for_text(program: DrivenProgram, more_than: int = 0) -> str:
    return program.wait_until("text of the answer on the disk", lambda: stored_text(program, more_than))


def choose_on_the_hub(program: DrivenProgram) -> None:
    """From the welcome to the last button, by mouse and keyboard."""
    program.click("Set up")
    program.click("Continue")
    program.click("Search for a model")
    program.type("talker")
    program.press("Return")
    row = program.wait_for(f"{REPO}: ")
    program.click(row)
    program.click(f"Choose {REPO}")
    program.click("Download and prepare")


def break_downloads(server: HubServer) -> None:
    """Of the bodies of weight files, not of their heads: two are cut short, two come whole, then silence."""
    bodies = {"part": ".safetensors", "server": "storage", "least": 5000}
    server.faults += [
        Fault(**bodies, times=2, cut_after=20_000), Fault(**bodies, times=2), Fault(**bodies, stall_after=8 << 10),
    ]  # fmt: skip


def bodies(server: HubServer, start: int = 0) -> list[Seen]:
    """Requests for the bodies of weight files, from the ``start``-th request on."""
    return [seen for seen in server.seen[start:] if seen.server == "storage" and seen.sent > 5000]


def first_byte(seen: Seen) -> int:
    return int((seen.range or "bytes=0-").removeprefix("bytes=").split("-")[0])


def file_of(seen: Seen) -> str:
    return seen.path.rsplit("/", 1)[1]


def test_from_the_first_start_to_an_answer_that_outlives_everything(
    program: DrivenProgram, server: HubServer, checkpoint: Path
) -> None:
    settings(program, **{MIRROR.name: server.endpoint})
    break_downloads(server)
    program.start()
    choose_on_the_hub(program)
    models = Paths(program.data_dir).models_dir
    program.wait_until("a block that is cut", lambda: list(models.glob("*/blocks/*.safetensors")))
    assert not list(models.glob("*/split.json"))
    program.kill()
    first, second, third, other, _ = bodies(server)
    assert file_of(first) == file_of(second) == file_of(third) != file_of(other)
    assert first_byte(first) < first_byte(second) < first_byte(third)

    server.release.set()
    begun = len(server.seen)
    program.start()
    program.wait_until("the model is ready", lambda: list(models.glob("*/split.json")))
    assert not {file_of(first), file_of(other)} & {file_of(seen) for seen in bodies(server, begun)}
    program.click("Message")
    program.type(QUESTION)
    program.press("Return")
    wait_for_text(program)
    program.press("Escape")
    stopped = program.wait_until("the answer is stopped", lambda: ended(program))
    assert stopped.state is AnswerState.STOPPED
    assert stopped.text
    program.press("ctrl+q")
    assert program.wait_for_end() == 0

    program.start()
    program.wait_for(stopped.text[:40].strip())
    assert program.says(QUESTION)


def ended(program: DrivenProgram) -> StoredMessage | None:
    answer = answer_of(program)
    return answer if answer is not None and answer.state not in (AnswerState.WAITING, AnswerState.RUNNING) else None


def test_an_engine_killed_in_a_token_is_said_and_started_again_and_the_answer_goes_on(
    program: DrivenProgram, checkpoint: Path
) -> None:
    settings(program, **{SETUP_FINISHED.name: True})
    cut(checkpoint, ModelStore(program.data_dir))
    program.start()
    program.click("Message")
    program.type(QUESTION)
    program.press("Return")
    early = wait_for_text(program)
    program.kill_engine()
    program.wait_for("The engine stopped unexpectedly")
    assert program.is_running
    program.wait_for("The engine is running again.")
    late = wait_for_text(program, len(early) + 100)
    assert late.startswith(early)
    program.press("Escape")
    assert program.wait_until("the answer is stopped", lambda: ended(program)).text.startswith(late)
