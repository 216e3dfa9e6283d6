"""A Debian of its own in a folder (debootstrap), a screen for it, and the installed program as somebody uses it there.

Needs root, debootstrap and the mirror this computer installs from. Commands run in a mount namespace of their own, so
nothing stays mounted; those of the program run without a network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

RELEASE = "bookworm"
USER = "zoe"
HOME = "/home/Zoë Müller"
MADE = "STRATA_TEST_DEBIAN"
"""A folder debootstrap has filled already; it is copied, not changed."""
_OWN = re.compile(r"(proc|sys|dev|run|tmp|home|root|var/(cache|lib/(apt|dpkg|systemd)|log)|etc/ld\.so\.cache)(/|$)")
_TAKE_PICTURE = (
    "import sys; from PySide6.QtGui import QGuiApplication; app = QGuiApplication([]); "
    "app.primaryScreen().grabWindow(0).save(sys.argv[1])"
)


class Debian:
    """``root`` is its / as this computer sees it."""

    def __init__(self, root: Path, display: str) -> None:
        self.root = root
        self._display = display

    def make(self) -> None:
        """A minimal system with one user whose home has a space and letters beyond ASCII."""
        if made := os.environ.get(MADE):
            subprocess.run(["cp", "-a", "--reflink=auto", f"{made}/.", str(self.root)], check=True)
        else:
            subprocess.run(
                ["debootstrap", "--variant=minbase", RELEASE, str(self.root), mirror()],
                check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        self.run("useradd", "--create-home", "--home-dir", HOME, "--shell", "/bin/sh", USER)

    def home(self) -> Path:
        return self.root / HOME.removeprefix("/")

    def data_dir(self) -> Path:
        return self.home() / ".local" / "share" / "Strata"

    def install(self, *packages: str) -> str:
        environment = {"DEBIAN_FRONTEND": "noninteractive"}
        self.run("apt-get", "-qq", "update", environment=environment)
        return self.run(
            "apt-get", "-qq", "-y", "--no-install-recommends", "install", *packages, environment=environment
        )

    def run(self, *command: str, environment: dict[str, str] | None = None) -> str:
        """As root, with the network; what it printed. Raises ``AssertionError`` with that where it failed."""
        done = subprocess.run(
            self._inside(command, is_user=False),
            env={**_base_environment(), "HOME": "/root", **(environment or {})},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def run_as_user(self, *command: str, typed: str = "", is_failing: bool = False) -> str:
        """Without the network; all it printed. Raises ``AssertionError`` where it ended otherwise than expected."""
        done = subprocess.run(
            self._inside(command, is_user=True),
            env=self._user_environment(), input=typed, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode != 0) == is_failing, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def start_as_user(self, *command: str) -> subprocess.Popen[bytes]:
        """Without the network, on the display."""
        log = (self.root / "tmp" / "output.txt").open("ab")
        with log:
            return subprocess.Popen(
                self._inside(command, is_user=True),
                env=self._user_environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def files(self) -> set[str]:
        """All but what apt and dpkg keep for themselves, and the home folders."""
        found: set[str] = set()
        for folder, names, files in os.walk(self.root):
            place = Path(folder).relative_to(self.root)
            names[:] = [name for name in names if not _OWN.match((place / name).as_posix())]
            found |= {(place / name).as_posix() for name in (*names, *files)}
        return {name for name in found if not _OWN.match(name)}

    # The screen

    def wait_for_window(self) -> None:
        subprocess.run(
            ["xdotool", "search", "--sync", "--onlyvisible", "--name", "Strata"],
            env=self._host_environment(), check=True, timeout=60, stdout=subprocess.DEVNULL,
        )  # fmt: skip

    def focus_window(self) -> None:
        """There is no window manager that would do it."""
        found = subprocess.run(
            ["xdotool", "search", "--onlyvisible", "--name", "Strata"],
            env=self._host_environment(), check=True, capture_output=True, text=True,
        )  # fmt: skip
        self._xdotool("windowfocus", "--sync", found.stdout.split()[-1])

    def press(self, *keys: str) -> None:
        self._xdotool("key", "--delay", "120", *keys)

    def type(self, text: str) -> None:
        self._xdotool("type", "--delay", "20", text)

    def picture(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        environment = {**self._host_environment(), "QT_QPA_PLATFORM": "xcb"}
        subprocess.run([sys.executable, "-c", _TAKE_PICTURE, str(path)], env=environment, check=True)

    def _xdotool(self, *arguments: str) -> None:
        subprocess.run(["xdotool", *arguments], env=self._host_environment(), check=True, timeout=60)

    def _host_environment(self) -> dict[str, str]:
        return {**os.environ, "DISPLAY": self._display}

    def _user_environment(self) -> dict[str, str]:
        return {**_base_environment(), "HOME": HOME, "USER": USER, "DISPLAY": self._display, "QT_QPA_PLATFORM": "xcb"}

    def _inside(self, command: Sequence[str], *, is_user: bool) -> list[str]:
        mounts = (
            'mount --make-rprivate / && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && '
            'mkdir -p "$0/tmp/.X11-unix" && mount --bind /tmp/.X11-unix "$0/tmp/.X11-unix" && '
        )
        change = f"chroot --userspec={USER}:{USER}" if is_user else "chroot"
        namespaces = ["--mount", *(["--net"] if is_user else [])]
        # Without a network even the loopback is down; a program must bear that too.
        return [
            "unshare",
            *namespaces,
            "sh",
            "-c",
            f'{mounts} root="$0" && exec {change} "$root" "$@"',
            str(self.root),
            *command,
        ]


def mirror() -> str:
    """Where this computer gets its packages."""
    places = [Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list")]
    text = "\n".join(place.read_text() for place in places if place.is_file())
    found = re.search(r"^(?:URIs:|deb)\s+(?:\[[^]]*\]\s+)?(\S+)", text, re.MULTILINE)
    assert found is not None, "no Debian mirror in /etc/apt"
    return found[1]


def missing_tools() -> list[str]:
    return [tool for tool in ("debootstrap", "unshare", "chroot", "Xvfb", "xdotool") if shutil.which(tool) is None]


def _base_environment() -> dict[str, str]:
    return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
