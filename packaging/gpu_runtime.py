"""Makes the runtime for NVIDIA cards out of wheels, as archives that a release can hold, and its entry for the list.

    python packaging/gpu_runtime.py --wheels DIR --cpu-runtime build/Strata/runtime-cpu --cuda 13 --version 1 \\
        --base-url https://…/releases/download/v0.1.0 --out dist/gpu

``DIR`` holds what ``pip download`` gets for the CUDA build of the very torch release that the CPU runtime has, and
bitsandbytes. It is laid over ``runtime-cpu``, so what that has already is left out. Needs no card and imports no wheel.
The entry is ``OUT/runtime-….json``; ``sign_list.py`` puts entries into the list.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from distributions import normal_name
from runtime import compile_packages, is_left_out, write_label

# Hosts of releases take files below 2 GiB; the rest is for the archive's own table.
PART_BYTES = (2 << 30) - (16 << 20)
ALWAYS = ("torch", "bitsandbytes")
"""The CPU runtime has these as well, without what computes on a card."""
LEAST = {13: ("580", "7.5"), 12: ("525", "5.0")}
"""By CUDA release: its first driver, and the least compute capability that torch's builds for it usually serve
(``torch._C._cuda_getArchFlags()`` says it of one build)."""
_LEFT_OUT = re.compile(
    r"nvidia/(.*/)?(include|src|samples|share)/|nvidia/.*\.(a|lib|h|hpp|cuh|cmake)$|.*/lib/pkgconfig/"
)
_TIME = (2020, 1, 1, 0, 0, 0)


class WrongWheels(Exception):
    """One sentence says which, and what to do."""


@dataclass(frozen=True, slots=True)
class Wheel:
    path: Path
    name: str
    version: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, required=True)
    parser.add_argument("--cpu-runtime", type=Path, required=True)
    parser.add_argument("--cuda", type=int, required=True, choices=sorted(LEAST))
    parser.add_argument("--version", required=True, help="counts up when the same torch is packed anew")
    parser.add_argument("--base-url", required=True, help="where the archives will be")
    parser.add_argument("--min-compute", help="least compute capability, where this build of torch serves other cards")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    try:
        entry = build(
            given.wheels,
            given.cpu_runtime,
            given.cuda,
            given.version,
            given.base_url,
            given.out,
            compute=given.min_compute,
        )
    except WrongWheels as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(entry, indent=1))
    return 0


def build(
    wheels: Path,
    cpu_runtime: Path,
    cuda: int,
    version: str,
    base_url: str,
    out: Path,
    *,
    compute: str | None = None,
    part_bytes: int = PART_BYTES,
) -> dict[str, Any]:
    """The entry, which is in ``out`` too, beside its archives. Raises ``WrongWheels``."""
    label = json.loads((cpu_runtime / "runtime.json").read_text(encoding="utf-8"))
    require_this_python(label)
    chosen = choose(read_wheels(wheels), distributions_in(cpu_runtime), label["torch"], cuda)
    torch = label["torch"].partition("+")[0]
    name = f"runtime-{label['abi']}-torch{torch}-cuda{cuda}-{version}-{label['platform']}"
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out) as folder:
        staged = Path(folder, "runtime")
        for wheel in chosen:
            unpack(wheel, staged, cuda)
        compile_packages(staged)
        write_label(staged, next(wheel.version for wheel in chosen if wheel.name == "torch"))
        nbytes = sum(path.stat().st_size for path in staged.rglob("*") if path.is_file())
        parts = [described(path, base_url) for path in pack(staged, out / name, part_bytes)]
    driver, usual = LEAST[cuda]
    entry: dict[str, Any] = {
        "abi": label["abi"], "torch": torch, "platform": label["platform"], "version": version, "cuda": cuda,
        "min_driver": driver, "min_compute": compute or usual, "unpacked_size": nbytes, "parts": parts,
    }  # fmt: skip
    (out / f"{name}.json").write_text(json.dumps(entry, indent=1) + "\n", encoding="utf-8")
    return entry


def require_this_python(label: Mapping[str, str]) -> None:
    """Packages are compiled and labelled by the Python that runs this. Raises ``WrongWheels``."""
    here = {"abi": f"cp{sys.version_info.major}{sys.version_info.minor}", "platform": sysconfig.get_platform()}
    there = {name: label[name] for name in here}
    if there != here:
        raise WrongWheels(
            f"The CPU runtime is for {there['abi']} on {there['platform']}; this Python is {here['abi']} on "
            f"{here['platform']}. Pack with the Python that built it."
        )


def read_wheels(folder: Path) -> list[Wheel]:
    found: list[Wheel] = []
    for path in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(path) as wheel:
            place = next(name for name in wheel.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
            headers = HeaderParser().parsestr(wheel.read(place).decode("utf-8"))
        found.append(Wheel(path, normal_name(headers["Name"]), headers["Version"]))
    return found


def distributions_in(runtime: Path) -> dict[str, str]:
    """Versions by normal name."""
    folders = [path.name.removesuffix(".dist-info") for path in runtime.glob("*.dist-info")]
    return {normal_name(name): version for name, _, version in (folder.partition("-") for folder in folders)}


def choose(wheels: list[Wheel], there: Mapping[str, str], torch: str, cuda: int) -> list[Wheel]:
    """Those that the CPU runtime lacks. Another version of what it has would be laid over it: that is refused."""
    chosen = [wheel for wheel in wheels if wheel.name in ALWAYS or wheel.name not in there]
    for wheel in wheels:
        if wheel not in chosen and there[wheel.name] != wheel.version:
            raise WrongWheels(
                f"{wheel.name} is {wheel.version} here and {there[wheel.name]} in the CPU runtime; download the wheels "
                f"with packaging/constraints.txt."
            )
    found = {wheel.name: wheel.version for wheel in chosen}
    if missing := [name for name in ALWAYS if name not in found]:
        raise WrongWheels(f"No wheel of {' and '.join(missing)} among these.")
    release, _, build_of = found["torch"].partition("+")
    if release != torch.partition("+")[0]:
        raise WrongWheels(f"torch is {found['torch']} here and {torch} in the CPU runtime; both must be one release.")
    if not build_of.startswith(f"cu{cuda}"):
        raise WrongWheels(f"torch {found['torch']} is not built for CUDA {cuda}; download it from pytorch.org's index.")
    return chosen


def unpack(wheel: Wheel, target: Path, cuda: int) -> None:
    """What of a wheel is wanted, as an installer would place it."""
    with zipfile.ZipFile(wheel.path) as archive:
        for member in archive.infolist():
            place = _place(member.filename)
            if member.is_dir() or place is None or not _is_wanted(place, cuda):
                continue
            path = target / place
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, path.open("wb") as file:
                shutil.copyfileobj(source, file, 1 << 20)
            if (member.external_attr >> 16) & 0o100:
                path.chmod(0o755)


def pack(folder: Path, stem: Path, part_bytes: int) -> list[Path]:
    """Archives of at most so many bytes, the same ones for the same files. Raises ``WrongWheels``."""
    made: list[Path] = []
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for group in _groups(files, part_bytes):
        path = stem.with_name(f"{stem.name}-{len(made) + 1}.zip")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            for file in group:
                member = zipfile.ZipInfo(file.relative_to(folder).as_posix(), _TIME)
                member.compress_type = zipfile.ZIP_DEFLATED
                member.external_attr = (0o100755 if os.access(file, os.X_OK) else 0o100644) << 16
                member.file_size = file.stat().st_size
                with file.open("rb") as source, archive.open(member, "w") as sink:
                    shutil.copyfileobj(source, sink, 1 << 20)
        if path.stat().st_size > part_bytes:
            raise WrongWheels(f"{group[0].name} alone is larger than an archive may be ({part_bytes} bytes).")
        made.append(path)
    return made


def described(path: Path, base_url: str) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"url": f"{base_url.rstrip('/')}/{path.name}", "size": path.stat().st_size, "sha256": digest}


def _groups(files: list[Path], part_bytes: int) -> Iterator[list[Path]]:
    """In order; by their sizes before they are packed, which only makes a part smaller than it could be."""
    group: list[Path] = []
    nbytes = 0
    for file in files:
        size = file.stat().st_size
        if group and nbytes + size > part_bytes:
            yield group
            group, nbytes = [], 0
        group.append(file)
        nbytes += size
    if group:
        yield group


def _place(name: str) -> str | None:
    """Where a wheel's file goes; None for scripts and data, which a folder of packages has no place for."""
    found = re.fullmatch(r"[^/]+\.data/([^/]+)/(.+)", name)
    if found is None:
        return name
    return found[2] if found[1] in ("purelib", "platlib") else None


def _is_wanted(place: str, cuda: int) -> bool:
    if re.match(r"bitsandbytes/libbitsandbytes_cuda", place):
        return place.startswith(f"bitsandbytes/libbitsandbytes_cuda{cuda}")
    return not is_left_out(place) and _LEFT_OUT.match(place) is None


if __name__ == "__main__":
    print(f"packing for {sysconfig.get_platform()}", file=sys.stderr)
    sys.exit(main())
