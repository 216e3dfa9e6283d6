"""Offers below each other, parted by hairlines, of which some may be filtered away."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.widgets.labels import line
from app.wizard.offer_row import OfferRow
from app.wizard.offers import Offer, matches


class OfferList(QWidget):
    """``chosen`` carries the offer; ``files_asked``: the user wants to show where its files are."""

    chosen = Signal(object)
    files_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows: list[OfferRow] = []
        self._parts: list[tuple[QWidget, OfferRow]] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)

    def show_offers(self, offers: Sequence[Offer]) -> None:
        """Replaces what was there; rows that were open stay open."""
        opened = {row.offer.source for row in self.rows if row.is_open()}
        for rule, row in self._parts:
            rule.hide()
            rule.deleteLater()
            row.hide()
            row.deleteLater()
        self._parts = [self._add(offer) for offer in offers]
        self.rows = [row for _, row in self._parts]
        for row in self.rows:
            if row.offer.source in opened:
                row.open()

    def filter(self, words: str) -> int:
        """How many are left."""
        shown = 0
        for rule, row in self._parts:
            is_match = matches(row.offer, words)
            rule.setVisible(is_match)
            row.setVisible(is_match)
            shown += is_match
        return shown

    def _add(self, offer: Offer) -> tuple[QWidget, OfferRow]:
        rule, row = line(), OfferRow(offer)
        row.chosen.connect(lambda: self.chosen.emit(offer))
        row.files_asked.connect(self.files_asked)
        self._column.addWidget(rule)
        self._column.addWidget(row)
        return rule, row
