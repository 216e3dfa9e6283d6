"""Runs one command: exit code 0 done, 1 failed (one line says what to do), 2 usage, 130 cancelled."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from engine.cancel import Cancelled, CancelToken
from engine.command_line.parser import build_parser
from engine.errors import EngineError
from engine.process_setup import prepare_process
from engine.store.model_store import ModelStore, default_data_dir

EXIT_DONE, EXIT_FAILED, EXIT_CANCELLED = 0, 1, 130


def main(arguments: Sequence[str] | None = None) -> int:
    options = build_parser().parse_args(arguments)
    prepare_process()
    _speak_utf8()
    cancel = CancelToken()
    _cancel_on_interrupt(cancel)
    store = ModelStore(options.data_dir or default_data_dir())
    try:
        from engine.command_line import commands

        return commands.run(options, store, cancel)
    except EngineError as error:
        _print_error(error, as_json=options.json)
        return EXIT_FAILED
    except (Cancelled, KeyboardInterrupt):
        return EXIT_CANCELLED
    except BrokenPipeError:
        # Whoever read us has left; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except OSError as error:
        if error.filename is not None:
            raise
        # A full or closed output: nothing we print can be kept.
        sys.stderr.write(f"strata-engine: The output cannot be written: {error.strerror}.\n")
        return EXIT_FAILED


def _speak_utf8() -> None:
    """Models write every script there is; a pipe on Windows, or LANG=C, would refuse most of it."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def _print_error(error: EngineError, *, as_json: bool) -> None:
    if as_json:
        fields = {"event": "Failed", "error": type(error).__name__, "message": error.message}
        print(json.dumps({**fields, "next_step": error.next_step, "detail": error.detail}), flush=True)
    print(f"strata-engine: {error}", file=sys.stderr)


def _cancel_on_interrupt(cancel: CancelToken) -> None:
    """The first Ctrl+C stops within a block and keeps what is whole; a second one leaves at once."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        if cancel.is_cancelled:
            os._exit(EXIT_CANCELLED)
        cancel.cancel()

    signal.signal(signal.SIGINT, stop)
    if hasattr(signal, "SIGTERM"):
        signal.signal(signal.SIGTERM, stop)
