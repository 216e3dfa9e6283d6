"""The parity suite against the oldest and the newest transformers that pyproject.toml allows.

    python -m tests.parity.versions [VERSION…]

Each version is installed by itself into ``build/transformers-VERSION`` and put before the one of this environment; what
it needs besides has to be here. Exit code 1 where a version fails.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version as installed_version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUITE = (
    "tests/parity/test_parity.py",
    "tests/unit/engine/test_transformers_internals.py",
    "tests/unit/engine/test_remote_code.py",
)


def oldest_version() -> str:
    """The lower end of the range in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (given,) = [line for line in project["dependencies"] if re.match(r"transformers\b", line)]
    match = re.search(r">=\s*([\d.]+)", given)
    assert match is not None, given
    return match[1] + ".0" * (2 - match[1].count("."))


def newest_version() -> str:
    """The newest release below the upper end, as pip sees it; the one that is installed where there is no network."""
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", "transformers"], capture_output=True, text=True, check=False
    )
    listed = re.search(r"Available versions: (.*)", asked.stdout)
    newest = [found for found in (listed[1].split(", ") if listed else []) if found.startswith("5.")]
    return newest[0] if newest else installed_version("transformers")


def run_suite(version: str) -> bool:
    """Runs the suite with this version of transformers; prints what pytest says."""
    folder = ROOT / "build" / f"transformers-{version}"
    if not (folder / "transformers").is_dir():
        install = ["install", "--quiet", "--no-deps", "--target", str(folder), f"transformers=={version}"]
        subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    paths = os.pathsep.join([str(folder), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths}
    tests = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *SUITE]
    print(f"transformers {version}", flush=True)
    return subprocess.run(tests, cwd=ROOT, env=environment, check=False).returncode == 0


def main(versions: list[str]) -> int:
    wanted = versions or sorted({oldest_version(), newest_version()})
    results = {version: run_suite(version) for version in wanted}
    for version, is_equal in results.items():
        print(f"transformers {version}: {'equal' if is_equal else 'FAILED'}")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
