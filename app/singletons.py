"""Keeps None, True, False and NotImplemented alive under PySide 6.12.0 on Python 3.11.

That PySide's wheels are built as if these were immortal, which they are from Python 3.12 on: each of its calls that
returns None drops a reference it does not own, and after some 5,600 of them Python ends with "deallocating None".
PySide 6.11.3 is sound. Remove this when 6.12.0 is excluded or Python 3.11 is no longer supported. No Qt.
"""

from __future__ import annotations

import ctypes
import sys

_MANY = 1 << 40


def keep_singletons() -> None:
    """Once, before the first window. Gives each more references than any session can drop."""
    if sys.implementation.name != "cpython" or sys.version_info >= (3, 12):
        return
    for singleton in (None, True, False, NotImplemented):
        # The count is the first field of every object of CPython 3.11 (Include/object.h).
        ctypes.c_ssize_t.from_address(id(singleton)).value += _MANY
