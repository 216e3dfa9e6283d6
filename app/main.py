"""The program's beginning and end. Importing this does nothing: the engine's process imports it again.

Owns the order in which the running mark, the log, the crash hook, the one-instance lock, the language and the
program come up.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Runs until the user quits; the process's exit code. Qt is imported here and not in the engine's process."""
    multiprocessing.freeze_support()
    from app.bundle import restore_library_path
    from app.options import parse_options
    from app.running_mark import set_running_mark

    restore_library_path()
    set_running_mark()

    options = parse_options(argv)
    if options.is_self_test:
        from app.self_test import run_self_test

        return run_self_test(report_file=options.report)
    from app.session import run_session

    return run_session(options)


if __name__ == "__main__":
    sys.exit(main())
