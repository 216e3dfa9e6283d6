"""The licences of everything an installer carries, collected into one folder the program shows under About.

Owns where each text comes from: a package's own metadata, Debian's copyright files for libraries of the system, and
texts kept here for what ships without one.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import Distribution
from pathlib import Path

from app.licences import Licence, write_index

ROOT = Path(__file__).resolve().parent.parent
TEXTS = Path(__file__).resolve().parent / "licence_texts"
_NAMES = ("licen", "copying", "notice", "copyright", "authors")
_QT = "LGPL-3.0-only, the free form of Qt's licence"


class LicenceMissing(Exception):
    """Something would be shipped without its licence."""


def collect_licences(target: Path, distributions: Iterable[Distribution], libraries: Sequence[Path]) -> list[Licence]:
    """Writes the folder anew. Raises ``LicenceMissing``."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    found = [_program(target), _python(target), _starter(target), _bootloader(target)]
    found += [_package(each, target) for each in distributions]
    if sys.platform == "linux":
        found += _system_libraries(libraries, target)
    if sys.platform == "win32":
        found.append(_vc_runtime(target))
    found.sort(key=lambda each: each.name.casefold())
    if bare := [each.name for each in found if not each.files]:
        raise LicenceMissing(f"No licence text was found for {', '.join(bare)}; put one into {TEXTS}.")
    write_index(target, found)
    return found


def _program(target: Path) -> Licence:
    from engine import __version__

    return Licence("Strata", __version__, "MIT", "", _keep([ROOT / "LICENSE"], target, "Strata"))


def _python(target: Path) -> Licence:
    text = Path(sys.base_prefix) / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "LICENSE.txt"
    candidates = [text, Path(sys.base_prefix) / "LICENSE.txt", Path("/usr/share/doc/python3.11/copyright")]
    there = [each for each in candidates if each.is_file()][:1]
    version = ".".join(map(str, sys.version_info[:3]))
    return Licence("Python", version, "PSF-2.0", "https://www.python.org", _keep(there, target, "Python"))


def _starter(target: Path) -> Licence:
    page = "https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct"
    files = _keep([TEXTS / "Apache-2.0.txt"], target, "SmolLM2")
    return Licence("SmolLM2-135M-Instruct", "", "Apache-2.0", page, files)


def _bootloader(target: Path) -> Licence:
    from importlib.metadata import distribution

    return _package(distribution("pyinstaller"), target)


def _vc_runtime(target: Path) -> Licence:
    page = "https://learn.microsoft.com/visualstudio/releases/2022/redistribution"
    files = _keep([TEXTS / "vc_runtime.txt"], target, "Microsoft C++ runtime")
    return Licence("Microsoft C++ runtime", "", "Visual Studio, redistributable files", page, files)


def _package(of: Distribution, target: Path) -> Licence:
    name = of.metadata["Name"]
    files = [Path(str(file.locate())) for file in of.files or () if _is_licence(file.as_posix())]
    licence = _field(of, "License-Expression") or _first_line(_field(of, "License")) or _classified(of)
    if name.lower().startswith(("pyside6", "shiboken6")):
        licence = _QT
        files = [TEXTS / "LGPL-3.0.txt", TEXTS / "GPL-3.0.txt"]
    own = TEXTS / f"{name}.txt"
    if not files and own.is_file():
        files = [own]
    page = _field(of, "Home-page") or _project_page(of)
    return Licence(name, of.version, licence, page, _keep(files, target, f"{name}-{of.version}"))


def _is_licence(place: str) -> bool:
    """In the metadata, or beside the code of the package itself."""
    folder, _, name = place.rpartition("/")
    is_near = ".dist-info" in folder or folder.count("/") == 0
    return is_near and name.lower().startswith(_NAMES) and not name.endswith((".py", ".pyc"))


def _field(of: Distribution, name: str) -> str:
    return next(iter(of.metadata.get_all(name) or []), "")


def _first_line(text: str) -> str:
    """Some packages put the whole text where its name belongs."""
    line = text.strip().splitlines()[:1]
    return line[0] if line and len(line[0]) < 60 and "\n" not in text.strip() else ""


def _classified(of: Distribution) -> str:
    classifiers = of.metadata.get_all("Classifier") or []
    return ", ".join(each.rsplit(" :: ", 1)[1] for each in classifiers if each.startswith("License ::"))


def _project_page(of: Distribution) -> str:
    for entry in of.metadata.get_all("Project-URL") or []:
        label, _, url = entry.partition(",")
        if label.strip().lower() in ("homepage", "source", "repository", "source code", "home"):
            return url.strip()
    return ""


def _system_libraries(libraries: Sequence[Path], target: Path) -> list[Licence]:
    """Those that were taken from this Debian system, by the package they belong to."""
    # Packages name the folder they were made for: since /lib is a link, not always the one a library is found in.
    real = sorted({str(library.resolve()) for library in libraries})
    places = [*real, *(place.removeprefix("/usr") for place in real)]
    owners = subprocess.run(["dpkg-query", "-S", *places], capture_output=True, text=True, check=False).stdout
    packages = sorted({line.split(": ")[0].split(",")[0] for line in owners.splitlines()})
    query = ["dpkg-query", "-W", "-f=${Package} ${Version}\n", *packages]
    versions = subprocess.run(query, capture_output=True, text=True, check=True).stdout if packages else ""
    found: list[Licence] = []
    for name, version in (line.split() for line in versions.splitlines()):
        copyright_file = Path("/usr/share/doc") / name / "copyright"
        files = _keep([copyright_file] if copyright_file.is_file() else [], target, name)
        found.append(Licence(name, version, "see the text", f"https://packages.debian.org/{name}", files))
    return found


def _keep(sources: Iterable[Path], target: Path, folder: str) -> tuple[str, ...]:
    """Copies texts below ``folder``; their names from ``target``. Equal names are numbered."""
    kept: list[str] = []
    for source in sources:
        place = target / folder / source.name
        number = 2
        while place.exists():
            place = target / folder / f"{source.stem}-{number}{source.suffix}"
            number += 1
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
        kept.append(place.relative_to(target).as_posix())
    return tuple(sorted(kept))
