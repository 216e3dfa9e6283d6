"""The starter model, cut once while the installer is made, so that the first chat needs no cutting."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path


def ship_starter(target: Path, work: Path) -> None:
    """Cuts it in ``work`` (or takes what is there) and puts it into ``target``, without this computer's paths."""
    subprocess.run(
        [sys.executable, "-m", "engine", "split", "starter", "--data-dir", str(work)],
        cwd=Path(__file__).resolve().parent.parent,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (split,) = (each for each in (work / "models").iterdir() if (each / "split.json").is_file())
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(split, target / split.name, ignore=shutil.ignore_patterns(".*"))
    manifest = target / split.name / "split.json"
    content = json.loads(manifest.read_text(encoding="utf-8"))
    content["source"]["path"] = content["source"]["files"][0]["name"]
    for file in content["source"]["files"]:
        file["mtime_ns"] = 0
    manifest.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
