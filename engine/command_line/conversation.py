"""``chat``: a conversation in the terminal. Ctrl+C stops the answer; at the prompt it leaves."""

from __future__ import annotations

import contextlib
import importlib
import json
import signal
import sys
from types import FrameType

from engine.cancel import CancelToken
from engine.command_line.live_answer import LiveAnswer
from engine.errors import ContextOverflow, EngineError
from engine.events import Finished, GenerationResult, event_to_dict
from engine.generation.messages import Message
from engine.generation.sampling import SamplingOptions
from engine.local import LocalEngine

_HELP = "/new starts over · /system TEXT sets the system prompt · /exit leaves · Ctrl+C stops an answer"


def run_conversation(engine: LocalEngine, sampling: SamplingOptions, *, system: str | None, as_json: bool) -> int:
    """Until /exit or the end of input. Returns the exit code."""
    is_terminal = sys.stdin.isatty() and not as_json
    if is_terminal:
        _use_line_editing()
        print(f"Talk with {engine.loaded.manifest.source.name if engine.loaded else 'the model'}.  {_HELP}")
    messages = _opening(system)
    while True:
        text = _read_line(is_terminal)
        command, _, rest = (text or "/exit").strip().partition(" ")
        if text is None or command == "/exit":
            return 0
        if command in ("/new", "/system"):
            if command == "/system":
                system = rest.strip()
            messages = _opening(system)
            engine.new_conversation()
        elif command == "/help":
            print(_HELP, file=sys.stderr if as_json else sys.stdout)
        elif text.strip():
            messages.append(Message("user", text))
            try:
                answer = _answer(engine, messages, sampling, as_json)
            except EngineError as error:
                messages.pop()
                if as_json:
                    fields = {"event": "Failed", "error": type(error).__name__, "message": error.message}
                    print(json.dumps({**fields, "next_step": error.next_step}, ensure_ascii=False), flush=True)
                hint = " Type /new to start over." if isinstance(error, ContextOverflow) else ""
                print(f"{error}{hint}", file=sys.stderr)
                continue
            if answer:
                messages.append(Message("assistant", answer))
            else:
                messages.pop()  # stopped before the first word: as if it had not been asked


def _answer(engine: LocalEngine, messages: list[Message], sampling: SamplingOptions, as_json: bool) -> str:
    view = LiveAnswer()
    cancel = CancelToken()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        cancel.cancel()

    before = signal.signal(signal.SIGINT, stop)
    text = ""
    try:
        for event in engine.answer(messages, sampling, cancel):
            if isinstance(event, Finished) and isinstance(event.result, GenerationResult):
                text = event.result.text
            if as_json:
                print(json.dumps(event_to_dict(event), ensure_ascii=False), flush=True)
            else:
                view.show(event)
    finally:
        signal.signal(signal.SIGINT, before)
    return text


def _opening(system: str | None) -> list[Message]:
    return [Message("system", system)] if system else []


def _read_line(is_terminal: bool) -> str | None:
    """One message; None at the end of input or on Ctrl+C at the prompt."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return input("\n> " if is_terminal else "")
    except (EOFError, KeyboardInterrupt):
        if is_terminal:
            print()
        return None
    finally:
        signal.signal(signal.SIGINT, before)


def _use_line_editing() -> None:
    """Arrow keys and history, where the system has readline."""
    with contextlib.suppress(ImportError):
        importlib.import_module("readline")
