"""Signs a macOS program from the inside out: each library, then each framework, then the whole.

    python packaging/macos/signing.py build/Strata.app

``STRATA_SIGNING_IDENTITY`` names a "Developer ID Application" certificate in the keychain; the hardened runtime and a
time stamp come with it, as notarisation wants. Without it the signature is ad hoc: it proves nothing, but Apple silicon
runs no code without one. Ad hoc there is no hardened runtime: its library validation wants one team for all libraries,
and an ad hoc signature has none.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from macos.mach_o import read_mach_o

ENTITLEMENTS = Path(__file__).resolve().parent / "strata.entitlements"
IDENTITY = "STRATA_SIGNING_IDENTITY"
_AD_HOC = "-"
_FILES_AT_ONCE = 100


class BuiltForNewer(Exception):
    """Code in the bundle asks for a newer macOS than the program says it runs on."""


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        sign(Path(sys.argv[1]), os.environ.get(IDENTITY) or _AD_HOC)
    except subprocess.CalledProcessError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def sign(app: Path, identity: str = _AD_HOC) -> None:
    """Replaces all signatures, and verifies the whole. Raises ``CalledProcessError``."""
    for command in signing_commands(app, signing_order(app), identity):
        subprocess.run(command, check=True)
    subprocess.run(["codesign", "--verify", "--deep", "--strict", str(app)], check=True)


def signing_order(app: Path) -> list[Path]:
    """Everything that carries a signature of its own, what is deeper first, ``app`` last.

    Code is known by its bytes, not by its name. Links are not followed: what they lead to has its own place. The
    program's executable is not among them: it is signed with the bundle, and gets its entitlements there.
    """
    signed = [path for path in code_files(app) if path.parent != app / "Contents" / "MacOS"]
    for folder, names, _ in os.walk(app):
        signed += [Path(folder) / name for name in names if _is_bundle(Path(folder) / name)]
    return [*sorted(signed, key=lambda path: (-len(path.parts), path.as_posix())), app]


def signing_commands(app: Path, order: Sequence[Path], identity: str) -> list[list[str]]:
    """Calls of codesign that sign ``order`` one after another."""
    base = ["codesign", "--force", "--sign", identity]
    base += ["--timestamp=none"] if identity == _AD_HOC else ["--timestamp", "--options", "runtime"]
    inner = [str(path) for path in order if path != app]
    commands = [[*base, *inner[at : at + _FILES_AT_ONCE]] for at in range(0, len(inner), _FILES_AT_ONCE)]
    own = [] if identity == _AD_HOC else ["--entitlements", str(ENTITLEMENTS)]
    return [*commands, [*base, *own, str(app)]]


def code_files(app: Path) -> Iterator[Path]:
    """Every file of code, wherever it lies."""
    for folder, _, files in os.walk(app):
        for path in (Path(folder) / name for name in sorted(files)):
            if not path.is_symlink() and read_mach_o(path) is not None:
                yield path


def require_oldest_macos(app: Path, oldest: tuple[int, int]) -> None:
    """Raises ``BuiltForNewer`` where a file of code would not load there."""
    found = {path: code.oldest_macos for path in code_files(app) if (code := read_mach_o(path)) and code.oldest_macos}
    if newer := {path: asked for path, asked in found.items() if asked > oldest}:
        path, asked = max(newer.items(), key=lambda each: each[1])
        raise BuiltForNewer(
            f"{len(newer)} files of {app.name} need a newer macOS than {_text(oldest)}, such as "
            f"{path.relative_to(app)}: {_text(asked)}. Install with packaging/locks.py, and a Python built for "
            f"{_text(oldest)} or older."
        )


def _is_bundle(folder: Path) -> bool:
    return folder.suffix in (".framework", ".app", ".bundle", ".xpc") and not folder.is_symlink()


def _text(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


if __name__ == "__main__":
    sys.exit(main())
