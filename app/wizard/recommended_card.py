"""The one suggestion: what it is and how it will feel on this computer."""

from __future__ import annotations

from PySide6.QtCore import QLocale, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.theme import tokens
from app.verdicts import verdict
from app.widgets.labels import label, paragraph
from app.wizard.offer_texts import size_text
from app.wizard.offers import Action, Offer


class RecommendedCard(QFrame):
    """Only shows; the button for it is at the foot of the step."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look = tokens()
        self.setProperty("role", "card")
        column = QVBoxLayout(self)
        column.setContentsMargins(look.l, look.l, look.l, look.l)
        column.setSpacing(look.s)
        head = QHBoxLayout()
        head.setSpacing(look.s + look.xs)
        self._title = label("", "heading")
        self._tag = label("", "badge")
        self._size = label("", "muted")
        head.addWidget(self._title)
        head.addWidget(self._tag, alignment=Qt.AlignmentFlag.AlignVCenter)
        head.addStretch(1)
        head.addWidget(self._size)
        self._sentence = paragraph("")
        self._verdict = paragraph("", "muted")
        column.addLayout(head)
        column.addWidget(self._sentence)
        column.addWidget(self._verdict)

    def show_offer(self, offer: Offer) -> None:
        self._title.setText(offer.title)
        self._tag.setText(self._reason(offer))
        self._size.setText(size_text(offer.nbytes, is_approximate=not offer.place))
        if offer.entry is not None:
            self._sentence.setText(offer.entry.sentence_in(QLocale().name()))
        self._verdict.setText(verdict(offer.found) if offer.found is not None else "")
        self._verdict.setVisible(offer.found is not None)
        self.setAccessibleName(self.tr("Recommended: {title}").format(title=offer.title))

    def _reason(self, offer: Offer) -> str:
        is_bundled = offer.entry is not None and offer.entry.is_bundled
        if offer.action is Action.USE and is_bundled:
            return self.tr("Ready now, no download")
        return self.tr("Recommended here")
