"""What an engine process sets before the heavy libraries are imported, and where it imports them from. No torch."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

_DEFAULTS = {
    # About 30 µs of spinning at an OpenMP barrier, then sleep. The default spins for milliseconds, which takes
    # the core from the very thread that is waited for as soon as anything else runs on the machine.
    "GOMP_SPINCOUNT": "10000",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}


def use_runtimes(folders: Sequence[Path]) -> None:
    """Puts folders of packages before everything else that is imported from, the first of them in front."""
    sys.path[:0] = [str(folder) for folder in folders]
    libraries = torch_libraries(folders)
    if sys.platform == "win32" and libraries is not None:
        os.add_dll_directory(str(libraries))
        os.environ["PATH"] = f"{libraries}{os.pathsep}{os.environ.get('PATH', '')}"


def torch_libraries(folders: Sequence[Path]) -> Path | None:
    """Where the torch that will be imported keeps its own libraries, which it looks for beside ``sys.prefix`` only.

    Those of another runtime further back must not be found beside them: they have the same names.
    """
    found = (folder / "torch" / "lib" for folder in folders if (folder / "torch").is_dir())
    return next(found, None)


def prepare_process() -> None:
    """Call before torch or transformers is imported. What the user has set stays."""
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    logging.basicConfig(level=logging.ERROR)
    logging.getLogger("transformers").setLevel(logging.ERROR)
