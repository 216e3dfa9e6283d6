"""The settings: each declared once with its type, default, range, title and help; the page is made from these.

Owns which settings exist and their values in use. Must not know who reads them. Values live in the GUI thread and
are written to disk by a thread of their own, so that a busy drive never holds the window.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Generic, TypeVar, cast
from urllib.parse import urlsplit

from PySide6.QtCore import QObject, Signal

from app.settings_file import SettingsContent, read_settings, write_settings
from app.tokens import FONT_SCALES
from app.translation import QT_TRANSLATE_NOOP

_log = logging.getLogger(__name__)

T = TypeVar("T")

_GB = 10**9


class Section(StrEnum):
    """In the order of the page."""

    APPEARANCE = "appearance"
    MODELS = "models"
    MEMORY = "memory"
    DOWNLOADS = "downloads"
    WORKING = "working"
    PROGRAM = "program"


class Editor(StrEnum):
    """Which control edits a value."""

    CHOICE = "choice"
    FLAG = "flag"
    FOLDER = "folder"
    SIZE = "size"
    TEXT = "text"
    TIME = "time"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """One setting. ``read`` turns what JSON holds into a value, or raises ``ValueError``/``TypeError``.

    ``shown_with`` names a flag without which this one means nothing. ``choices`` are
    (value, text); ``lowest`` and ``highest`` bound sizes in bytes, None where only the machine does.
    """

    name: str
    default: T
    read: Callable[[object], T]
    editor: Editor
    section: Section
    title: str
    help: str = ""
    choices: tuple[tuple[T, str], ...] = ()
    lowest: int | None = None
    highest: int | None = None
    placeholder: str = ""
    needs_restart: bool = False
    shown_with: str = ""
    keywords: str = ""


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("not true or false")
    return value


def _one_of(*allowed: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if value not in allowed:
            raise ValueError(f"none of {allowed}")
        return cast(str, value)

    return read


def _scale(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("not a number")
    if not 0.5 <= value <= 3:
        raise ValueError("not between 0.5 and 3")
    return min(FONT_SCALES, key=lambda step: abs(step - value))


def _optional_size(value: object) -> int | None:
    return None if value is None else _size(value)


def _size(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("not a number of bytes")
    if value < 0:
        raise ValueError("below zero")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _folder(value: object) -> str:
    """An absolute path, or nothing for the default."""
    if not isinstance(value, str):
        raise TypeError("not a path")
    if value and not Path(value).is_absolute():
        raise ValueError("not an absolute path")
    return value


def _address(*schemes: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if not isinstance(value, str):
            raise TypeError("not an address")
        text = value.strip()
        parts = urlsplit(text)
        if text and (parts.scheme not in schemes or not parts.hostname):
            raise ValueError(f"not an address that begins with one of {schemes}")
        return text.rstrip("/")

    return read


def _time(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a time")
    hours, minutes = value.split(":")
    if not (0 <= int(hours) < 24 and 0 <= int(minutes) < 60):
        raise ValueError("not a time of day")
    return f"{int(hours):02}:{int(minutes):02}"


THEME = Setting(
    "theme",
    "system",
    _one_of("system", "light", "dark"),
    Editor.CHOICE,
    Section.APPEARANCE,
    QT_TRANSLATE_NOOP("Settings", "Theme"),
    QT_TRANSLATE_NOOP("Settings", "“System” follows your computer, also when it changes in the evening."),
    choices=(
        ("system", QT_TRANSLATE_NOOP("Settings", "System")),
        ("light", QT_TRANSLATE_NOOP("Settings", "Light")),
        ("dark", QT_TRANSLATE_NOOP("Settings", "Dark")),
    ),
    keywords="dark light colour color appearance",
)
FONT_SCALE = Setting(
    "font_scale",
    1.0,
    _scale,
    Editor.CHOICE,
    Section.APPEARANCE,
    QT_TRANSLATE_NOOP("Settings", "Text size"),
    QT_TRANSLATE_NOOP("Settings", "Also with Ctrl and plus, minus or zero."),
    choices=tuple((step, f"{step:.0%}") for step in FONT_SCALES),
    keywords="font zoom large small",
)
LANGUAGE = Setting(
    "language",
    "system",
    _one_of("system", "en", "zh_CN"),
    Editor.CHOICE,
    Section.APPEARANCE,
    QT_TRANSLATE_NOOP("Settings", "Language"),
    choices=(("system", QT_TRANSLATE_NOOP("Settings", "System")), ("en", "English"), ("zh_CN", "简体中文")),
    needs_restart=True,
    keywords="chinese english 中文 translation",
)
KEEP_IN_TRAY = Setting(
    "keep_in_tray",
    True,
    _flag,
    Editor.FLAG,
    Section.WORKING,
    QT_TRANSLATE_NOOP("Settings", "Keep working when the window is closed"),
    QT_TRANSLATE_NOOP(
        "Settings",
        "While an answer or a job is under way, an icon near the clock shows the time left. "
        "With nothing to do, closing the window quits.",
    ),
    keywords="tray background close",
)
NOTIFY = Setting(
    "notify",
    True,
    _flag,
    Editor.FLAG,
    Section.WORKING,
    QT_TRANSLATE_NOOP("Settings", "Tell me when an answer or a job is done"),
    QT_TRANSLATE_NOOP("Settings", "One notice from the system, only while the window is not in front."),
    keywords="notification message",
)
KEEP_AWAKE = Setting(
    "keep_awake",
    True,
    _flag,
    Editor.FLAG,
    Section.WORKING,
    QT_TRANSLATE_NOOP("Settings", "Keep the computer awake while working"),
    QT_TRANSLATE_NOOP(
        "Settings", "Only while an answer or a job is under way. The screen may still turn off by itself."
    ),
    keywords="sleep suspend power",
)
NIGHT_ONLY = Setting(
    "night_only",
    False,
    _flag,
    Editor.FLAG,
    Section.WORKING,
    QT_TRANSLATE_NOOP("Settings", "Start jobs at night"),
    QT_TRANSLATE_NOOP(
        "Settings",
        "New jobs wait for the night. One that you continue by hand runs at once, and one that has begun "
        "is carried to its end.",
    ),
    keywords="schedule time window",
)
NIGHT_START = Setting(
    "night_start",
    "23:00",
    _time,
    Editor.TIME,
    Section.WORKING,
    QT_TRANSLATE_NOOP("Settings", "Night begins"),
    keywords="schedule time",
    shown_with="night_only",
)
NIGHT_END = Setting(
    "night_end",
    "07:00",
    _time,
    Editor.TIME,
    Section.WORKING,
    QT_TRANSLATE_NOOP("Settings", "Night ends"),
    keywords="schedule time",
    shown_with="night_only",
)
MODELS_FOLDER = Setting(
    "models_folder",
    "",
    _folder,
    Editor.FOLDER,
    Section.MODELS,
    QT_TRANSLATE_NOOP("Settings", "Folder of models"),
    QT_TRANSLATE_NOOP(
        "Settings",
        "A fast drive with room to spare. Models that are already cut stay where they are.",
    ),
    keywords="drive disk path storage",
)
RAM_BUDGET: Setting[int | None] = Setting(
    "ram_budget",
    None,
    _optional_size,
    Editor.SIZE,
    Section.MEMORY,
    QT_TRANSLATE_NOOP("Settings", "Memory for models"),
    QT_TRANSLATE_NOOP(
        "Settings",
        "What fits here need not be read from the drive for every token. "
        "“Automatic” takes what is free and leaves room for your other programs.",
    ),
    lowest=_GB // 2,
    keywords="ram budget residency",
)
VRAM_BUDGET: Setting[int | None] = Setting(
    "vram_budget",
    None,
    _optional_size,
    Editor.SIZE,
    Section.MEMORY,
    QT_TRANSLATE_NOOP("Settings", "Graphics memory for models"),
    QT_TRANSLATE_NOOP("Settings", "Used only where the computer has a graphics card that can compute."),
    lowest=_GB // 2,
    keywords="vram gpu budget residency",
)
MIRROR = Setting(
    "hub_mirror",
    "",
    _address("http", "https"),
    Editor.TEXT,
    Section.DOWNLOADS,
    QT_TRANSLATE_NOOP("Settings", "Mirror of the hub"),
    QT_TRANSLATE_NOOP("Settings", "Leave empty for huggingface.co."),
    placeholder="https://huggingface.co",
    keywords="endpoint hugging face url",
)
PROXY = Setting(
    "proxy",
    "",
    _address("http", "https", "socks5", "socks5h"),
    Editor.TEXT,
    Section.DOWNLOADS,
    QT_TRANSLATE_NOOP("Settings", "Proxy"),
    QT_TRANSLATE_NOOP("Settings", "Leave empty to use the system's."),
    placeholder="http://127.0.0.1:8080",
    keywords="network http socks",
)
FREE_SPACE_FLOOR = Setting(
    "free_space_floor",
    2 * _GB,
    _size,
    Editor.SIZE,
    Section.DOWNLOADS,
    QT_TRANSLATE_NOOP("Settings", "Always leave free on the drive"),
    QT_TRANSLATE_NOOP("Settings", "Jobs pause at this floor and continue when there is room again."),
    lowest=_GB // 2,
    highest=500 * _GB,
    keywords="space disk full floor",
)
UPDATES_WEEKLY = Setting(
    "updates_weekly",
    False,
    _flag,
    Editor.FLAG,
    Section.PROGRAM,
    QT_TRANSLATE_NOOP("Settings", "Check for a newer version once a week"),
    QT_TRANSLATE_NOOP(
        "Settings", "Reads one public file and says what is new. Nothing about you is sent, nothing is downloaded."
    ),
    keywords="update upgrade release check",
)
SETUP_FINISHED = Setting("setup_finished", False, _flag, Editor.NONE, Section.APPEARANCE, "")
UPDATES_ASKED_AT = Setting("updates_asked_at", 0, _size, Editor.NONE, Section.PROGRAM, "")
"""When the list of versions was read last: seconds since 1970."""

HELD_JOBS = Setting("held_jobs", "", _text, Editor.NONE, Section.WORKING, "")
"""Ids of jobs that wait for the night, separated by spaces."""

FOLDED_GROUPS = Setting("folded_groups", "", _text, Editor.NONE, Section.APPEARANCE, "")
"""Groups of the list of chats whose chats are hidden, separated by spaces."""

SETTINGS: tuple[Setting[object], ...] = cast(
    "tuple[Setting[object], ...]",
    (
        THEME, FONT_SCALE, LANGUAGE, MODELS_FOLDER, RAM_BUDGET, VRAM_BUDGET, MIRROR, PROXY, FREE_SPACE_FLOOR,
        KEEP_IN_TRAY, NOTIFY, KEEP_AWAKE, NIGHT_ONLY, NIGHT_START, NIGHT_END, SETUP_FINISHED, HELD_JOBS,
        FOLDED_GROUPS, UPDATES_WEEKLY, UPDATES_ASKED_AT,
    ),
)  # fmt: skip


class Settings(QObject):
    """The values in use. ``changed`` carries a setting's name; ``write_failed`` a sentence from the system."""

    changed = Signal(str)
    write_failed = Signal(str)

    def __init__(self, path: Path, *, is_stored: bool = True, parent: QObject | None = None) -> None:
        """Raises ``OSError`` where the file exists and cannot be read. ``set_aside`` is a damaged file's new place.

        Not ``is_stored``: the file is neither read nor written, and every default holds (safe mode).
        """
        super().__init__(parent)
        self._path = path
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="settings")
        self._waiting: Mapping[str, object] | None = None
        self._lock = threading.Lock()
        content = read_settings(path) if is_stored else SettingsContent({})
        self._is_stored = is_stored
        self.set_aside = content.set_aside
        self._stored = dict(content.values)
        self._values = {each.name: _read_or_default(each, self._stored) for each in SETTINGS}

    def value(self, setting: Setting[T]) -> T:
        return cast(T, self._values[setting.name])

    def set(self, setting: Setting[T], value: T) -> None:
        """Checks, keeps, tells, and saves soon. Raises ``ValueError`` or ``TypeError`` for what is not allowed."""
        checked = setting.read(value)
        if checked == self._values[setting.name]:
            return
        self._values[setting.name] = checked
        self._stored[setting.name] = checked
        self._save()
        self.changed.emit(setting.name)

    def reset(self, setting: Setting[T]) -> None:
        self.set(setting, setting.default)

    def flush(self) -> None:
        """Waits until everything is on disk. Afterwards nothing more is saved."""
        self._writer.shutdown(wait=True)

    def _save(self) -> None:
        """Changes that come while one is being written go together into the next."""
        if not self._is_stored:
            return
        with self._lock:
            is_first = self._waiting is None
            self._waiting = dict(self._stored)
        if is_first:
            self._writer.submit(self._write)

    def _write(self) -> None:
        with self._lock:
            values, self._waiting = self._waiting, None
        try:
            write_settings(self._path, values or {})
        except OSError as error:
            _log.warning("settings not saved: %s", error)
            self.write_failed.emit(str(error))


def _read_or_default(setting: Setting[T], stored: Mapping[str, object]) -> T:
    if setting.name not in stored:
        return setting.default
    try:
        return setting.read(stored[setting.name])
    except (ValueError, TypeError) as error:
        _log.warning("setting %s is not usable (%s); the default holds", setting.name, error)
        return setting.default
