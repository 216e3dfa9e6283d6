"""A screen of its own with a mouse and a keyboard, and the program on it as somebody sees it who cannot see.

Controls are found by what the accessibility tree calls them; every key and click goes through the X server. Needs
Xvfb and xdotool, which ``dev.py`` installs on Debian.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("Xvfb", "xdotool")
PATIENCE_S = 120.0
"""For what takes a second on an idle computer: these run beside everything else."""
_ASK_AGAIN_S = 0.2
_TAKE_PICTURE = (
    "import sys; from PySide6.QtGui import QGuiApplication; app = QGuiApplication([]); "
    "app.primaryScreen().grabWindow(0).save(sys.argv[1])"
)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Control:
    """``place`` is what can be seen of it: x, y, width, height on the screen; nothing of it where that is empty."""

    role: str
    name: str
    value: str
    place: tuple[int, int, int, int]
    is_enabled: bool
    is_focused: bool
    is_checked: bool

    @property
    def is_seen(self) -> bool:
        return self.place[2] > 1 and self.place[3] > 1

    @property
    def centre(self) -> tuple[int, int]:
        x, y, width, height = self.place
        return x + width // 2, y + height // 2


class NotSeen(AssertionError):
    """What was waited for did not come; says what was there instead."""


def wait_until(what: str, condition: Callable[[], T | None], timeout_s: float = PATIENCE_S) -> T:
    """What ``condition`` gives, as soon as that is something."""
    deadline = time.monotonic() + timeout_s
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise NotSeen(f"After {timeout_s:.0f} s still waiting: {what}")
        time.sleep(_ASK_AGAIN_S)


@contextmanager
def screen() -> Iterator[str]:
    """The name of a new display."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    assert not missing, f"{' and '.join(missing)} not found: on Debian, python3 dev.py test installs xvfb and xdotool"
    command = ["Xvfb", "-displayfd", "1", "-screen", "0", "1400x960x24", "-nolisten", "tcp", "-noreset"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            number = server.stdout.readline().strip()
            assert number, "Xvfb did not start"
            yield f":{number}"
        finally:
            server.terminate()


class DrivenProgram:
    """The program with its data in ``home``/data, alone on ``display``."""

    def __init__(self, display: str, home: Path) -> None:
        self.data_dir = home / "data"
        self._log = home / "output.txt"
        self._socket_dir = tempfile.TemporaryDirectory(prefix="strata-")
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._environment = {
            **os.environ,
            "DISPLAY": display, "QT_QPA_PLATFORM": "xcb", "HOME": str(home), "LANG": "C.UTF-8",
            "XDG_CONFIG_HOME": str(home / ".config"), "XDG_CACHE_HOME": str(home / ".cache"),
            "XDG_RUNTIME_DIR": self._socket_dir.name, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring", "NO_PROXY": "127.0.0.1",
        }  # fmt: skip
        # Somebody may have switched the hub off in this shell; this program has one of its own on this machine.
        self._environment.pop("HF_HUB_OFFLINE", None)

    # Its life

    def start(self) -> None:
        """Returns when its window is there."""
        path = Path(self._socket_dir.name) / "tree"
        path.unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.end2end.driven_app", str(path), "--data-dir", str(self.data_dir)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        wait_until("the program listens", lambda: self._is_connected(path))
        wait_until("the window", self.windows)
        self.focus_window()

    def kill(self) -> None:
        """SIGKILL, as when the power goes. Returns when its engine is gone too: it must notice by itself."""
        process = self._running()
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        process.wait()
        self._disconnect()
        _, alive = psutil.wait_procs(children, timeout=PATIENCE_S)
        assert not alive, f"outlived the program: {alive}"

    def wait_for_end(self) -> int:
        """Its exit code, once somebody has closed it."""
        code = self._running().wait(PATIENCE_S)
        self._disconnect()
        self._process = None
        return code

    def kill_engine(self) -> None:
        engine = max(psutil.Process(self._running().pid).children(), key=lambda each: each.memory_info().rss)
        engine.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Whatever is left of it."""
        if self._process is not None and self._process.poll() is None:
            self.kill()
        self._socket_dir.cleanup()

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    # What is seen

    def windows(self) -> list[dict[str, Any]]:
        self._running()
        assert self._connection is not None
        with self._connection.makefile("rw", encoding="utf-8") as stream:
            stream.write("look\n")
            stream.flush()
            answer = json.loads(stream.readline())
        assert "windows" in answer, answer
        return answer["windows"]

    def controls(self) -> list[Control]:
        return [
            Control(**{**found, "place": tuple(found["place"])})
            for window in self.windows()
            for found in window["controls"]
        ]

    def find(self, name: str, role: str = "") -> Control | None:
        """The first control with this name, what can be seen before what is scrolled away."""
        found = [each for each in self.controls() if each.name == name and role in ("", each.role)]
        return next((each for each in found if each.is_seen), found[0] if found else None)

    def texts(self) -> list[str]:
        """Everything a screen reader would find."""
        return [text for each in self.controls() for text in (each.name, each.value) if text]

    def says(self, part: str) -> str | None:
        """The whole of a text on the screen with ``part`` in it."""
        return next((text for text in self.texts() if part in text), None)

    def wait_for(self, part: str, timeout_s: float = PATIENCE_S) -> str:
        return self.wait_until(f"“{part}” on the screen", lambda: self.says(part), timeout_s)

    def wait_until(self, what: str, condition: Callable[[], T | None], timeout_s: float = PATIENCE_S) -> T:
        """As ``wait_until``; what does not come is told with what is on the screen and in the log instead."""
        try:
            return wait_until(what, condition, timeout_s)
        except NotSeen as missing:
            texts = "\n  ".join(self.texts())
            picture = self.data_dir.parent / "screen.png"
            self.picture(picture)
            raise NotSeen(f"{missing} ({picture})\nThere was:\n  {texts}\n{self._output()}") from None

    # What is done

    def focus_window(self) -> None:
        """There is no window manager that would do it."""
        window = wait_until("a window", self.windows)[-1]
        self._xdotool("windowfocus", "--sync", str(window["id"]))

    def click(self, name: str, role: str = "") -> None:
        """Waits until it can be pressed and rests, scrolls to it where that is needed, and clicks its middle."""
        last: list[Control | None] = [None]

        def resting() -> Control | None:
            found = self.find(name, role)
            is_resting = found is not None and found == last[0] and found.is_enabled
            last[0] = found
            if is_resting and found is not None and not found.is_seen:
                self._scroll()
            return found if is_resting and found is not None and found.is_seen else None

        x, y = self.wait_until(f"“{name}” to click", resting).centre
        self._xdotool("mousemove", str(x), str(y), "click", "1")

    def type(self, text: str) -> None:
        self._xdotool("type", "--delay", "5", text)

    def press(self, *keys: str) -> None:
        self._xdotool("key", *keys)

    def picture(self, path: Path) -> None:
        """What the X server shows, for people who look into a failure."""
        subprocess.run([sys.executable, "-c", _TAKE_PICTURE, str(path)], env=self._environment, check=False)

    # Inside

    def _scroll(self) -> None:
        """A turn of the wheel in the middle of the screen's window."""
        page = max(self.windows()[0]["controls"], key=lambda each: each["place"][2] * each["place"][3])
        x, y, width, height = page["place"]
        self._xdotool("mousemove", str(x + width * 2 // 3), str(y + height // 2), "click", "5")

    def _xdotool(self, *arguments: str) -> None:
        subprocess.run(["xdotool", *arguments], env=self._environment, check=True, timeout=PATIENCE_S)

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        assert self._process.poll() is None, f"the program ended with {self._process.poll()}\n{self._output()}"
        return self._process

    def _is_connected(self, path: Path) -> bool:
        self._running()
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE_S)
        try:
            connection.connect(str(path))
        except OSError:
            connection.close()
            return False
        self._connection = connection
        return True

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _output(self) -> str:
        log = self.data_dir / "logs" / "strata.log"
        parts = [path.read_text(errors="replace")[-3000:] for path in (self._log, log) if path.exists()]
        return "\n".join(parts)
