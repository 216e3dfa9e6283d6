"""Where things live on this computer: the data folder, what is in it, and the resources that ship with the program.

Owns names of files and folders. Must not know what is written in them. No Qt.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

DATA_DIR_VARIABLE = "STRATA_DATA_DIR"


@dataclass(frozen=True, slots=True)
class Paths:
    """Everything Strata writes is under ``data_dir``, except models when the settings name another folder."""

    data_dir: Path

    @property
    def settings_file(self) -> Path:
        return self.data_dir / "settings.json"

    @property
    def window_file(self) -> Path:
        """Size and place of the window; losing it costs nothing."""
        return self.data_dir / "window.ini"

    @property
    def conversations_file(self) -> Path:
        return self.data_dir / "conversations.sqlite3"

    @property
    def jobs_file(self) -> Path:
        return self.data_dir / "jobs.json"

    @property
    def ledger_file(self) -> Path:
        """Bytes read and written, by day."""
        return self.data_dir / "ledger.json"

    @property
    def drives_file(self) -> Path:
        """How fast drives were when they were measured."""
        return self.data_dir / "drives.json"

    @property
    def runtimes_dir(self) -> Path:
        """Packages for graphics cards (``app.gpu``)."""
        return self.data_dir / "runtimes"

    @property
    def list_file(self) -> Path:
        """The last list of versions that was read and accepted."""
        return self.data_dir / "published.json"

    @property
    def models_dir(self) -> Path:
        """The default folder of models, where the settings name no other."""
        return self.data_dir / "models"

    @property
    def downloads_dir(self) -> Path:
        """Where the engine puts what it fetches, until it is cut (``engine.store.download_folder``)."""
        return self.data_dir / "downloads"

    @property
    def logs_dir(self) -> Path:
        return self.data_dir / "logs"

    @property
    def log_file(self) -> Path:
        return self.logs_dir / "strata.log"

    @property
    def instance_lock_file(self) -> Path:
        return self.data_dir / "strata.lock"

    def create(self) -> None:
        """Makes the folders. Raises ``OSError`` where that is not allowed."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self.logs_dir.mkdir(exist_ok=True)


def default_data_dir() -> Path:
    """``STRATA_DATA_DIR``, else the system's place for a user's application data, as ``engine.store`` has it."""
    if given := os.environ.get(DATA_DIR_VARIABLE):
        return Path(given).expanduser().absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "Strata"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Strata"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "Strata"


def resources_dir() -> Path:
    """Icons, translations, the catalogue: beside the ``app`` package, in a checkout and in a frozen program alike."""
    return Path(__file__).resolve().parent.parent / "resources"
