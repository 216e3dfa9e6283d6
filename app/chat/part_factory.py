"""Which widget draws which part, and what of it the transcript listens to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.chat.footer_view import FooterView, MessageAction
from app.chat.formulas import Formulas
from app.chat.live_view import LiveView
from app.chat.part_views import (
    CodeView,
    ErrorView,
    FilesView,
    ImagesView,
    NameView,
    PartView,
    ProseView,
    QuestionView,
    ThinkingHead,
)
from app.chat.parts import Part, PartKind
from app.chat.thumbnails import Thumbnails
from app.chat.transcript_item import TranscriptItem

if TYPE_CHECKING:
    from app.chat.transcript import Transcript


class PartFactory:
    def __init__(self, parent: QWidget, formulas: Formulas, thumbnails: Thumbnails) -> None:
        self._parent = parent
        self._formulas = formulas
        self._thumbnails = thumbnails

    def make(self, part: Part, item: TranscriptItem) -> PartView:
        view = self._bare(part.kind, item)
        view.set_part(part)
        return view

    def connect(self, view: PartView, transcript: Transcript, index: int, part: int) -> None:
        """``index`` and ``part`` say where the view stands as long as it lives."""
        message = transcript.message_at(index)
        if isinstance(view, FooterView):
            view.action_chosen.connect(lambda action: transcript.action_chosen.emit(message.id, action))
        elif isinstance(view, ErrorView):
            view.retry_asked.connect(lambda: transcript.action_chosen.emit(message.id, MessageAction.REGENERATE))
        elif isinstance(view, LiveView):
            view.stop_asked.connect(lambda: transcript.stop_asked.emit(message.id))
        elif isinstance(view, ImagesView):
            view.image_chosen.connect(transcript.image_chosen)
        elif isinstance(view, ThinkingHead):
            view.toggled.connect(lambda: transcript.toggle_thinking(index))
        elif isinstance(view, CodeView):
            view.copy_asked.connect(lambda: QGuiApplication.clipboard().setText(transcript.code_at(index, part)))

    def _bare(self, kind: PartKind, item: TranscriptItem) -> PartView:
        match kind:
            case PartKind.NAME:
                return NameView(self._parent)
            case PartKind.IMAGES:
                return ImagesView(self._parent, self._thumbnails)
            case PartKind.FILES:
                return FilesView(self._parent)
            case PartKind.QUESTION:
                return QuestionView(self._parent)
            case PartKind.THINKING_HEAD:
                return ThinkingHead(self._parent)
            case PartKind.CODE:
                return CodeView(self._parent)
            case PartKind.LIVE:
                return LiveView(self._parent, item.progress)
            case PartKind.ERROR:
                return ErrorView(self._parent)
            case PartKind.FOOTER:
                return FooterView(self._parent, item.message)
            case PartKind.PROSE | PartKind.FORMULA | PartKind.THINKING:
                return ProseView(self._parent, self._formulas)
