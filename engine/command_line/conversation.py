"""``chat``: a conversation in the terminal. Ctrl+C stops the answer; at the prompt it leaves."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import signal
import sys
from pathlib import Path
from types import FrameType

from engine.cancel import CancelToken
from engine.command_line.live_answer import LiveAnswer
from engine.errors import ContextOverflow, EngineError
from engine.events import Finished, GenerationResult, event_to_dict
from engine.generation.images import decode_image, read_images
from engine.generation.messages import Message
from engine.generation.sampling import SamplingOptions
from engine.local import LocalEngine
from engine.request_checks import check_can_see, outline_split

_HELP = (
    "/new starts over · /system TEXT sets the system prompt · /image FILE goes with the next message"
    " · /exit leaves · Ctrl+C stops an answer"
)


def run_conversation(engine: LocalEngine, sampling: SamplingOptions, *, system: str | None, as_json: bool) -> int:
    """Until /exit or the end of input. Returns the exit code."""
    is_terminal = sys.stdin.isatty() and not as_json
    if is_terminal:
        _use_line_editing()
        print(f"Talk with {engine.loaded.manifest.source.name if engine.loaded else 'the model'}.  {_HELP}")
    conversation = _Conversation(engine, sampling, system, as_json)
    while True:
        text = _read_line(is_terminal)
        if text is None or not conversation.take(text):
            return 0


class _Conversation:
    """What was said so far, and the images that go with the next message."""

    def __init__(self, engine: LocalEngine, sampling: SamplingOptions, system: str | None, as_json: bool) -> None:
        self._engine = engine
        self._sampling = sampling
        self._as_json = as_json
        self._messages = _opening(system)
        self._system = system
        self._images: list[tuple[str, bytes]] = []

    def take(self, text: str) -> bool:
        """One line of the user. False where it ends the conversation."""
        command, _, rest = text.strip().partition(" ")
        if command == "/exit":
            return False
        try:
            if command in ("/new", "/system"):
                self._system = rest.strip() if command == "/system" else self._system
                self._start_over()
            elif command == "/help":
                self._say(_HELP)
            elif command == "/image":
                self._attach(rest.strip())
            elif text.strip():
                self._ask(text)
        except EngineError as error:
            self._tell(error)
        return True

    def _start_over(self) -> None:
        self._messages = _opening(self._system)
        self._images.clear()
        self._engine.new_conversation()

    def _attach(self, path: str) -> None:
        """Alone, ``/image`` takes back what is attached. Raises ``EngineError`` for what an answer would refuse."""
        if not path:
            self._images.clear()
            self._say("No image goes with the next message.")
            return
        if self._engine.loaded is not None:
            check_can_see(outline_split(self._engine.loaded.folder))
        (image,) = read_images([_file_named(path)])
        decode_image(image)
        # Its contents, since every later turn looks at it again.
        self._images.append((image.name, image.data))
        self._say(f"With the next message: {', '.join(name for name, _ in self._images)}.")

    def _ask(self, text: str) -> None:
        """A message that is not answered is as if it had not been sent; its images stay attached."""
        question = Message("user", text, images=tuple(data for _, data in self._images))
        answer = _answer(self._engine, [*self._messages, question], self._sampling, self._as_json)
        if answer:
            self._messages += [question, Message("assistant", answer)]
            self._images.clear()

    def _tell(self, error: EngineError) -> None:
        if self._as_json:
            fields = {"event": "Failed", "error": type(error).__name__, "message": error.message}
            print(json.dumps({**fields, "next_step": error.next_step}, ensure_ascii=False), flush=True)
        hint = " Type /new to start over." if isinstance(error, ContextOverflow) else ""
        print(f"{error}{hint}", file=sys.stderr)

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr if self._as_json else sys.stdout)


def _file_named(text: str) -> Path:
    """A path as it is typed, or as terminals write a file that is dropped on them: quoted, its spaces escaped."""
    if not _from_home(text).exists():
        if text[0] == text[-1] and text[0] in "\"'":
            text = text[1:-1]
        elif os.name == "posix":
            text = re.sub(r"\\(.)", r"\1", text)
    return _from_home(text)


def _from_home(text: str) -> Path:
    return Path.home() / text[2:] if text.startswith("~/") else Path(text)


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
