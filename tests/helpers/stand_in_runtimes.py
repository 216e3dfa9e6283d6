"""Runtimes for a graphics card that is not there, their signed list, and the server both come from.

A stand-in's ``torch`` becomes the real one as it is imported, and only says that it lies in the runtime: so an engine
that reports the runtime's folder has really imported from it, and then really computes.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from app.bundle import RUNTIME, Bundle
from app.gpu.driver import Card, Driver
from app.signed_list import signed_bytes
from tests.helpers.hub_server import COMMIT, FakeRepo, HubServer

LABEL = {"abi": "cp311", "platform": "linux-x86_64", "torch": "2.13.0+cpu"}
DRIVER = Driver((581, 29), (Card("NVIDIA GeForce RTX 4070", 12 << 30, (8, 9)),))
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEYS = {"test": KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)}
REPO = "strata/runtimes"

TORCH = """
import importlib.machinery, importlib.util, sys
from pathlib import Path
here = Path(__file__).resolve()
behind = [each for each in sys.path if Path(each or ".").resolve() != here.parent.parent]
spec = importlib.machinery.PathFinder.find_spec("torch", behind)
real = importlib.util.module_from_spec(spec)
sys.modules["torch"] = real
spec.loader.exec_module(real)
real.__file__ = str(here)
"""
BROKEN_TORCH = 'raise ImportError("libcudart.so.13: cannot open shared object file")\n'
DYING_TORCH = "import os; os._exit(7)\n"


def runtime_files(code: str = TORCH, **label: str) -> dict[str, bytes]:
    """Of one runtime, by their places in it."""
    text = json.dumps({**LABEL, "torch": "2.13.0+cu130", **label})
    weight = hashlib.shake_256(b"library").digest(300_000)
    return {"runtime.json": text.encode(), "torch/__init__.py": code.encode(), "torch/lib/libtorch_cuda.so": weight}


def zip_of(files: Mapping[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return data.getvalue()


def sign(content: Mapping[str, Any], key: Ed25519PrivateKey = KEY, name: str = "test") -> bytes:
    text = json.dumps(content)
    signature = base64.b64encode(key.sign(signed_bytes(text))).decode()
    return json.dumps({"signed": text, "signatures": {name: signature}}).encode()


@dataclass
class Publisher:
    """What the makers' server has. ``publish`` puts runtimes and the list there; ``server.faults`` spoil it."""

    server: HubServer
    serial: int = 1
    release: dict[str, Any] = field(
        default_factory=lambda: {
            "version": "0.1.0",
            "page": "https://strata.example/releases",
            "notes": {"en": "First."},
        }
    )

    def url(self, name: str) -> str:
        return f"{self.server.storage}/{REPO}/{COMMIT}/{name}"

    @property
    def address(self) -> str:
        return self.url("list.json")

    def publish(self, *archives: bytes, unpacked: int | None = None, **entry: Any) -> dict[str, Any]:
        """One runtime in several archives; the list's content, signed as it is on the server."""
        names = [f"part-{place}.zip" for place in range(len(archives))]
        runtime = {
            "abi": "cp311", "torch": "2.13.0", "platform": "linux-x86_64", "version": "1", "cuda": 13,
            "min_driver": "580", "min_compute": "7.5", "unpacked_size": unpacked or _unpacked(archives),
            "parts": [
                {"url": self.url(name), "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
                for name, data in zip(names, archives, strict=True)
            ],
            **entry,
        }  # fmt: skip
        content = self.content([runtime] if archives else [])
        self.files.update(zip(names, archives, strict=True))
        self.files["list.json"] = sign(content)
        return content

    def content(self, runtimes: list[dict[str, Any]]) -> dict[str, Any]:
        return {"schema": 1, "serial": self.serial, "release": self.release, "runtimes": runtimes}

    @property
    def files(self) -> dict[str, bytes]:
        return self.server.repos[REPO].files


@contextmanager
def publisher() -> Iterator[Publisher]:
    with HubServer({REPO: FakeRepo({})}) as server:
        yield Publisher(server)


def stand_in_bundle(folder: Path) -> Bundle:
    """A program as installed, as far as its runtime's label goes."""
    (folder / RUNTIME).mkdir(parents=True)
    (folder / RUNTIME / "runtime.json").write_text(json.dumps(LABEL))
    return Bundle(folder)


def _unpacked(archives: tuple[bytes, ...]) -> int:
    opened = [zipfile.ZipFile(io.BytesIO(data)) for data in archives]
    return sum(member.file_size for archive in opened for member in archive.infolist())
