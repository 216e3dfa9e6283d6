"""A Windows of its own in a folder (Wine), without a screen, and what an installer has left in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from tests.helpers.desktop import wait_until

TOOLS = ("makensis", "wine")
_TIMEOUT_S = 300


class Wine:
    """``drive`` is its C: as this computer sees it."""

    def __init__(self, prefix: Path, display: str = "", language: str = "C.UTF-8") -> None:
        self.prefix = prefix
        self.drive = prefix / "drive_c"
        self._environment = {
            **os.environ,
            "HOME": str(prefix.parent),
            "WINEPREFIX": str(prefix), "WINEARCH": "win64", "WINEDEBUG": "-all", "DISPLAY": display,
            # No offers to download .NET and a browser.
            "WINEDLLOVERRIDES": "mscoree=;mshtml=;winemenubuilder.exe=", "LC_ALL": language,
        }  # fmt: skip

    def make(self) -> None:
        """As Windows 10."""
        self.run("wineboot", "--init")
        # Wine leads these folders to the home of whoever runs it.
        for link in [each for each in self._home().iterdir() if each.is_symlink()]:
            link.unlink()
            link.mkdir()
        self.be_windows("win10")

    def be_windows(self, version: str) -> None:
        assert self.run("reg", "add", r"HKCU\Software\Wine", "/v", "Version", "/d", version, "/f") == 0
        self.settle()

    def copy_to(self, prefix: Path) -> Wine:
        # Hard links: 700 MB that nobody writes to. Not the registry: it is written in place where it has several.
        subprocess.run(["cp", "-al", str(self.prefix), str(prefix)], check=True)
        for file in self.prefix.glob("*.reg"):
            (prefix / file.name).unlink()
            shutil.copy2(file, prefix / file.name)
        return Wine(prefix)

    @property
    def local_data(self) -> Path:
        """%LOCALAPPDATA%"""
        return self._home() / "AppData" / "Local"

    @property
    def start_menu(self) -> Path:
        return self._home() / "AppData" / "Roaming" / "Microsoft" / "Windows" / "Start Menu" / "Programs"

    @property
    def desktop(self) -> Path:
        return self._home() / "Desktop"

    @property
    def temporary(self) -> Path:
        return self._home() / "Temp"

    def run(self, *command: str) -> int:
        """Its exit code, once it has ended."""
        return subprocess.run(
            ["wine", *command], env=self._environment, timeout=_TIMEOUT_S, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ).returncode  # fmt: skip

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["wine", *command], env=self._environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def settle(self) -> None:
        """Returns when nothing runs in it any more and its registry is written."""
        subprocess.run([_server(), "--wait"], env=self._environment, timeout=_TIMEOUT_S, check=True)

    def close(self) -> None:
        subprocess.run([_server(), "--kill"], env=self._environment, timeout=_TIMEOUT_S, check=False)

    def windows_path(self, path: Path) -> str:
        return "C:\\" + str(path.relative_to(self.drive)).replace("/", "\\")

    def registry(self, key: str) -> dict[str, str] | None:
        """The values of a key below HKEY_CURRENT_USER; None where there is none. Everything must have settled."""
        text = (self.prefix / "user.reg").read_text(encoding="utf-8", errors="replace")
        head = "[" + key.replace("\\", "\\\\") + "]"
        at = text.find(head)
        if at < 0:
            return None
        section = text[at + len(head) :].split("\n[", 1)[0]
        found: dict[str, str] = {}
        for match in re.finditer(r'^(?:"([^"]*)"|@)=(?:"(.*)"|(dword:\w+))$', section, re.MULTILINE):
            text_value = re.sub(r"\\(x[0-9a-f]{1,4}|.)", _unescaped, match[2]) if match[2] is not None else match[3]
            found[match[1] or ""] = text_value
        return found

    def _home(self) -> Path:
        (found,) = (each for each in (self.drive / "users").iterdir() if each.name != "Public")
        return found


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def leads_to(shortcut: Path, place: str) -> bool:
    """Whether a .lnk file names these folders one after another; it holds them in UTF-16, with more between them."""
    content, at = shortcut.read_bytes(), 0
    for part in place.split("\\")[1:]:
        at = content.find(f"{part}\0".encode("utf-16-le"), at)
        if at < 0:
            return False
    return True


def wait_until_gone(path: Path) -> None:
    wait_until(f"{path} is gone", lambda: not path.exists())


def missing_tools() -> list[str]:
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if code.startswith("x") and len(code) > 1 else code


def _server() -> str:
    """Debian keeps it beside wine, not on the path."""
    beside = Path("/usr/lib/wine/wineserver")
    return str(beside) if beside.exists() else "wineserver"
