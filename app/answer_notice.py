"""What the whole window should say about answers: that they cannot be saved or can be again, what the engine remarks.

Owns these sentences in the window's one notice bar. Must not know how answers are kept or shown.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.answers import AnswerQueue
from app.engine_texts import shown_text
from app.widgets.notice_bar import NoticeBar, NoticeKind
from engine.events import Notice


class AnswerNotice(QObject):
    def __init__(self, answers: AnswerQueue, bar: NoticeBar, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bar = bar
        answers.saving_failed.connect(self._take_failure)
        answers.saving_recovered.connect(self._take_recovery)
        answers.answer_noticed.connect(self._take_notice)

    @Slot(object)
    def _take_failure(self, error: Exception) -> None:
        self._bar.show_notice(
            NoticeKind.DANGER,
            self.tr("The answer cannot be saved at the moment."),
            self.tr(
                "It goes on, and is saved as soon as that works again. Check that the drive is there and is not full."
            ),
            detail=str(error) or repr(error),
        )

    @Slot()
    def _take_recovery(self) -> None:
        self._bar.show_notice(NoticeKind.SUCCESS, self.tr("Saving works again. Everything that waited is saved."))

    @Slot(int, object)
    def _take_notice(self, _message_id: int, notice: Notice) -> None:
        self._bar.show_notice(NoticeKind.INFO, shown_text(notice.text), detail=notice.detail)
