"""What its publisher says about a model of the hub, to be read before it is chosen. Nothing in it is fetched."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QEvent, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QTextCursor
from PySide6.QtWidgets import QDialog, QHBoxLayout, QProgressBar, QTextBrowser, QVBoxLayout, QWidget

from app.chat.links import follow_link
from app.chat.markdown_html import prose_html
from app.engine_calls import EngineCall
from app.hub_access import HUB_ADDRESS, hub_access
from app.services import Services
from app.theme import tokens
from app.widgets.buttons import button
from app.widgets.labels import label
from app.widgets.notice_bar import NoticeBar, NoticeKind
from app.wizard.card_text import readable_card
from engine.errors import EngineError

_SIZE = (760, 640)
_WRAPPED_PRE = '<pre style="white-space:pre-wrap; '


class CardDialog(QDialog):
    def __init__(self, services: Services, repo: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look = tokens()
        self._services = services
        self._repo = repo
        self._card: str | None = None
        self._call: EngineCall | None = None
        self.setWindowTitle(repo)
        self.resize(*_SIZE)
        self.notice = NoticeBar()
        self.notice.action_chosen.connect(self.ask)
        self._wait = QProgressBar()
        self._wait.setRange(0, 0)
        self._wait.setTextVisible(False)
        self._wait.setAccessibleName(self.tr("Fetching the description"))
        self.text = _Reader()
        self.text.setAccessibleName(self.tr("Description of {repo}").format(repo=repo))
        self.text.anchorClicked.connect(self._follow)
        self.page = button(self.tr("Open its page"), "quiet", icon_name="globe")
        self.page.setToolTip(self._address())
        self.page.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(self._address())))
        close = button(self.tr("Close"), "primary")
        close.clicked.connect(self.accept)
        foot = QHBoxLayout()
        foot.addWidget(self.page)
        foot.addStretch(1)
        foot.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(look.l, look.l, look.l, look.m)
        column.setSpacing(look.m)
        column.addWidget(label(repo, "title"))
        column.addWidget(self._wait)
        column.addWidget(self.notice)
        column.addWidget(self.text, 1)
        column.addLayout(foot)
        close.setFocus(Qt.FocusReason.OtherFocusReason)
        self.ask()

    def ask(self) -> None:
        """Of the hub, with what the settings say about reaching it."""
        self.notice.clear()
        self._wait.show()
        access = hub_access(self._services.settings, self._services.secrets)
        call = self._call = EngineCall(self._services.engine, "model_card", self._repo, access, parent=self)
        call.result.connect(self.show_card)
        call.failed.connect(self._show_failure)

    def show_card(self, card: str) -> None:
        self._wait.hide()
        self._card = readable_card(card)
        self._draw()

    def _draw(self) -> None:
        if self._card is None:
            return
        look = tokens()
        source = self._card or self.tr("Its publisher has written no description.")
        html = prose_html(source, look, _formula, self.tr("Copy")).replace('<pre style="', _WRAPPED_PRE)
        self.text.setHtml(html)
        self.text.space_paragraphs(look.s + look.xs)

    def _show_failure(self, error: EngineError) -> None:
        self._wait.hide()
        self.notice.show_error(NoticeKind.WARNING, error, action=self.tr("Try again"))

    def _follow(self, address: QUrl) -> None:
        if address.hasFragment() and address.isRelative():
            self.text.scrollToAnchor(address.fragment())
        elif address.scheme():
            follow_link(address.toString(), self)

    def _address(self) -> str:
        return f"{HUB_ADDRESS}/{self._repo}"

    def changeEvent(self, event: QEvent) -> None:
        """Colours are part of what is drawn."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            self._draw()


class _Reader(QTextBrowser):
    """Shows what it is given and loads nothing, neither from the network nor from this computer."""

    def __init__(self) -> None:
        super().__init__()
        self.setOpenLinks(False)
        self.setFrameShape(QTextBrowser.Shape.NoFrame)
        self.document().setDocumentMargin(tokens().m)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextBrowserInteraction | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )

    def space_paragraphs(self, gap: int) -> None:
        """Chat puts its parts below each other; here one document has them all."""
        block = self.document().begin()
        while block.isValid():
            cursor = QTextCursor(block)
            if not cursor.currentTable() and not block.textList():
                form = block.blockFormat()
                form.setBottomMargin(gap)
                cursor.setBlockFormat(form)
            block = block.next()

    def loadResource(self, type: int, name: QUrl | str) -> None:
        return None


def _formula(latex: str, _stands_alone: bool) -> str:
    """As it is written: a card is read once, the typesetter is slow to load."""
    return f'<code style="background-color:{tokens().code_background};">{escape(latex)}</code>'
