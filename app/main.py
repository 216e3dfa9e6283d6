"""The program's beginning and end. Importing this does nothing: the engine's process imports it again.

Owns the order in which the log, the crash hook, the one-instance lock, the language and the program come up.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Runs until the user quits; the process's exit code. Qt is imported here and not in the engine's process."""
    multiprocessing.freeze_support()
    from app.options import parse_options

    options = parse_options(argv)
    from app.session import run_session
    from app.singletons import keep_singletons

    keep_singletons()
    return run_session(options)


if __name__ == "__main__":
    sys.exit(main())
