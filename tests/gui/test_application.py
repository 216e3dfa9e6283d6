"""The application object: a file that macOS asks it to open."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# In a process of its own: there can be only one application object, and the tests have theirs.
_PROGRAM = """
import sys
from PySide6.QtCore import QEvent, QUrl
from PySide6.QtGui import QFileOpenEvent
from app.application import Application
app = Application(["strata"])
asked = []
app.file_asked_for.connect(asked.append)
assert app.sendEvent(app, QFileOpenEvent(QUrl.fromLocalFile(sys.argv[1])))
app.sendEvent(app, QFileOpenEvent(QUrl("strata:elsewhere")))
app.sendEvent(app, QEvent(QEvent.Type.ApplicationPaletteChange))
assert asked == [sys.argv[1]], asked
"""


def test_a_file_the_system_hands_over_is_asked_for_and_other_events_pass(tmp_path: Path) -> None:
    file = tmp_path / "Modell für Zoë.gguf"
    command = [sys.executable, "-c", _PROGRAM, file.as_posix()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
