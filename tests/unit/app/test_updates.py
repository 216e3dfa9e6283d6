"""Looking for a newer version: only when it is wished for, and honest about what came of it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.published_list import ListSource
from app.settings import UPDATES_ASKED_AT, UPDATES_WEEKLY, Settings
from app.updates import WEEK_S, UpdateCheck, UpdateState, is_newer, notes_of
from tests.helpers.stand_in_runtimes import KEYS, Publisher, publisher

NOW = 2_000_000_000.0


@pytest.fixture(autouse=True)
def collected_here() -> Iterator[None]:
    """As in the program: the server's threads must not collect what belongs to Qt."""
    gc.disable()
    yield
    gc.collect()
    gc.enable()


@pytest.fixture
def there() -> Iterator[Publisher]:
    with publisher() as found:
        found.release = {"version": "0.3.0", "page": "https://x.example/new", "notes": {"en": "<b>New</b> things."}}
        found.publish()
        yield found


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    found = Settings(tmp_path / "settings.json")
    yield found
    found.flush()


def check(
    there: Publisher, settings: Settings, folder: Path, *, version: str = "0.2.0", now: float = NOW
) -> UpdateCheck:
    source = ListSource(there.address, folder / "list.json", keys=KEYS)
    return UpdateCheck(source, settings, version=version, now=lambda: now)


@pytest.mark.parametrize(
    ("version", "than", "is_it"),
    [
        ("0.2.0", "0.1.9", True), ("0.10.0", "0.9.9", True), ("1", "0.9", True), ("1.0.0", "1.0rc1", True),
        ("0.2.0", "0.2.0", False), ("0.2", "0.2.0", False), ("0.1.0", "0.2.0", False), ("1.0rc1", "1.0", False),
        ("1.0rc1", "0.9", True),
    ],
)  # fmt: skip
def test_versions_are_compared_by_their_numbers(version: str, than: str, is_it: bool) -> None:
    assert is_newer(version, than) is is_it


def test_pressed_it_says_what_is_new(there: Publisher, settings: Settings, tmp_path: Path, qtbot: QtBot) -> None:
    updates = check(there, settings, tmp_path)
    updates.ask()
    assert updates.status.state is UpdateState.ASKING
    qtbot.waitUntil(lambda: updates.status.state is UpdateState.NEWER)
    assert updates.status.release is not None
    assert updates.status.release.page == "https://x.example/new"
    assert notes_of(updates.status.release) == "<b>New</b> things."
    assert there.server.paths() == ["/strata/runtimes/89abcdef0123456789abcdef0123456789abcdef/list.json"]


@pytest.mark.parametrize("version", ["0.3.0", "0.4.0"])
def test_the_same_or_an_older_one_is_no_news(
    there: Publisher, settings: Settings, tmp_path: Path, qtbot: QtBot, version: str
) -> None:
    updates = check(there, settings, tmp_path, version=version)
    updates.ask()
    qtbot.waitUntil(lambda: updates.status.state is UpdateState.NEWEST)
    assert updates.status.release is None


def test_without_the_wish_nobody_is_asked(there: Publisher, settings: Settings, tmp_path: Path) -> None:
    updates = check(there, settings, tmp_path)
    updates.start()
    assert updates.status.state is UpdateState.NOT_ASKED
    assert there.server.seen == []


def test_allowed_weekly_it_asks_once_a_week_and_tells(
    there: Publisher, settings: Settings, tmp_path: Path, qtbot: QtBot
) -> None:
    settings.set(UPDATES_WEEKLY, True)
    updates = check(there, settings, tmp_path)
    with qtbot.waitSignal(updates.found_newer):
        updates.start()
    assert settings.value(UPDATES_ASKED_AT) == NOW
    early = check(there, settings, tmp_path, now=NOW + WEEK_S - 1)
    early.start()
    assert early.status.state is UpdateState.NOT_ASKED
    late = check(there, settings, tmp_path, now=NOW + WEEK_S)
    with qtbot.waitSignal(late.found_newer):
        late.start()
    assert len(there.server.seen) == 2


def test_a_clock_that_was_ahead_once_does_not_silence_it(
    there: Publisher, settings: Settings, tmp_path: Path, qtbot: QtBot
) -> None:
    settings.set(UPDATES_WEEKLY, True)
    settings.set(UPDATES_ASKED_AT, int(NOW + 100 * WEEK_S))
    updates = check(there, settings, tmp_path)
    with qtbot.waitSignal(updates.found_newer):
        updates.start()
    assert settings.value(UPDATES_ASKED_AT) == NOW


def test_offline_is_one_sentence_where_it_was_pressed_and_none_where_it_looked_by_itself(
    settings: Settings, tmp_path: Path, qtbot: QtBot
) -> None:
    with publisher() as gone:
        pass
    updates = check(gone, settings, tmp_path)
    updates.ask()
    qtbot.waitUntil(lambda: updates.status.state is UpdateState.FAILED)
    assert updates.status.problem is not None
    assert "refuses the connection" in updates.status.problem.message
    settings.set(UPDATES_WEEKLY, True)
    with qtbot.waitSignal(updates.changed):
        updates.look()
    qtbot.waitUntil(lambda: updates.status.state is UpdateState.NOT_ASKED)
    assert settings.value(UPDATES_ASKED_AT) == 0


def test_a_program_that_does_not_know_where_to_look_asks_nobody(settings: Settings, tmp_path: Path) -> None:
    settings.set(UPDATES_WEEKLY, True)
    updates = UpdateCheck(ListSource("", tmp_path / "list.json"), settings)
    updates.start()
    updates.ask()
    assert not updates.can_ask
    assert updates.status.state is UpdateState.NOT_ASKED
