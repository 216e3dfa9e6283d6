"""Where the parts of the program lie in what is built: the frozen window, and what ``app.bundle`` looks for.

Pure: names in, paths out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.bundle import LICENCES, MODELS, RUNTIME


@dataclass(frozen=True, slots=True)
class Layout:
    """``bundle`` is what a computer gets, ``program`` is started, ``shipped`` holds the parts ``app.bundle`` names."""

    bundle: Path
    program: Path
    shipped: Path

    @property
    def runtime(self) -> Path:
        return self.shipped / RUNTIME

    @property
    def models(self) -> Path:
        return self.shipped / MODELS

    @property
    def licences(self) -> Path:
        return self.shipped / LICENCES


def bundle_layout(build: Path, platform: str) -> Layout:
    """Below the folder ``build``, for a ``sys.platform``.

    In a macOS program, Frameworks may hold nothing but code and no folder with a dot in its name. The engine's packages
    are both code and data in such folders, so they are resources. macOS seals those by their bytes, whatever they are;
    libraries among them are signed one by one, before the whole (``macos.signing``).
    """
    if platform == "darwin":
        contents = build / "Strata.app" / "Contents"
        return Layout(build / "Strata.app", contents / "MacOS" / "Strata", contents / "Resources")
    folder = build / "Strata"
    return Layout(folder, folder / ("Strata.exe" if platform == "win32" else "Strata"), folder)
