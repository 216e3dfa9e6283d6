"""The wizard's state on disk, so that closing the window at any point loses nothing. Small and replaced whole."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path

from app.wizard.flow import FlowState, from_json, to_json

log = logging.getLogger(__name__)


class FlowFile:
    """A state that cannot be written costs a step in the wizard, never the program: it is logged."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> FlowState | None:
        """None where nothing was begun, or what is there cannot be read."""
        try:
            return from_json(self._path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            return None

    def write(self, state: FlowState) -> None:
        fresh = self._path.with_name(f"{self._path.name}.new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_text(to_json(state), encoding="utf-8")
            fresh.replace(self._path)
        except OSError as error:
            log.warning("the wizard's state could not be saved in %s: %r", self._path, error)

    def clear(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
