"""For every test: windows that nobody sees, and quiet for those that measure time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest
from filelock import FileLock
from pytestqt.qtbot import QtBot

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# Threads that wait for each other must not take the processor from those of the other workers.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

SIGNAL_WAIT_MS = 60_000
"""How long a test waits for what is about to happen: a machine that others use must not decide the result."""

for wait in (QtBot.waitSignal, QtBot.waitSignals, QtBot.waitUntil, QtBot.waitExposed):
    wait.__kwdefaults__ = {**(wait.__kwdefaults__ or {}), "timeout": SIGNAL_WAIT_MS}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Where several workers run, a test marked ``alone`` has the machine for itself."""
    with ExitStack() as held:
        if worker := os.environ.get("PYTEST_XDIST_WORKER"):
            own = int(worker.removeprefix("gw"))
            everyone = range(int(os.environ["PYTEST_XDIST_WORKER_COUNT"]))
            # Nobody overtakes one who waits at the door; so a test that wants all rooms gets them.
            with _lock("door"):
                for room in everyone if item.get_closest_marker("alone") else [own]:
                    held.enter_context(_lock(f"room-{room}"))
        return (yield)


def _lock(name: str) -> FileLock:
    run = os.environ["PYTEST_XDIST_TESTRUNUID"]
    return FileLock(Path(tempfile.gettempdir()) / f"strata-tests-{run}-{name}.lock", poll_interval=0.01)
