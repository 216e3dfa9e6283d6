"""Settings: what is kept, what is refused, what a damaged file costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.settings import FONT_SCALE, MIRROR, NIGHT_START, PROXY, RAM_BUDGET, SETTINGS, THEME, Editor, Settings
from app.settings_file import read_settings, write_settings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.json"


def stored(file: Path) -> dict[str, object]:
    return json.loads(file.read_text(encoding="utf-8"))["values"]


def test_without_a_file_every_default_holds(file: Path) -> None:
    settings = Settings(file)
    assert all(settings.value(each) == each.default for each in SETTINGS)


def test_a_default_is_a_value_its_own_setting_accepts() -> None:
    for each in SETTINGS:
        assert each.read(each.default) == each.default


def test_every_choice_is_accepted_and_the_default_is_one_of_them() -> None:
    for each in SETTINGS:
        if each.editor is Editor.CHOICE:
            values = [value for value, _ in each.choices]
            assert each.default in values
            assert [each.read(value) for value in values] == values


def test_what_was_set_is_there_after_a_restart(file: Path) -> None:
    first = Settings(file)
    first.set(THEME, "dark")
    first.set(RAM_BUDGET, 8_000_000_000)
    first.flush()
    second = Settings(file)
    assert second.value(THEME) == "dark"
    assert second.value(RAM_BUDGET) == 8_000_000_000


def test_a_change_is_told_once(file: Path) -> None:
    settings = Settings(file)
    told: list[str] = []
    settings.changed.connect(told.append)
    settings.set(THEME, "dark")
    settings.set(THEME, "dark")
    assert told == ["theme"]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        (THEME, "purple"), (FONT_SCALE, "large"), (FONT_SCALE, 40.0), (RAM_BUDGET, -1), (RAM_BUDGET, True),
        (PROXY, "localhost"), (PROXY, "ftp://somewhere"), (MIRROR, "socks5://x"), (NIGHT_START, "25:00"),
    ],
)  # fmt: skip
def test_a_value_that_is_not_allowed_changes_nothing(file: Path, setting, value) -> None:
    settings = Settings(file)
    with pytest.raises((ValueError, TypeError)):
        settings.set(setting, value)
    assert settings.value(setting) == setting.default


def test_an_address_is_kept_without_spaces_and_final_slash(file: Path) -> None:
    settings = Settings(file)
    settings.set(MIRROR, "  https://hub.example.org/ ")
    assert settings.value(MIRROR) == "https://hub.example.org"


def test_one_unusable_value_costs_only_itself(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_settings(file, {"theme": 7, "night_start": "22:30"})
    settings = Settings(file)
    assert settings.value(THEME) == "system"
    assert settings.value(NIGHT_START) == "22:30"
    assert "theme" in caplog.text


def test_names_of_a_newer_version_survive(file: Path) -> None:
    write_settings(file, {"of_tomorrow": [1, 2]})
    settings = Settings(file)
    settings.set(THEME, "light")
    settings.flush()
    assert stored(file) == {"of_tomorrow": [1, 2], "theme": "light"}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"values": 3}', "\x00\x00"])
def test_a_damaged_file_is_set_aside_and_the_program_starts(file: Path, content: str) -> None:
    file.write_text(content, encoding="utf-8")
    settings = Settings(file)
    assert settings.set_aside is not None
    assert settings.set_aside.read_text(encoding="utf-8") == content
    assert settings.value(THEME) == "system"


def test_the_file_is_replaced_whole(file: Path) -> None:
    write_settings(file, {"a": 1})
    write_settings(file, {"b": 2})
    assert read_settings(file).values == {"b": 2}
    assert [each.name for each in file.parent.iterdir()] == ["settings.json"]


def test_a_drive_that_cannot_be_written_is_told_and_the_value_holds(tmp_path: Path, qtbot: QtBot) -> None:
    settings = Settings(tmp_path / "missing" / "settings.json")
    with qtbot.waitSignal(settings.write_failed):
        settings.set(THEME, "dark")
    settings.flush()
    assert settings.value(THEME) == "dark"


def test_safe_mode_reads_and_writes_nothing(file: Path) -> None:
    write_settings(file, {"theme": "dark"})
    settings = Settings(file, is_stored=False)
    assert settings.value(THEME) == "system"
    settings.set(THEME, "light")
    settings.flush()
    assert stored(file) == {"theme": "dark"}
