"""Microsoft's C++ runtime for the program alone: the libraries its parts ask for, beside ``Strata.exe``.

Their installer (vc_redist) needs administrator rights, and an installation for one user has none. Microsoft's terms for
the redistributable files of Visual Studio allow what it calls local deployment: the files themselves, in the folder of
the program, where Windows looks before anywhere else. Python and Qt bring the common ones along; torch (2.13) also asks
for MSVCP140_ATOMIC_WAIT.dll and bitsandbytes (0.50) for VCOMP140.DLL, which nobody brings.
"""

from __future__ import annotations

import mmap
import os
import re
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path

_RUNTIME = re.compile(r"(msvcp|vcruntime|vcomp|concrt|vccorlib)\d+\w*\.dll", re.IGNORECASE)
_IMPORTS, _DELAYED_IMPORTS = 1, 13
"""Numbers of data directories (PE format, optional header)."""


class RuntimeLibraryMissing(Exception):
    """One sentence says which, and what to install."""


def ship_vc_runtime(bundle: Path, redistributables: Path | None = None) -> list[str]:
    """Copies what is asked for from the folder of redistributables (that of Visual Studio); the names, sorted.

    Raises ``RuntimeLibraryMissing``.
    """
    there = {path.name.lower(): path for path in _libraries(redistributables or visual_studio_redistributables())}
    waiting = [path for path in bundle.rglob("*") if path.suffix.lower() in (".dll", ".pyd", ".exe")]
    asked: dict[str, Path] = {}
    while waiting:
        file = waiting.pop()
        for name in imported_libraries(file):
            if _RUNTIME.fullmatch(name) and name not in asked:
                if name not in there:
                    raise RuntimeLibraryMissing(
                        f"{file.name} asks for {name}, which the installed Visual Studio does not have; update it."
                    )
                asked[name] = there[name]
                waiting.append(there[name])
    for name, source in asked.items():
        shutil.copyfile(source, bundle / name)
    return sorted(asked)


def visual_studio_redistributables() -> Path:
    """The newest folder of redistributable files for x64. Raises ``RuntimeLibraryMissing``."""
    programs = [os.environ.get(name, "") for name in ("PROGRAMFILES", "PROGRAMFILES(X86)")]
    found = [
        folder
        for place in programs
        if place
        for folder in Path(place).glob("Microsoft Visual Studio/*/*/VC/Redist/MSVC/*/x64")
        if re.fullmatch(r"[\d.]+", folder.parent.name)
    ]
    if not found:
        raise RuntimeLibraryMissing(
            "No Visual Studio with C++ was found. Its redistributable files go into the installer: install the "
            "“Desktop development with C++” workload of the Build Tools."
        )
    return max(found, key=lambda folder: [int(part) for part in folder.parent.name.split(".")])


def imported_libraries(file: Path) -> set[str]:
    """Lower-case names of the libraries this program or library asks for, also of those it loads later.

    Empty for what is no Windows program. (pefile 2024.8 stops at 8192 imported functions; torch_python.dll has more.)
    """
    if file.stat().st_size < 0x40:
        return set()
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content[:2] != b"MZ":
            return set()
        (header,) = struct.unpack_from("<I", content, 0x3C)
        if content[header : header + 4] != b"PE\0\0":
            return set()
        return set(_imported_names(content, header))


def _imported_names(content: mmap.mmap, header: int) -> Iterator[str]:
    number_of_sections, size_of_optional = struct.unpack_from("<2xH12xH", content, header + 4)
    optional = header + 24
    (magic,) = struct.unpack_from("<H", content, optional)
    directories = optional + (112 if magic == 0x20B else 96)
    sections = [
        struct.unpack_from("<8xIIII", content, optional + size_of_optional + 40 * number)
        for number in range(number_of_sections)
    ]

    def place(address: int) -> int:
        for virtual_size, virtual_address, raw_size, raw_place in sections:
            if virtual_address <= address < virtual_address + max(virtual_size, raw_size):
                return address - virtual_address + raw_place
        raise ValueError(f"{address:#x} lies in no section")

    for directory, entry_size, name_field in ((_IMPORTS, 20, 12), (_DELAYED_IMPORTS, 32, 4)):
        (address,) = struct.unpack_from("<I", content, directories + 8 * directory)
        if address == 0:
            continue
        entry = place(address)
        while (name_address := struct.unpack_from("<I", content, entry + name_field)[0]) != 0:
            start = place(name_address)
            yield content[start : content.find(b"\0", start)].decode("ascii").lower()
            entry += entry_size


def _libraries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("Microsoft.VC*/*.dll") if ".Debug" not in path.parent.name)
