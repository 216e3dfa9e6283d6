"""What the window's process must never load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROBE = """
import sys
import app.answers, app.engine_calls, app.engine_host, app.jobs
heavy = {"torch", "transformers", "safetensors", "tokenizers", "numpy", "accelerate", "huggingface_hub"}
print(sorted(heavy & set(sys.modules)))
"""


def test_the_engine_host_loads_no_torch() -> None:
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", PROBE], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
