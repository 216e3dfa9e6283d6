"""The program, started as always, that also tells another process what its accessibility tree says.

``python -m tests.end2end.driven_app SOCKET [OPTIONS OF STRATA]``. A thread listens on the Unix socket: each line that
comes is answered by one line of JSON with what can be seen now, read in the GUI thread. Nothing can be done through
it: keys and clicks come from the X server, as a person's do.
"""

from __future__ import annotations

import json
import queue
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any


def main(arguments: list[str]) -> int:
    threading.Thread(target=_listen, args=(arguments[0],), name="accessibility", daemon=True).start()
    from app.main import main as run_program

    return run_program(arguments[1:])


def _listen(path: str) -> None:
    """Only once the program has an application is there something to answer."""
    from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal

    class Asker(QObject):
        asked = Signal(object)

    while (app := QCoreApplication.instance()) is None or QCoreApplication.startingUp():
        time.sleep(0.02)
    asker, reader = Asker(), _reader()
    reader.moveToThread(app.thread())
    asker.asked.connect(reader.read, Qt.ConnectionType.QueuedConnection)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        while True:
            connection, _ = server.accept()
            with connection, connection.makefile("rw", encoding="utf-8") as stream:
                for _ in stream:
                    answer: queue.SimpleQueue[str] = queue.SimpleQueue()
                    asker.asked.emit(answer)
                    stream.write(answer.get() + "\n")
                    stream.flush()


def _reader() -> Any:
    from PySide6.QtCore import QObject, Slot
    from PySide6.QtGui import QAccessible

    class Reader(QObject):
        @Slot(object)
        def read(self, answer: queue.SimpleQueue[str]) -> None:
            """Always answers: without one the other side would wait for its timeout and not know why."""
            # As with a screen reader: what Qt keeps of a list is brought up to date only then.
            QAccessible.setActive(True)
            try:
                answer.put(json.dumps({"windows": list(_windows())}))
            except Exception as error:
                answer.put(json.dumps({"error": repr(error)}))

    return Reader()


def _windows() -> Iterator[dict[str, Any]]:
    from PySide6.QtGui import QAccessible
    from PySide6.QtWidgets import QApplication

    for window in QApplication.topLevelWidgets():
        if window.isVisible():
            root = QAccessible.queryAccessibleInterface(window)
            yield {
                "id": int(window.winId()),
                "title": window.windowTitle(),
                "is_active": window.isActiveWindow(),
                "controls": list(_controls(root, window.frameGeometry())),
            }


def _controls(element: Any, seen: Any) -> Iterator[dict[str, Any]]:
    """Depth first, what is visible only. ``seen``: the part of the screen its parents let through."""
    from PySide6.QtGui import QAccessible

    state = element.state()
    if state.invisible:
        return
    place = element.rect().intersected(seen)
    yield {
        "role": element.role().name,
        "name": element.text(QAccessible.Text.Name),
        "value": element.text(QAccessible.Text.Value),
        "place": [place.x(), place.y(), max(place.width(), 0), max(place.height(), 0)],
        "is_enabled": not state.disabled,
        "is_focused": bool(state.focused),
        "is_checked": bool(state.checked),
    }
    for number in range(element.childCount()):
        child = element.child(number)
        if child is not None and child.isValid():
            yield from _controls(child, place)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
