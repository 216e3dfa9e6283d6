"""One stage of a job, the download or the cutting: what it is at, how far, how fast, and its pieces as cells."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.job_texts import amount_text, block_text, is_complete, pace_of_job_text, percent_text, share_of
from app.theme import tokens
from app.widgets.labels import label
from app.widgets.states import ProgressLine
from app.wizard.block_strip import BlockStrip
from engine.events import JobProgress

_STALLED_AFTER_MS = 3000


class StageView(QWidget):
    """Says so by itself when no news come for three seconds: the speed is zero then, not the last one."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._progress: JobProgress | None = None
        self._is_running = False
        column = QVBoxLayout(self)
        column.setContentsMargins(0, tokens().s, 0, tokens().s)
        column.setSpacing(tokens().m)
        self._line = ProgressLine(name)
        self._strip = BlockStrip()
        self._amount = label("", "muted")
        self._pace = label("", "muted")
        column.addWidget(self._line)
        column.addWidget(self._strip)
        figures = QHBoxLayout()
        figures.setSpacing(tokens().m)
        figures.addWidget(self._amount)
        figures.addStretch(1)
        figures.addWidget(self._pace)
        column.addLayout(figures)
        self._stall = QTimer(self)
        self._stall.setSingleShot(True)
        self._stall.setInterval(_STALLED_AFTER_MS)
        self._stall.timeout.connect(self._show_stall)

    def clear(self, text: str) -> None:
        """Nothing is known yet."""
        self._progress = None
        self._stall.stop()
        self._line.show_progress(text, "", 0.0)
        self._strip.hide()
        self._amount.setText("")
        self._pace.setText("")

    def show_progress(self, progress: JobProgress) -> None:
        if progress != self._progress:
            self._progress = progress
            self._stall.start()
        self._draw(progress)

    def set_running(self, is_running: bool) -> None:
        self._is_running = is_running
        if not is_running:
            self._stall.stop()
        if self._progress is not None:
            self._draw(self._progress)

    def _draw(self, progress: JobProgress) -> None:
        is_done = is_complete(progress)
        done = progress.blocks if is_done else max(progress.block - 1, 0)
        self._line.show_progress(block_text(progress), percent_text(progress), share_of(progress))
        self._strip.setVisible(progress.blocks > 0)
        self._strip.show_blocks(done, progress.blocks, is_working=self._is_running)
        self._amount.setText(amount_text(progress))
        self._pace.setText(pace_of_job_text(progress) if self._is_running and not is_done else "")

    def _show_stall(self) -> None:
        progress = self._progress
        if self._is_running and progress is not None and not is_complete(progress):
            self._pace.setText(pace_of_job_text(progress, is_stalled=True))
