"""The real program as a process: how fast its window is there, what it loads, and what safe mode leaves out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("torch", "transformers", "safetensors", "tokenizers", "accelerate", "huggingface_hub", "numpy")
FIRST_WINDOW_S = 1.5


def run_python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_window_loads_nothing_heavy() -> None:
    code = f"import sys, app.session, app.main_window; print([n for n in {HEAVY!r} if n in sys.modules])"
    assert run_python(code) == "[]"


def test_the_engine_loads_no_qt() -> None:
    assert run_python("import sys, engine, engine.api; print('PySide6' in sys.modules)") == "False"


def test_importing_the_entry_point_loads_no_qt() -> None:
    """The engine's process imports it again."""
    assert run_python("import sys, app.main; print('PySide6' in sys.modules)") == "False"


class Started:
    """The program as a process with a data folder of its own."""

    def __init__(self, data_dir: Path, *options: str) -> None:
        self.log = data_dir / "logs" / "strata.log"
        environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", "HF_TOKEN": ""}
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "app.main", "--data-dir", str(data_dir), *options],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for_line(self, text: str, limit_s: float = 30) -> float:
        """Seconds since the start until the log has it."""
        while time.monotonic() - self.began < limit_s:
            if self.log.exists() and text in self.log.read_text(encoding="utf-8"):
                return time.monotonic() - self.began
            assert self.process.poll() is None, self.process.stderr and self.process.stderr.read()
            time.sleep(0.01)
        raise AssertionError(f"“{text}” did not come:\n{self.log.read_text() if self.log.exists() else ''}")

    def waited_s(self) -> float:
        """How long its main thread could have run and did not, as others had the processor; 0 where nobody tells."""
        try:
            told = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/schedstat").read_text(encoding="ascii")
        except OSError:
            return 0.0
        return int(told.split()[1]) / 1e9

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(15)
        finally:
            if self.process.poll() is None:
                self.process.kill()
            if self.process.stderr is not None:
                self.process.stderr.close()


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="ends the program by a signal")
def test_the_first_window_is_there_in_time(tmp_path: Path) -> None:
    """The best of three, and without what other programs took of the processor meanwhile."""
    seconds: list[float] = []
    for number in range(3):
        program = Started(tmp_path / str(number), "--safe-mode")
        seconds.append(program.wait_for_line("window is there") - program.waited_s())
        assert program.end() == 0
    assert min(seconds) < FIRST_WINDOW_S, seconds


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="ends the program by a signal")
def test_safe_mode_starts_no_engine_and_writes_no_settings(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("not even JSON", encoding="utf-8")
    program = Started(tmp_path, "--safe-mode")
    program.wait_for_line("window is there")
    assert "safe mode" in program.log.read_text(encoding="utf-8")
    assert program.end() == 0
    assert (tmp_path / "settings.json").read_text(encoding="utf-8") == "not even JSON"
    assert not (tmp_path / "logs" / "engine-output.log").exists()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="ends the program by a signal")
def test_a_second_start_ends_at_once(tmp_path: Path) -> None:
    first = Started(tmp_path, "--safe-mode")
    first.wait_for_line("window is there")
    second = Started(tmp_path, "--safe-mode")
    assert second.process.wait(15) == 0
    assert first.end() == 0


def test_an_unknown_option_is_said(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "app.main", "--nonsense"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "--nonsense" in done.stderr
