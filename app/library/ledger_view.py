"""What went through the drives: today and since the beginning, and what that means for them."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.days import day_text
from app.ledger import Ledger
from app.theme import tokens
from app.widgets.column import section
from app.widgets.labels import IconLabel, paragraph
from engine.quantities import format_size


class LedgerView(QWidget):
    """Follows the ledger while it is seen. Hidden until something was moved."""

    def __init__(self, ledger: Ledger, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look = tokens()
        self._ledger = ledger
        self._sums = paragraph("")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, look.m, 0, 0)
        column.setSpacing(look.s)
        column.addWidget(section(self.tr("Your drive")))
        row = QHBoxLayout()
        row.setSpacing(look.s)
        row.addWidget(IconLabel("disk"), alignment=Qt.AlignmentFlag.AlignTop)
        texts = QVBoxLayout()
        texts.setSpacing(look.xs)
        texts.addWidget(self._sums)
        texts.addWidget(
            paragraph(
                self.tr(
                    "Reading does not wear a drive out, however often a model is read. Writing does, very slowly: "
                    "a model is written once, when it is downloaded and cut, and drives are made for hundreds of "
                    "terabytes."
                ),
                "small",
            )
        )
        row.addLayout(texts, 1)
        column.addLayout(row)
        ledger.changed.connect(self.show_sums)
        self.show_sums()

    @Slot()
    def show_sums(self) -> None:
        since = self._ledger.since
        self.setVisible(since is not None)
        if since is None or not self.isVisible():
            return
        today, total = self._ledger.today, self._ledger.total
        text = self.tr(
            "Read today {read} · written today {written} · since {day}: {all_read} read, {all_written} written"
        ).format(
            read=format_size(today.bytes_read),
            written=format_size(today.bytes_written),
            day=day_text(since, with_year=True),
            all_read=format_size(total.bytes_read),
            all_written=format_size(total.bytes_written),
        )
        self._sums.setText(text)
        self.setAccessibleName(text)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.show_sums()

    def sums(self) -> str:
        return self._sums.text()
