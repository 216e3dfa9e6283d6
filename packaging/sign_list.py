"""Signs the list of what is published, which every Strata checks before it believes a word of it.

    python packaging/sign_list.py new-key KEY.pem NAME        makes a key; its public half goes into resources/
    python packaging/sign_list.py make LIST.json --release 0.2.0 --page URL --notes en=FILE zh_CN=FILE
        [--runtimes WHAT-GPU_RUNTIME-WROTE.json …]
    python packaging/sign_list.py sign KEY.pem NAME LIST.json OUT.json
    python packaging/sign_list.py check OUT.json              as the program does it

``KEY.pem`` is a secret: it is never in the repository. ``-`` in its place reads its content from the environment's
STRATA_LIST_KEY. To replace a key: make another, ship both public ones, sign with both (give OUT.json as LIST.json once
more), and take the old one out of resources/list-keys.json when no Strata is left that knows only that.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from app.signed_list import SCHEMA, ListRefused, read_list, shipped_keys, signed_bytes

KEYS = ROOT / "resources" / "list-keys.json"
KEY_VARIABLE = "STRATA_LIST_KEY"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    new = commands.add_parser("new-key")
    new.add_argument("key", type=Path)
    new.add_argument("name")
    make = commands.add_parser("make")
    make.add_argument("list", type=Path)
    make.add_argument("--release", required=True)
    make.add_argument("--page", required=True)
    make.add_argument("--notes", nargs="+", required=True, metavar="LANGUAGE=FILE")
    make.add_argument("--runtimes", nargs="*", type=Path, default=[], help="what gpu_runtime.py wrote")
    sign = commands.add_parser("sign")
    sign.add_argument("key")
    sign.add_argument("name")
    sign.add_argument("list", type=Path)
    sign.add_argument("out", type=Path)
    check = commands.add_parser("check")
    check.add_argument("out", type=Path)
    given = parser.parse_args(arguments)
    try:
        if given.command == "new-key":
            make_key(given.key, given.name)
        elif given.command == "make":
            content = make_list(given.release, given.page, given.notes, given.runtimes)
            given.list.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        elif given.command == "sign":
            envelope = signed(read_envelope(given.list), read_key(given.key), given.name)
            data = json.dumps(envelope, indent=1, ensure_ascii=False) + "\n"
            # By this key alone: one signature more that nobody believes would not be noticed beside a good one.
            read_list(data.encode(), {name: key for name, key in shipped_keys().items() if name == given.name})
            given.out.write_text(data, encoding="utf-8")
        else:
            found = read_list(given.out.read_bytes(), shipped_keys())
            print(f"serial {found.serial}, Strata {found.release.version}, {len(found.runtimes)} runtimes")
    except ListRefused as error:
        print(f"{given.out}: {error}", file=sys.stderr)
        return 1
    return 0


def make_key(path: Path, name: str) -> None:
    """Never over one that is there."""
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(pem)
    content: dict[str, Any] = json.loads(KEYS.read_text(encoding="utf-8")) if KEYS.exists() else {"keys": {}}
    content["keys"][name] = base64.b64encode(public_bytes(key)).decode()
    KEYS.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"{path} is the secret; {KEYS.relative_to(ROOT)} has the public half as “{name}”")


def make_list(release: str, page: str, notes: Sequence[str], runtimes: Sequence[Path]) -> dict[str, Any]:
    """Its serial is the time, so that it grows whoever makes the next."""
    files = dict(each.split("=", 1) for each in notes)
    return {
        "schema": SCHEMA,
        "serial": int(time.time()),
        "release": {
            "version": release,
            "page": page,
            "notes": {language: Path(file).read_text(encoding="utf-8").strip() for language, file in files.items()},
        },
        "runtimes": [json.loads(path.read_text(encoding="utf-8")) for path in runtimes],
    }


def read_key(given: str) -> Ed25519PrivateKey:
    """From a file, or for ``-`` from the environment."""
    pem = os.environ[KEY_VARIABLE].encode() if given == "-" else Path(given).read_bytes()
    key = load_pem_private_key(pem, None)
    if not isinstance(key, Ed25519PrivateKey):
        raise SystemExit(f"{given} is no Ed25519 key")
    return key


def public_bytes(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def read_envelope(path: Path) -> dict[str, Any]:
    """A list, or one that has signatures already."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if "signed" in content:
        return content
    return {"signed": json.dumps(content, indent=1, ensure_ascii=False), "signatures": {}}


def signed(envelope: dict[str, Any], key: Ed25519PrivateKey, name: str) -> dict[str, Any]:
    """The same with one more signature."""
    signature = base64.b64encode(key.sign(signed_bytes(envelope["signed"]))).decode()
    return {"signed": envelope["signed"], "signatures": {**envelope["signatures"], name: signature}}


if __name__ == "__main__":
    sys.exit(main())
