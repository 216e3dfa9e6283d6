"""Has Apple check what was signed, and staples the ticket to it, so that it opens without a network.

    python packaging/macos/notarisation.py build/Strata.app
    python packaging/macos/notarisation.py dist/Strata-….dmg

Needs a key for App Store Connect: ``STRATA_NOTARY_KEY`` (the .p8 file), ``STRATA_NOTARY_KEY_ID`` and
``STRATA_NOTARY_ISSUER``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


class NotAccepted(Exception):
    """Apple's answer, with its log."""


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        notarise(Path(sys.argv[1]))
    except (KeyError, NotAccepted, subprocess.CalledProcessError) as error:
        print(f"{error} is not set" if isinstance(error, KeyError) else error, file=sys.stderr)
        return 1
    return 0


def notarise(item: Path) -> None:
    """An .app or a .dmg. Raises ``NotAccepted``; ``KeyError`` names a variable that is missing."""
    key = ["--key", os.environ["STRATA_NOTARY_KEY"], "--key-id", os.environ["STRATA_NOTARY_KEY_ID"]]
    key += ["--issuer", os.environ["STRATA_NOTARY_ISSUER"]]
    with tempfile.TemporaryDirectory() as folder:
        sent = item
        if item.is_dir():
            sent = Path(folder) / f"{item.name}.zip"
            subprocess.run(["ditto", "-c", "-k", "--keepParent", str(item), str(sent)], check=True)
        answer = _notarytool("submit", str(sent), "--wait", *key)
    if answer.get("status") != "Accepted":
        log = _notarytool("log", str(answer.get("id")), *key)
        raise NotAccepted(f"Apple did not accept {item.name}: {json.dumps({**answer, 'log': log}, indent=1)}")
    subprocess.run(["xcrun", "stapler", "staple", str(item)], check=True)


def _notarytool(command: str, *arguments: str) -> dict[str, object]:
    options = [] if command == "log" else ["--output-format", "json"]  # a log is JSON already
    done = subprocess.run(
        ["xcrun", "notarytool", command, *arguments, *options], stdout=subprocess.PIPE, text=True, check=False
    )
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError as error:
        raise NotAccepted(f"notarytool {command} ended with {done.returncode}: {done.stdout.strip()}") from error
    return answer


if __name__ == "__main__":
    sys.exit(main())
