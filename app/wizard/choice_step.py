"""Choose a model: the one recommended here, files the user has, what other programs left, the catalogue, the hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLineEdit, QProgressBar, QVBoxLayout, QWidget

from app.catalogue import CatalogueEntry
from app.icons import icon
from app.theme import tokens
from app.user_folders import downloads
from app.widgets.buttons import button
from app.widgets.column import section
from app.widgets.labels import paragraph
from app.widgets.notice_bar import NoticeBar, NoticeKind
from app.wizard.flow import STARTER_SOURCE
from app.wizard.found_models import FoundModel
from app.wizard.offer_list import OfferList
from app.wizard.offer_row import OfferRow
from app.wizard.offers import Action, Offer, catalogue_offers, found_offers, hub_offers, recommend
from app.wizard.recommended_card import RecommendedCard
from app.wizard.step_view import StepView
from engine.api import HubModel, MachineReport
from engine.errors import EngineError


class ChoiceStep(StepView):
    """``chosen`` carries what the engine takes, a title for people, and whether it is to be downloaded.

    ``hub_asked`` carries the words to look for on the hub, ``card_asked`` the repo to read about.
    """

    chosen = Signal(str, str, bool)
    hub_asked = Signal(str)
    card_asked = Signal(str)

    def __init__(
        self, catalogue: tuple[CatalogueEntry, ...], *, can_download: bool, parent: QWidget | None = None
    ) -> None:
        super().__init__("", "", parent=parent)
        self._catalogue = catalogue
        self._can_download = can_download
        self._machine: MachineReport | None = None
        self._found: Sequence[FoundModel] = ()
        self._hits: Sequence[HubModel] = ()
        self._best: Offer | None = None
        self.setAcceptDrops(True)
        self.heading.setText(self.tr("Choose a model"))
        self.text.setText(self.tr("The times are for this computer. A typical answer has 300 tokens, about 220 words."))
        self._recommended = RecommendedCard()
        self.column.addWidget(self._recommended)
        self.column.addWidget(section(self.tr("A model I already have")))
        self.column.addWidget(self._own_files())
        self._others_title = section(self.tr("Found on this computer"))
        self._others = self._offers()
        self.column.addWidget(self._others_title)
        self.column.addWidget(self._others)
        self._add_catalogue()
        self._add_hub()
        self.column.addStretch(1)
        self.starter = button(self.tr("Begin with the small starter"), "quiet")
        self.starter.clicked.connect(lambda: self.chosen.emit(STARTER_SOURCE, catalogue[0].title, False))
        self.foot.insertWidget(2, self.starter)
        self.forward.clicked.connect(self._choose_best)
        self._refill()

    @property
    def rows(self) -> list[OfferRow]:
        return [*self._others.rows, *self._listed.rows, *self._on_hub.rows]

    def show_offers(self, machine: MachineReport | None, found: Sequence[FoundModel]) -> None:
        """Again with times, once the machine is measured, or with what was found meanwhile."""
        if (machine, list(found)) != (self._machine, list(self._found)):
            self._machine, self._found = machine, found
            self._refill()

    def set_can_download(self, can_download: bool) -> None:
        if can_download != self._can_download:
            self._can_download = can_download
            self._refill()

    def show_hub_search(self) -> None:
        self._hub_notice.clear()
        self._hub_wait.show()
        self._hub_title.show()

    def forget_search(self) -> None:
        """The next time somebody comes here, it is for another model."""
        self.search.clear()
        self._hits = ()
        self._on_hub.show_offers([])
        for each in (self._hub_title, self._hub_wait, self._no_hits):
            each.hide()
        self._hub_notice.clear()

    def show_hits(self, hits: Sequence[HubModel]) -> None:
        self._hits = hits
        self._hub_wait.hide()
        self._on_hub.show_offers(hub_offers(self._catalogue, self._machine, hits))
        self._no_hits.setVisible(not hits)

    def show_hub_failure(self, error: EngineError) -> None:
        self._hub_wait.hide()
        self._hub_notice.show_error(NoticeKind.WARNING, error, action=self.tr("Try again"))

    def ask_folder(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, self.tr("The folder of a model"), str(downloads()))
        if chosen:
            self.choose_path(Path(chosen))

    def choose_path(self, path: Path) -> None:
        """What it is, and whether it is a model at all, is for the engine to say."""
        self.chosen.emit(str(path), path.stem if path.suffix == ".gguf" else path.name, False)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _dropped_path(event) is not None:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        path = _dropped_path(event)
        if path is not None:
            event.acceptProposedAction()
            self.choose_path(path)

    def _offers(self) -> OfferList:
        offers = OfferList()
        offers.chosen.connect(self._choose)
        offers.files_asked.connect(self.ask_folder)
        offers.card_asked.connect(self.card_asked)
        return offers

    def _own_files(self) -> QWidget:
        look = tokens()
        box = QWidget()
        column = QVBoxLayout(box)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(look.s + look.xs)
        column.addWidget(
            paragraph(
                self.tr(
                    "A folder as a hub ships it (config.json and weight files), a hub cache folder, or a .gguf file. "
                    "You can also drop it here."
                ),
                "muted",
            )
        )
        row = QHBoxLayout()
        row.setSpacing(look.s)
        self.folder = button(self.tr("Choose a folder…"), icon_name="folder-open")
        self.file = button(self.tr("Choose a .gguf file…"), icon_name="file")
        self.folder.clicked.connect(self.ask_folder)
        self.file.clicked.connect(self._ask_file)
        row.addWidget(self.folder)
        row.addWidget(self.file)
        row.addStretch(1)
        column.addLayout(row)
        return box

    def _ask_file(self) -> None:
        chosen, _ = QFileDialog.getOpenFileName(
            self, self.tr("A .gguf file"), str(downloads()), self.tr("Models (*.gguf);;All files (*)")
        )
        if chosen:
            self.choose_path(Path(chosen))

    def _add_catalogue(self) -> None:
        self.column.addWidget(section(self.tr("Catalogue")))
        self._bring = paragraph(
            self.tr(
                "The starter comes with Strata. For any other model, put its folder on this computer "
                "and choose it here."
            ),
            "muted",
        )
        self.column.addWidget(self._bring)
        row = QHBoxLayout()
        row.setSpacing(tokens().s)
        self.search = QLineEdit()
        self.search.setPlaceholderText(self.tr("Search by name, language or licence"))
        self.search.setAccessibleName(self.tr("Search for a model"))
        self.search.setClearButtonEnabled(True)
        self.search.addAction(icon("search"), QLineEdit.ActionPosition.LeadingPosition)
        self.search.textChanged.connect(self._filter)
        self.search.returnPressed.connect(self._ask_hub)
        self.ask_hub = button(self.tr("Search the hub"), icon_name="globe")
        self.ask_hub.clicked.connect(self._ask_hub)
        row.addWidget(self.search, 1)
        row.addWidget(self.ask_hub)
        self.column.addLayout(row)
        self._listed = self._offers()
        self.column.addWidget(self._listed)
        self._nothing = paragraph(self.tr("No model of the catalogue matches. Try fewer words."), "muted")
        self._nothing.hide()
        self.column.addWidget(self._nothing)

    def _add_hub(self) -> None:
        self._hub_title = section(self.tr("On the hub"))
        self._hub_notice = NoticeBar()
        self._hub_notice.action_chosen.connect(self._ask_hub)
        self._hub_wait = QProgressBar()
        self._hub_wait.setRange(0, 0)
        self._hub_wait.setTextVisible(False)
        self._hub_wait.setAccessibleName(self.tr("Searching the hub"))
        self._on_hub = self._offers()
        self._no_hits = paragraph(self.tr("The hub has no text model of that name with safetensors weights."), "muted")
        for each in (self._hub_title, self._hub_notice, self._hub_wait, self._on_hub, self._no_hits):
            self.column.addWidget(each)
        for hidden in (self._hub_title, self._hub_wait, self._no_hits):
            hidden.hide()

    def _refill(self) -> None:
        offers = catalogue_offers(self._catalogue, self._machine, self._found, can_download=self._can_download)
        self._best = recommend(offers, self._machine)
        if self._best is not None:
            self._recommended.show_offer(self._best)
            self.set_forward(self.tr("Continue with {title}").format(title=self._best.title))
            self.starter.setVisible(self._best.source != STARTER_SOURCE)
        here = {offer.source for offer in offers if offer.place}
        others = [o for o in found_offers(self._catalogue, self._machine, self._found) if o.source not in here]
        self._others_title.setVisible(bool(others))
        self._others.setVisible(bool(others))
        self._others.show_offers(others)
        self._listed.show_offers(offers)
        self._on_hub.show_offers(hub_offers(self._catalogue, self._machine, self._hits))
        self._bring.setVisible(not self._can_download)
        self.ask_hub.setVisible(self._can_download)
        self._filter(self.search.text())

    def _filter(self, words: str) -> None:
        self._nothing.setVisible(not self._listed.filter(words))
        self.ask_hub.setEnabled(bool(words.strip()))

    def _ask_hub(self) -> None:
        """Nothing is asked of a network before the user says so."""
        words = self.search.text().strip()
        if words and self._can_download:
            self.show_hub_search()
            self.hub_asked.emit(words)

    def _choose_best(self) -> None:
        if self._best is not None:
            self._choose(self._best)

    def _choose(self, offer: Offer) -> None:
        self.chosen.emit(offer.source, offer.title, offer.action is Action.DOWNLOAD)


def _dropped_path(event: QDropEvent) -> Path | None:
    """The one local folder or file that is dragged."""
    urls = event.mimeData().urls()
    return Path(urls[0].toLocalFile()) if len(urls) == 1 and urls[0].isLocalFile() else None
