"""How a release makes the runtime that the program then installs: out of wheels, in parts, with its signed entry."""

from __future__ import annotations

import importlib
import json
import os
import sysconfig
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from app.gpu import installation
from app.gpu.installation import Installation
from app.gpu.runtime_folders import RuntimeFolders
from app.signed_list import ListRefused, read_list
from engine.api import DeviceCheck, TorchReport
from tests.helpers.stand_in_runtimes import KEY, KEYS, publisher

ROOT = Path(__file__).resolve().parents[3]
PLATFORM = sysconfig.get_platform()


@pytest.fixture
def packer(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return importlib.import_module("gpu_runtime")


def wheel(folder: Path, name: str, version: str, files: dict[str, bytes]) -> None:
    folder.mkdir(exist_ok=True)
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-cp311-cp311-any.whl", "w") as archive:
        for place, data in {**files, f"{info}/RECORD": b"", f"{info}/METADATA": metadata(name, version)}.items():
            member = zipfile.ZipInfo(place)
            member.external_attr = (0o755 if place.endswith("torch_shm_manager") else 0o644) << 16
            archive.writestr(member, data)


def metadata(name: str, version: str) -> bytes:
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()


@pytest.fixture
def cpu_runtime(tmp_path: Path) -> Path:
    folder = tmp_path / "runtime-cpu"
    for name in ("torch-2.13.0+cpu", "bitsandbytes-0.50.2", "numpy-2.4.6", "typing_extensions-4.16.0"):
        (folder / f"{name}.dist-info").mkdir(parents=True)
    label = {"abi": "cp311", "platform": PLATFORM, "torch": "2.13.0+cpu"}
    (folder / "runtime.json").write_text(json.dumps(label))
    return folder


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    wheel(folder, "torch", "2.13.0+cu130", {
        "torch/__init__.py": b"VALUE = 1\n", "torch/lib/libtorch_cuda.so": b"\x7fELF" * 5000,
        "torch/include/torch.h": b"//", "torch/bin/torch_shm_manager": b"#!", "torch/bin/protoc": b"#!",
        "torch-2.13.0+cu130.data/purelib/functorch/__init__.py": b"", "torch-2.13.0+cu130.data/scripts/torchrun": b"#!",
    })  # fmt: skip
    wheel(folder, "bitsandbytes", "0.50.2", {
        "bitsandbytes/__init__.py": b"", "bitsandbytes/libbitsandbytes_cuda130.so": b"13",
        "bitsandbytes/libbitsandbytes_cuda128.so": b"12", "bitsandbytes/libbitsandbytes_rocm64.so": b"amd",
    })  # fmt: skip
    wheel(folder, "nvidia_cublas", "13.0.1", {
        "nvidia/cu13/lib/libcublas.so.13": b"cublas" * 3000, "nvidia/cu13/include/cublas.h": b"//",
        "nvidia/cu13/lib/libcublas_static.a": b"!",
    })  # fmt: skip
    wheel(folder, "numpy", "2.4.6", {"numpy/__init__.py": b""})
    wheel(folder, "typing_extensions", "4.16.0", {"typing_extensions.py": b""})
    return folder


def test_wheels_become_a_runtime_that_the_program_installs(
    packer: ModuleType, wheels: Path, cpu_runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def computes(runtimes: tuple[Path, ...], *_: object, **__: object) -> DeviceCheck:
        return DeviceCheck(TorchReport("", str(runtimes[0]), ()), "cuda", "", 0.0, 0.05)

    monkeypatch.setattr(installation, "try_runtime", computes)
    with publisher() as there:
        base = there.url("x").removesuffix("/x")
        entry: dict[str, Any] = packer.build(wheels, cpu_runtime, 13, "1", base, tmp_path / "out", part_bytes=19_000)
        assert len(entry["parts"]) > 1
        for part in entry["parts"]:
            name = part["url"].rpartition("/")[2]
            there.files[name] = (tmp_path / "out" / name).read_bytes()
            assert len(there.files[name]) == part["size"] < 19_000
        (found,) = read_list(signed_list(tmp_path, entry), KEYS).runtimes
        folders = RuntimeFolders(tmp_path / "runtimes")
        Installation(folders, shipped=(), floor_bytes=0, proxy="", told=lambda *_: None, said=lambda _: None).install(
            found
        )
    installed = folders.folder("cp311-torch2.13.0-cuda13-1")
    places = {path.relative_to(installed).as_posix() for path in installed.rglob("*") if path.is_file()}
    assert {each for each in places if not each.endswith(".pyc")} == {
        "runtime.json", "torch/__init__.py", "torch/lib/libtorch_cuda.so", "torch/bin/torch_shm_manager",
        "torch-2.13.0+cu130.dist-info/METADATA", "functorch/__init__.py", "bitsandbytes/__init__.py",
        "bitsandbytes/libbitsandbytes_cuda130.so", "bitsandbytes-0.50.2.dist-info/METADATA",
        "nvidia/cu13/lib/libcublas.so.13", "nvidia_cublas-13.0.1.dist-info/METADATA",
    }  # fmt: skip
    assert "torch/__pycache__/__init__.cpython-311.pyc" in places
    assert os.name == "nt" or (installed / "torch" / "bin" / "torch_shm_manager").stat().st_mode & 0o100


def test_the_same_wheels_give_the_same_bytes(
    packer: ModuleType, wheels: Path, cpu_runtime: Path, tmp_path: Path
) -> None:
    first, second = (packer.build(wheels, cpu_runtime, 13, "1", "https://x.example", tmp_path / name) for name in "ab")
    assert first == second


@pytest.mark.parametrize(
    ("name", "version", "says"),
    [
        ("numpy", "2.5.0", "numpy is 2.5.0 here and 2.4.6"),
        ("torch", "2.12.0+cu130", "both must be one release"),
        ("torch", "2.13.0+cu126", "not built for CUDA 13"),
        ("torch", "2.13.0", "not built for CUDA 13"),
        ("bitsandbytes", "", "No wheel of bitsandbytes"),
    ],
)
def test_wheels_that_would_not_fit_are_refused(
    packer: ModuleType, wheels: Path, cpu_runtime: Path, tmp_path: Path, name: str, version: str, says: str
) -> None:
    next(wheels.glob(f"{name}-*")).unlink()
    if version:
        wheel(wheels, name, version, {})
    with pytest.raises(packer.WrongWheels, match=says.replace("+", r"\+")):
        packer.build(wheels, cpu_runtime, 13, "1", "https://x.example", tmp_path / "out")
    assert not list(tmp_path.glob("out/*"))


@pytest.mark.parametrize("other", [{"abi": "cp27"}, {"platform": "win-arm64"}])
def test_a_runtime_is_packed_by_the_python_it_is_for(
    packer: ModuleType, wheels: Path, cpu_runtime: Path, tmp_path: Path, other: dict[str, str]
) -> None:
    label = json.loads((cpu_runtime / "runtime.json").read_text())
    (cpu_runtime / "runtime.json").write_text(json.dumps({**label, **other}))
    with pytest.raises(packer.WrongWheels, match=f"The CPU runtime is for .*{next(iter(other.values()))}"):
        packer.build(wheels, cpu_runtime, 13, "1", "https://x.example", tmp_path / "out")


def test_a_key_is_made_once_and_two_signatures_let_one_replace_another(
    packer: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signer = importlib.import_module("sign_list")
    monkeypatch.setattr(signer, "ROOT", tmp_path)
    monkeypatch.setattr(signer, "KEYS", tmp_path / "keys.json")
    signer.make_key(tmp_path / "old.pem", "old")
    signer.make_key(tmp_path / "new.pem", "new")
    with pytest.raises(FileExistsError):
        signer.make_key(tmp_path / "new.pem", "new")
    assert os.name == "nt" or (tmp_path / "new.pem").stat().st_mode & 0o777 == 0o600
    assert set(json.loads((tmp_path / "keys.json").read_text())["keys"]) == {"old", "new"}
    envelope = {"signed": json.dumps(content({})), "signatures": {}}
    keys = {}
    for name in ("old", "new"):
        key = signer.read_key(str(tmp_path / f"{name}.pem"))
        keys[name] = signer.public_bytes(key)
        envelope = signer.signed(envelope, key, name)
    for known in ("old", "new"):
        assert read_list(json.dumps(envelope).encode(), {known: keys[known]}).release.version == "0.2.0"
    with pytest.raises(ListRefused):
        read_list(json.dumps(envelope).encode(), KEYS)
    monkeypatch.setattr(signer, "shipped_keys", lambda: keys)
    once, out = tmp_path / "once.json", tmp_path / "out.json"
    (tmp_path / "list.json").write_text(json.dumps(content({})))
    assert signer.main(["sign", str(tmp_path / "old.pem"), "old", str(tmp_path / "list.json"), str(once)]) == 0
    assert signer.main(["sign", str(tmp_path / "old.pem"), "new", str(once), str(out)]) == 1
    assert not out.exists(), "a second signature that nobody believes is not written beside a good one"
    assert signer.main(["sign", str(tmp_path / "new.pem"), "new", str(once), str(out)]) == 0


def content(entry: dict[str, Any]) -> dict[str, Any]:
    release = {"version": "0.2.0", "page": "https://x.example", "notes": {"en": "New."}}
    return {"schema": 1, "serial": 1, "release": release, "runtimes": [entry] if entry else []}


def signed_list(folder: Path, entry: dict[str, Any]) -> bytes:
    """As the release makes it."""
    signer = importlib.import_module("sign_list")
    (folder / "notes.txt").write_text("New.")
    (folder / "entry.json").write_text(json.dumps(entry))
    arguments = ["--release", "0.2.0", "--page", "https://x.example", "--notes", f"en={folder / 'notes.txt'}"]
    arguments += ["--runtimes", str(folder / "entry.json")]
    assert signer.main(["make", str(folder / "list.json"), *arguments]) == 0
    envelope = signer.signed(signer.read_envelope(folder / "list.json"), KEY, "test")
    return json.dumps(envelope).encode()
