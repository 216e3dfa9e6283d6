"""Whether a window may have see-through corners: on X11 without a compositor they are black.

Qt does not say it, so the X server is asked. Owns the question; must not know what is drawn otherwise.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import cache

from PySide6.QtGui import QGuiApplication


@cache
def can_be_translucent() -> bool:
    """Asked once: compositors come with the session. False where the answer cannot be had."""
    return QGuiApplication.platformName() != "xcb" or _has_compositor()


def _has_compositor() -> bool:
    """The owner of the selection _NET_WM_CM_Sn, as the Extended Window Manager Hints have it."""
    name = ctypes.util.find_library("X11")
    if name is None:
        return False
    x11 = ctypes.CDLL(name)
    x11.XOpenDisplay.restype = ctypes.c_void_p
    x11.XOpenDisplay.argtypes = [ctypes.c_char_p]
    x11.XDefaultScreen.argtypes = [ctypes.c_void_p]
    x11.XInternAtom.restype = ctypes.c_ulong
    x11.XInternAtom.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
    x11.XGetSelectionOwner.restype = ctypes.c_ulong
    x11.XGetSelectionOwner.argtypes = [ctypes.c_void_p, ctypes.c_ulong]
    x11.XCloseDisplay.argtypes = [ctypes.c_void_p]
    display = x11.XOpenDisplay(None)
    if not display:
        return False
    try:
        selection = b"_NET_WM_CM_S%d" % x11.XDefaultScreen(display)
        return bool(x11.XGetSelectionOwner(display, x11.XInternAtom(display, selection, False)))
    finally:
        x11.XCloseDisplay(display)
