"""The Linux bundle with a runtime for a graphics card laid over it:  python3 dev.py test -- -m packaged"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.bundle import RUNTIME
from app.gpu.runtime_folders import Kept, RuntimeFolders
from tests.helpers.desktop import screen, wait_until
from tests.helpers.stand_in_runtimes import TORCH, runtime_files

BUNDLE = Path(__file__).resolve().parents[2] / "build" / "Strata"

pytestmark = [
    pytest.mark.packaged,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs an X server of its own"),
]


def test_the_engine_of_the_bundle_imports_from_the_runtime_that_is_in_use(tmp_path: Path) -> None:
    """A stand-in whose torch notes where it lies and then is the shipped one."""
    if not (BUNDLE / "Strata").exists():
        pytest.skip("no bundle: run python3 dev.py package")
    label = json.loads((BUNDLE / RUNTIME / "runtime.json").read_text())
    name = f"{label['abi']}-torch{label['torch'].partition('+')[0]}-cuda13-1"
    folders, marker = RuntimeFolders(tmp_path / "data" / "runtimes"), tmp_path / "imported"
    note = f"from pathlib import Path\nPath({str(marker)!r}).write_text(__file__)\n"
    for place, data in runtime_files(note + TORCH, **label).items():
        (folders.folder(name) / place).parent.mkdir(parents=True, exist_ok=True)
        (folders.folder(name) / place).write_bytes(data)
    folders.write(Kept(in_use=name))
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    with screen() as display:
        program = subprocess.Popen(
            [str(BUNDLE / "Strata"), "--data-dir", str(tmp_path / "data")], env={**environment, "DISPLAY": display}
        )
        try:
            wait_until("torch is imported", marker.exists)
        finally:
            program.terminate()
            program.wait()
    assert marker.read_text() == str(folders.folder(name) / "torch" / "__init__.py")
    assert folders.read() == Kept(in_use=name)
