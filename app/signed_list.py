"""The list of what has been published: the newest version and the runtimes for graphics cards, signed with Ed25519.

Owns the format, and what is refused: a signature that is nobody's, another schema, anything older than was seen. Bytes
go in, a frozen list comes out; must not know where they come from. ``packaging/sign_list.py`` writes them.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from app.paths import resources_dir

SCHEMA = 1
MOST_BYTES = 1 << 20
_SIGNED_AS = b"strata-list\n"
"""Before what is signed, so that a signature for another purpose is none for this."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class ListRefused(Exception):
    """One sentence for the log: what is wrong with the bytes."""


class ListUnreadable(ListRefused):
    """It is genuine, and says what this program does not understand: made for a newer one."""


class ListTooOld(ListRefused):
    """It is genuine, and older than one that was seen: somebody may hold back what is new."""


@dataclass(frozen=True, slots=True)
class Part:
    """A zip archive with some of a runtime's files."""

    url: str
    nbytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class RuntimeEntry:
    """Packages that compute on NVIDIA cards, for programs of this ``abi`` ("cp311") and release of ``torch``.

    ``platform`` as ``sysconfig.get_platform`` has it; ``least_compute`` is the oldest compute capability it serves.
    """

    abi: str
    torch: str
    platform: str
    version: str
    cuda: int
    least_driver: tuple[int, ...]
    least_compute: tuple[int, ...]
    parts: tuple[Part, ...]
    unpacked_bytes: int

    @property
    def nbytes(self) -> int:
        """To download."""
        return sum(part.nbytes for part in self.parts)

    @property
    def folder_name(self) -> str:
        return f"{self.abi}-torch{self.torch}-cuda{self.cuda}-{self.version}"


@dataclass(frozen=True, slots=True)
class Release:
    """``notes`` are plain text by language ("en", "zh_CN")."""

    version: str
    page: str
    notes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PublishedList:
    serial: int
    release: Release
    runtimes: tuple[RuntimeEntry, ...]


def shipped_keys() -> dict[str, bytes]:
    """The makers' public keys by name, 32 bytes each. Several hold while one is replaced by another."""
    content = json.loads((resources_dir() / "list-keys.json").read_text(encoding="utf-8"))
    return {name: base64.b64decode(key) for name, key in content["keys"].items()}


def read_list(data: bytes, keys: Mapping[str, bytes], *, least_serial: int = 0) -> PublishedList:
    """Raises ``ListRefused``; where it is genuine all the same ``ListUnreadable``, or ``ListTooOld`` below
    ``least_serial``.
    """
    if len(data) > MOST_BYTES:
        raise ListRefused(f"the list is larger than {MOST_BYTES} bytes")
    try:
        envelope = json.loads(data)
        text, signatures = envelope["signed"], envelope["signatures"]
        _require(isinstance(text, str) and isinstance(signatures, dict), "signed and signatures")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ListRefused(f"not a signed list: {error!r}") from error
    if not any(_is_genuine(text, signatures.get(name), key) for name, key in keys.items()):
        raise ListRefused("no signature of a key this program knows")
    try:
        found = _read(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ListUnreadable(f"not what schema {SCHEMA} says: {error!r}") from error
    if found.serial < least_serial:
        raise ListTooOld(f"serial {found.serial}; {least_serial} was seen before")
    return found


def signed_bytes(text: str) -> bytes:
    """What is signed for the list ``text``."""
    return _SIGNED_AS + text.encode("utf-8")


def list_file(data: Path) -> bytes | None:
    """What was fetched last, None where there is nothing that can be read."""
    try:
        return data.read_bytes() if data.stat().st_size <= MOST_BYTES else None
    except OSError:
        return None


def _is_genuine(text: str, signature: object, key: bytes) -> bool:
    # Here, and not at the program's start: a window that asks nobody for anything need not load it.
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if not isinstance(signature, str):
        return False
    try:
        given, said = base64.b64decode(signature, validate=True), signed_bytes(text)
    except ValueError:  # no base64, or halves of characters that UTF-8 does not have
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(given, said)
    except InvalidSignature:
        return False
    return True


def _read(row: dict[str, Any]) -> PublishedList:
    _require(row["schema"] == SCHEMA, f"schema {row['schema']}")
    release = row["release"]
    notes = cast("dict[object, object]", release["notes"])
    _require(all(isinstance(each, str) for pair in notes.items() for each in pair), "notes")
    return PublishedList(
        serial=_count(row["serial"]),
        release=Release(_name(release["version"]), _address(release["page"]), cast("dict[str, str]", notes)),
        runtimes=tuple(_read_runtime(each) for each in row["runtimes"]),
    )


def _read_runtime(row: dict[str, Any]) -> RuntimeEntry:
    parts = tuple(Part(_address(each["url"]), _count(each["size"]), _digest(each["sha256"])) for each in row["parts"])
    _require(bool(parts), "no parts")
    return RuntimeEntry(
        abi=_name(row["abi"]),
        torch=_name(row["torch"]),
        platform=_name(row["platform"]),
        version=_name(row["version"]),
        cuda=_count(row["cuda"]),
        least_driver=_numbers(row["min_driver"]),
        least_compute=_numbers(row["min_compute"]),
        parts=parts,
        unpacked_bytes=_count(row["unpacked_size"]),
    )


def _name(value: object) -> str:
    """It becomes part of a folder's name."""
    _require(isinstance(value, str) and _NAME.fullmatch(value) is not None, value)
    return cast(str, value)


def _digest(value: object) -> str:
    _require(isinstance(value, str) and _DIGEST.fullmatch(value) is not None, value)
    return cast(str, value)


def _count(value: object) -> int:
    _require(isinstance(value, int) and not isinstance(value, bool) and value > 0, value)
    return cast(int, value)


def _numbers(value: object) -> tuple[int, ...]:
    """``"580.65"`` as (580, 65)."""
    _require(isinstance(value, str), value)
    return tuple(int(each) for each in cast(str, value).split("."))


def _address(value: object) -> str:
    _require(isinstance(value, str), value)
    parts = urlsplit(cast(str, value))
    _require(parts.scheme in ("https", "http") and bool(parts.hostname), value)
    return cast(str, value)


def _require(holds: bool, what: object) -> None:
    if not holds:
        raise ValueError(str(what)[:200])
