"""For every test: windows that nobody sees."""

from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from app.singletons import keep_singletons

keep_singletons()
