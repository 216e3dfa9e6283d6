"""``python -m engine`` and ``strata-engine``."""

import sys

from engine.command_line.main import main

if __name__ == "__main__":
    sys.exit(main())
