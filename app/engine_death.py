"""What to tell the user when the engine's process is gone: how it ended and what it was doing. Pure but for words."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from PySide6.QtCore import QCoreApplication

from engine.errors import EngineDied, EngineRestarted
from engine.events import Event, JobProgress, LayerProgress, LoadProgress, TokenArrived

_TAIL_BYTES = 8192


def describe_death(
    exit_code: int | None, *, method: str | None = None, last_event: Event | None = None, detail: str = ""
) -> EngineDied:
    """``method`` and ``last_event`` are of the call that was running, None where there was none.

    ``exit_code`` is negative for a signal, None where the process never started.
    """
    if exit_code is None:
        message = QCoreApplication.translate("EngineDeath", "The engine could not be started.")
    else:
        message = _sentence(method, last_event).format(how=_how(exit_code), **_numbers(last_event))
    return EngineDied(message, _next_step(exit_code), exit_code=exit_code, detail=detail)


def read_tail(path: Path | None) -> str:
    """The last of what a process wrote to its standard streams; "" where there is none."""
    if path is None:
        return ""
    try:
        with path.open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - _TAIL_BYTES, 0))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""


def describe_restart() -> EngineRestarted:
    """For calls that a wished-for restart cut off."""
    return EngineRestarted(QCoreApplication.translate("EngineDeath", "The engine was restarted."))


def _sentence(method: str | None, last_event: Event | None) -> str:
    translate = QCoreApplication.translate
    if isinstance(last_event, LayerProgress):
        return translate(
            "EngineDeath", "The engine stopped unexpectedly ({how}) while computing layer {block} of {blocks}."
        )
    if isinstance(last_event, TokenArrived):
        return translate("EngineDeath", "The engine stopped unexpectedly ({how}) after token {token} of an answer.")
    if isinstance(last_event, JobProgress):
        return translate(
            "EngineDeath", "The engine stopped unexpectedly ({how}) while working on block {block} of {blocks}."
        )
    if isinstance(last_event, LoadProgress) or method == "load":
        return translate("EngineDeath", "The engine stopped unexpectedly ({how}) while loading a model.")
    if method == "answer":
        return translate("EngineDeath", "The engine stopped unexpectedly ({how}) while reading a question.")
    return translate("EngineDeath", "The engine stopped unexpectedly ({how}).")


def _numbers(last_event: Event | None) -> dict[str, int]:
    if isinstance(last_event, LayerProgress | JobProgress):
        return {"block": last_event.block, "blocks": last_event.blocks}
    if isinstance(last_event, TokenArrived):
        return {"token": last_event.index + 1}
    return {}


def _how(exit_code: int) -> str:
    translate = QCoreApplication.translate
    if exit_code >= 0:
        # Windows numbers its crashes in the upper half of 32 bits, and everybody looks them up in hexadecimal.
        number = str(exit_code) if exit_code < 256 else f"0x{exit_code & 0xFFFFFFFF:08X}"
        return translate("EngineDeath", "exit code {number}").format(number=number)
    words = {
        "SIGKILL": translate("EngineDeath", "killed, signal {number}"),
        "SIGTERM": translate("EngineDeath", "ended from outside, signal {number}"),
        "SIGABRT": translate("EngineDeath", "aborted, signal {number}"),
        "SIGSEGV": translate("EngineDeath", "crashed, signal {number}"),
        "SIGBUS": translate("EngineDeath", "crashed, signal {number}"),
    }
    template = words.get(_signal_name(-exit_code), translate("EngineDeath", "signal {number}"))
    return template.format(number=-exit_code)


def _next_step(exit_code: int | None) -> str:
    translate = QCoreApplication.translate
    if exit_code is not None and exit_code < 0 and _signal_name(-exit_code) == "SIGKILL":
        return translate(
            "EngineDeath",
            "The computer may have run out of memory: close other programs, or let the model use less of it.",
        )
    return translate("EngineDeath", "If this happens again, please report it with the details.")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""
