"""What an engine process sets before the heavy libraries are imported. No torch."""

from __future__ import annotations

import logging
import os

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


def prepare_process() -> None:
    """Call before torch or transformers is imported. What the user has set stays."""
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    logging.basicConfig(level=logging.ERROR)
    logging.getLogger("transformers").setLevel(logging.ERROR)
