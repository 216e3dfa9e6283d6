"""Which files are code of macOS, and how old a macOS they run on. Reads headers; no Mac is needed.

Formats: <mach-o/loader.h> and <mach-o/fat.h> of Apple's XNU.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

ARM64 = 0x0100000C
EXECUTABLE = 2
_THIN = 0xFEEDFACF  # 64 bits, little endian: all that arm64 and x86_64 use
_FAT = 0xCAFEBABE
_MOST_ARCHITECTURES = 30  # a Java class begins with the same four bytes, and then has a version above this
_LC_VERSION_MIN_MACOSX = 0x24
_LC_BUILD_VERSION = 0x32
_THIN_HEADER = struct.Struct("<IIIIIIII")


@dataclass(frozen=True, slots=True)
class MachO:
    """``kind`` is the header's file type; ``oldest_macos`` what its code for arm64 asks for, None where it has none."""

    kind: int
    oldest_macos: tuple[int, int] | None


def read_mach_o(path: Path) -> MachO | None:
    """None where the file is something else."""
    with path.open("rb") as file:
        start = file.read(8)
        if len(start) < 8:
            return None
        offset = 0
        if struct.unpack(">I", start[:4])[0] == _FAT:
            count = struct.unpack(">I", start[4:])[0]
            if count > _MOST_ARCHITECTURES:
                return None
            slices = [struct.unpack(">IIIII", file.read(20)) for _ in range(count)]
            offset = next((start_at for kind, _, start_at, _, _ in slices if kind == ARM64), slices[0][2])
        file.seek(offset)
        header = file.read(_THIN_HEADER.size)
        if len(header) < _THIN_HEADER.size:
            return None
        magic, architecture, _, kind, _, size, _, _ = _THIN_HEADER.unpack(header)
        if magic != _THIN:
            return None
        return MachO(kind, _oldest_macos(file.read(size)) if architecture == ARM64 else None)


def _oldest_macos(commands: bytes) -> tuple[int, int] | None:
    place = 0
    while place + 16 <= len(commands):
        command, size, first, second = struct.unpack_from("<IIII", commands, place)
        if command in (_LC_BUILD_VERSION, _LC_VERSION_MIN_MACOSX):
            version = second if command == _LC_BUILD_VERSION else first
            return version >> 16, version >> 8 & 0xFF
        place += max(size, 8)
    return None
