"""Whether there is a newer Strata: asked when the user presses, or once a week where they allowed it.

Owns the question and its answer. Downloads nothing and opens nothing; without the wish there is no request.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QLocale, QObject, QTimer, Signal, Slot

from app.background import Background
from app.published_list import ListSource
from app.settings import UPDATES_ASKED_AT, UPDATES_WEEKLY, Settings
from app.signed_list import PublishedList, Release
from engine import __version__
from engine.errors import EngineError

WEEK_S = 7 * 24 * 3600
_LOOK_MS = 3600 * 1000


class UpdateState(StrEnum):
    NOT_ASKED = "not asked"
    ASKING = "asking"
    NEWEST = "newest"
    NEWER = "newer"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class UpdateStatus:
    """``release`` where there is a newer one, ``problem`` where nobody could tell."""

    state: UpdateState = UpdateState.NOT_ASKED
    release: Release | None = None
    problem: EngineError | None = None


class UpdateCheck(QObject):
    """Lives in the GUI thread. ``found_newer`` only when it looked by itself; ``changed`` always."""

    changed = Signal()
    found_newer = Signal(object)

    def __init__(
        self,
        source: ListSource,
        settings: Settings,
        *,
        version: str = __version__,
        now: Callable[[], float] = time.time,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._source = source
        self._settings = settings
        self._version = version
        self._now = now
        self._is_by_itself = False
        self.status = UpdateStatus()
        self._timer = QTimer(self, interval=_LOOK_MS)
        self._timer.timeout.connect(self.look)

    @property
    def can_ask(self) -> bool:
        """Whether this program knows where new versions are published."""
        return bool(self._source.address)

    def start(self) -> None:
        """From now on it looks by itself where that is allowed."""
        self._timer.start()
        self.look()

    def look(self) -> None:
        """Once a week, where the user allowed it."""
        # A clock that was ahead once must not keep it silent for years.
        is_due = not 0 <= self._now() - self._settings.value(UPDATES_ASKED_AT) < WEEK_S
        if self._settings.value(UPDATES_WEEKLY) and is_due and self.can_ask:
            self._ask(is_by_itself=True)

    def ask(self) -> None:
        """Because the user pressed."""
        if self.can_ask:
            self._ask(is_by_itself=False)

    def _ask(self, *, is_by_itself: bool) -> None:
        if self.status.state is UpdateState.ASKING:
            return
        self._is_by_itself = is_by_itself
        self._show(UpdateStatus(UpdateState.ASKING))
        background = Background(self._source.fetch, self)
        background.done.connect(self._take)
        background.failed.connect(self._take_failure)

    @Slot(object)
    def _take(self, published: PublishedList) -> None:
        self._settings.set(UPDATES_ASKED_AT, int(self._now()))
        release = published.release
        if not is_newer(release.version, self._version):
            self._show(UpdateStatus(UpdateState.NEWEST))
            return
        self._show(UpdateStatus(UpdateState.NEWER, release))
        if self._is_by_itself:
            self.found_newer.emit(release)

    @Slot(object)
    def _take_failure(self, error: Exception) -> None:
        """By itself it says nothing: being offline is nobody's problem. It is tried again within the hour."""
        if self._is_by_itself:
            self._show(UpdateStatus())
            return
        problem = error if isinstance(error, EngineError) else EngineError(str(error), detail=repr(error))
        self._show(UpdateStatus(UpdateState.FAILED, problem=problem))

    def _show(self, status: UpdateStatus) -> None:
        self.status = status
        self.changed.emit()


def is_newer(version: str, than: str) -> bool:
    """Compares numbers, place by place: 0.10.0 is newer than 0.9.2. A version before its release (1.0rc1) is older."""
    return _order(version) > _order(than)


def notes_of(release: Release) -> str:
    """Plain text in the language of the program, else in English."""
    return release.notes.get(QLocale().name()) or release.notes.get("en", "")


def _order(version: str) -> tuple[tuple[int, ...], bool]:
    numbers: list[int] = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        numbers.append(int(digits or 0))
        if digits != part:
            return _trimmed(numbers), False
    return _trimmed(numbers), True


def _trimmed(numbers: list[int]) -> tuple[int, ...]:
    while numbers and numbers[-1] == 0:
        numbers = numbers[:-1]
    return tuple(numbers)
