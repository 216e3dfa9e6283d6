"""One model that is offered: a line that opens to what is known about it and what can be done."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QLocale, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.hub_access import HUB_ADDRESS
from app.theme import tokens
from app.verdicts import pace_text, verdict
from app.widgets.buttons import button
from app.widgets.labels import IconLabel, label, paragraph
from app.wizard.flow import STARTER_SOURCE
from app.wizard.offer_texts import PACE_ROLES, context_text, dtype_text, parameters_text, size_text
from app.wizard.offers import Action, Offer


class OfferRow(QFrame):
    """``chosen``: this model is the one. ``files_asked``: the user has its files and wants to show where."""

    chosen = Signal()
    files_asked = Signal()

    def __init__(self, offer: Offer, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.offer = offer
        look = tokens()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self.head = _Head(offer)
        self.head.toggled.connect(self._toggle)
        column.addWidget(self.head)
        self.details = QWidget()
        self._details = QVBoxLayout(self.details)
        self._details.setContentsMargins(look.l + look.s, 0, 0, look.m)
        self._details.setSpacing(look.s)
        self.details.hide()
        column.addWidget(self.details)
        self._is_filled = False

    def is_open(self) -> bool:
        return not self.details.isHidden()

    def open(self) -> None:
        """Shows the details."""
        if not self._is_filled:
            self._is_filled = True
            self._fill()
        self.details.show()
        self.head.set_open(True)

    def close_details(self) -> None:
        self.details.hide()
        self.head.set_open(False)

    def _toggle(self) -> None:
        if self.is_open():
            self.close_details()
        else:
            self.open()

    def _fill(self) -> None:
        """Made when first opened: twenty rows of buttons nobody looks at cost time at every start."""
        for text in self._facts():
            self._details.addWidget(paragraph(text, "muted"))
        row = QHBoxLayout()
        row.setContentsMargins(0, tokens().s, 0, 0)
        row.setSpacing(tokens().s)
        for each in self._buttons():
            row.addWidget(each)
        row.addStretch(1)
        if row.count() > 1:
            self._details.addLayout(row)

    def _facts(self) -> list[str]:
        offer, entry = self.offer, self.offer.entry
        facts: list[str] = []
        if entry is not None:
            language = QLocale().name()
            facts.append(entry.sentence_in(language))
            facts.append(" · ".join((parameters_text(entry), dtype_text(entry.dtype), context_text(entry))))
            facts.append(self.tr("Languages: {languages}").format(languages=entry.languages_in(language)))
            facts.append(self.tr("Licence: {licence}").format(licence=entry.licence))
        if offer.place:
            facts.append(self.tr("Already on this computer: {place}").format(place=offer.place))
        if offer.action is Action.BRING:
            facts.append(self._bring_text())
        if offer.action is Action.LATER and not offer.note:
            facts.append(self.tr("Its weights come in a format this version cannot run yet. A later version will."))
        return facts

    def _bring_text(self) -> str:
        if self.offer.is_gated:
            return self.tr(
                "Its publisher asks you to accept the licence on its page first. "
                "Put the folder of this model on this computer and choose it here."
            )
        return self.tr("Put the folder of this model on this computer and choose it here.")

    def _buttons(self) -> list[QWidget]:
        offer = self.offer
        buttons: list[QWidget] = []
        if offer.action in (Action.USE, Action.DOWNLOAD):
            choose = button(self.tr("Choose this model"), "primary")
            choose.setAccessibleName(self.tr("Choose {title}").format(title=offer.title))
            choose.clicked.connect(self.chosen)
            buttons.append(choose)
        if offer.action is Action.BRING:
            files = button(self.tr("Choose its folder…"), icon_name="folder-open")
            files.clicked.connect(self.files_asked)
            buttons.append(files)
        repo = offer.entry.repo if offer.entry is not None else offer.source if _is_on_hub(offer) else ""
        if repo and offer.source != STARTER_SOURCE:
            page = button(self.tr("Open its page"), "quiet", icon_name="globe")
            address = f"{HUB_ADDRESS}/{repo}"
            page.setToolTip(address)
            page.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(address)))
            buttons.append(page)
        return buttons


class _Head(QWidget):
    """The line itself: works as a button, also from the keyboard."""

    toggled = Signal()

    def __init__(self, offer: Offer) -> None:
        super().__init__()
        look = tokens()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("role", "row-head")
        row = QHBoxLayout(self)
        row.setContentsMargins(look.s, look.s + look.xs, look.s, look.s + look.xs)
        row.setSpacing(look.s)
        self._arrow = IconLabel("chevron-right", size=16, colour="text_faint")
        row.addWidget(self._arrow)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addLayout(self._title(offer))
        said = self._said(offer)
        texts.addWidget(label(said, "small"))
        row.addLayout(texts, 1)
        row.addWidget(label(_size(offer), "muted"))
        self.setAccessibleName(self.tr("{title}: {text}").format(title=offer.title, text=said))

    def _title(self, offer: Offer) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(tokens().s)
        row.addWidget(label(offer.title, "strong"))
        for text, role in _tags(offer):
            row.addWidget(label(text, role))
        row.addStretch(1)
        return row

    def _said(self, offer: Offer) -> str:
        if offer.action is Action.LATER:
            return offer.note or self.tr("Needs a later version of Strata")
        if offer.found is not None:
            return verdict(offer.found)
        if offer.entry is not None:
            return offer.entry.sentence_in(QLocale().name())
        return self.tr("Choose it to see what it costs here")

    def set_open(self, is_open: bool) -> None:
        self._arrow.set_icon("chevron-down" if is_open else "chevron-right", "text_faint")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.toggled.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.toggled.emit()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """The ring around a focused line is part of the style sheet: repaint when focus comes or goes."""
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.update()
        return super().event(event)


def _is_on_hub(offer: Offer) -> bool:
    return offer.action is Action.DOWNLOAD or bool(offer.note)


def _tags(offer: Offer) -> list[tuple[str, str]]:
    tags: list[tuple[str, str]] = []
    pace = offer.pace
    if pace is not None and offer.action is not Action.LATER:
        tags.append((pace_text(pace), PACE_ROLES[pace]))
    if offer.entry is not None and offer.entry.is_bundled:
        tags.append((QCoreApplication.translate("Offers", "Comes with Strata"), "badge-muted"))
    elif offer.place:
        tags.append((QCoreApplication.translate("Offers", "On this computer"), "badge-muted"))
    if offer.is_gated:
        tags.append((QCoreApplication.translate("Offers", "Asks for permission"), "badge-muted"))
    return tags


def _size(offer: Offer) -> str:
    if not offer.nbytes:
        return ""
    is_approximate = offer.entry is not None and offer.entry.is_approximate and not offer.place
    return size_text(offer.nbytes, is_approximate=is_approximate)
