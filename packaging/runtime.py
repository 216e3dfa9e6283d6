"""The engine's packages as an ordinary folder beside the frozen window: ``runtime-cpu``.

Owns what is left out of them and that they are compiled: what lies in a folder of the system cannot be compiled later.
"""

from __future__ import annotations

import compileall
import json
import py_compile
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import Distribution
from pathlib import Path

from distributions import engine_distributions

_LEFT_OUT = tuple(
    map(
        re.compile,
        (
            r"torch/(test|include|share)/",
            r"torch/bin/(?!torch_shm_manager$)",
            r"torch/lib/.*\.(a|lib)$",
            r"bitsandbytes/libbitsandbytes_(cuda|rocm|xpu)",
            r"(sympy|networkx|numpy|accelerate)/(.*/)?(tests|test_utils)/",
            r"gguf/scripts/gguf_editor_gui",
            r".*\.pyi$",
            r"(.*/)?__pycache__/",
            # Long paths, for Windows; the texts are in the folder of licences.
            r".*\.dist-info/licenses/third_party/",
            r".*\.dist-info/(RECORD|INSTALLER|REQUESTED|direct_url\.json)$",
        ),
    )
)


class WrongTorch(Exception):
    """The environment holds a torch that must not be shipped. One sentence says what to do."""


def build_runtime(target: Path) -> dict[str, Distribution]:
    """Writes the folder anew; what was put into it, by normal name. Raises ``WrongTorch``."""
    distributions = engine_distributions()
    _require_cpu_torch(distributions["torch"])
    shutil.rmtree(target, ignore_errors=True)
    for each in distributions.values():
        for source, place in _files(each):
            (target / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / place)
    compile_packages(target)
    write_label(target, distributions["torch"].version)
    return distributions


def _require_cpu_torch(torch: Distribution) -> None:
    if sys.platform == "darwin" or "+cpu" in torch.version:
        return
    text = Path(str(torch.locate_file("torch/version.py"))).read_text(encoding="utf-8")
    if not re.search(r"^cuda[^=\n]*=\s*None\s*$", text, re.MULTILINE):
        raise WrongTorch(
            f"torch {torch.version} in this environment is built for NVIDIA cards; installers carry the one for the "
            f"processor. Install torch {torch.version.partition('+')[0]} from pytorch.org's CPU builds into .venv."
        )


def _files(of: Distribution) -> Iterator[tuple[Path, str]]:
    """What is installed inside the site folder, and where it belongs in the runtime."""
    for file in of.files or ():
        place = file.as_posix()
        source = Path(str(file.locate()))
        if not place.startswith("..") and not is_left_out(place) and source.is_file():
            yield source, place


def is_left_out(place: str) -> bool:
    """Of a file by its place in the folder of packages."""
    return any(each.match(place) for each in _LEFT_OUT)


def compile_packages(target: Path) -> None:
    """Without times, so that the same sources give the same bytes; never checked, since nothing here changes."""
    # Some packages carry templates, or code for other Pythons, that do not compile; they are never imported.
    compileall.compile_dir(
        target,
        quiet=2,
        workers=0,
        stripdir=str(target),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )


def write_label(target: Path, torch: str) -> None:
    """What another runtime must agree with to be laid over this one."""
    label = {
        "abi": f"cp{sys.version_info.major}{sys.version_info.minor}",
        "platform": sysconfig.get_platform(),
        "torch": torch,
    }
    (target / "runtime.json").write_text(json.dumps(label, indent=1) + "\n", encoding="utf-8")
