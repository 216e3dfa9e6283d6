"""What the whole window should say about the engine: that it died, that it is back, that it will not start.

Owns these sentences in the window's one notice bar. Must not know why an engine dies: ``app.engine_death`` says it.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from app.engine_host import EngineHost, EngineState
from app.widgets.notice_bar import NoticeBar, NoticeKind

_RECOVERY_SHOWN_MS = 20_000


class EngineNotice(QObject):
    def __init__(self, engine: EngineHost, bar: NoticeBar, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._bar = bar
        self._reason = ""
        self._is_mine = False
        self._hide_later = QTimer(self)
        self._hide_later.setSingleShot(True)
        self._hide_later.setInterval(_RECOVERY_SHOWN_MS)
        self._hide_later.timeout.connect(self._clear)
        engine.engine_died.connect(self._take_death)
        engine.engine_state_changed.connect(self._take_state)
        bar.action_chosen.connect(self._start_again)
        bar.dismissed.connect(self._forget)

    def _take_death(self, reason: str) -> None:
        self._reason = reason
        self._is_mine = True
        self._hide_later.stop()
        if self._engine.state is EngineState.DEAD:
            self._bar.show_notice(
                NoticeKind.DANGER,
                self.tr("The engine stopped and could not be started again."),
                reason,
                action=self.tr("Start the engine"),
                can_dismiss=False,
            )
        else:
            self._bar.show_notice(
                NoticeKind.WARNING,
                self.tr("The engine stopped unexpectedly and is being started again."),
                self.tr("Your chats are safe. What was under way goes on from where it was."),
                detail=reason,
            )

    def _take_state(self, state: str) -> None:
        if state == EngineState.READY and self._is_mine:
            self._bar.show_notice(
                NoticeKind.SUCCESS,
                self.tr("The engine is running again."),
                self.tr("What was under way goes on from where it was."),
                detail=self._reason,
            )
            self._hide_later.start()

    def _start_again(self) -> None:
        if self._is_mine and self._engine.state is EngineState.DEAD:
            self._engine.restart()
            self._bar.show_notice(NoticeKind.INFO, self.tr("Starting the engine…"), can_dismiss=False)

    def _clear(self) -> None:
        if self._is_mine:
            self._bar.clear()
        self._forget()

    def _forget(self) -> None:
        self._is_mine = False
        self._hide_later.stop()
