"""What may be said when the program is started."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.paths import default_data_dir


@dataclass(frozen=True, slots=True)
class Options:
    data_dir: Path
    is_safe_mode: bool = False
    has_watchdog: bool = False
    is_self_test: bool = False
    report: Path | None = None
    """Where the self-test writes; a windowed program on Windows may have no output of its own."""
    file: Path | None = None
    """A model's file that was opened in the file browser."""


def parse_options(argv: Sequence[str] | None = None) -> Options:
    """From the command line. Raises ``SystemExit`` for ``--help`` and for what is not an option."""
    parser = argparse.ArgumentParser(prog="strata", description="Chat with models bigger than your memory.")
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="where everything is kept (or STRATA_DATA_DIR)")
    parser.add_argument("--safe-mode", action="store_true", help="default settings, and the engine is not started")
    parser.add_argument("--watchdog", action="store_true", help="log whenever the window was blocked over 100 ms")
    parser.add_argument("--selftest", action="store_true", help="check this installation, and say what was found")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write what --selftest finds to this file")
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help="a model's file, such as one .gguf")
    given = parser.parse_args(argv)
    if given.report and not given.selftest:
        parser.error("--report goes with --selftest")
    data_dir: Path = given.data_dir.expanduser().absolute() if given.data_dir else default_data_dir()
    file: Path | None = given.file.expanduser().absolute() if given.file else None
    report: Path | None = given.report.expanduser().absolute() if given.report else None
    return Options(data_dir, given.safe_mode, given.watchdog, given.selftest, report, file)
