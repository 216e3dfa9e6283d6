"""The page where one chats: puts transcript, composer, options and model picker together around the open conversation.

Owns which widget tells what to whom. What a deed does to a conversation is ``app.chat.chat_desk``'s.
"""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QEvent, QTimer, Signal, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.chat.attach_deeds import AttachDeeds
from app.chat.chat_desk import ChatDesk
from app.chat.composer import Composer, ComposerMode
from app.chat.empty_chat import EmptyChat
from app.chat.find_bar import FindBar
from app.chat.formulas import Formulas
from app.chat.links import follow_link
from app.chat.live_answers import LiveAnswers
from app.chat.message_deeds import MessageDeeds
from app.chat.model_list import ModelList
from app.chat.model_picker import ModelPicker
from app.chat.options_panel import OptionsPanel
from app.chat.thumbnails import Thumbnails
from app.chat.token_count import TokenCount
from app.chat.transcript import Transcript
from app.chat.ways_out import WaysOut
from app.conversations.records import Draft, Preset, StoredMessage
from app.model_names import model_title
from app.services import Services
from app.settings import RAM_BUDGET, VRAM_BUDGET
from app.shortcuts import add_action
from app.theme import tokens
from app.widgets.buttons import icon_button
from app.widgets.labels import ElidedLabel
from app.widgets.notice_bar import NoticeBar, NoticeKind
from app.widgets.side_panel import SidePanel
from engine.api import LoadOptions, ModelInfo
from engine.errors import CodeNotAllowed, ContextOverflow, EngineError

_WARM_UP_MS = 4000
_NARROWEST = 440
"""A conversation beside the options."""


class ChatPage(QWidget):
    navigate = Signal(str)
    title_changed = Signal()

    def __init__(self, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._services = services
        self._store = services.conversations
        self._queue = services.answers
        self.models = ModelList(services.engine, self._load_options, self)
        self.desk = ChatDesk(self._store, self._queue, self._default_model, self._is_blind, self)
        self.live = LiveAnswers(self._queue, services.engine, self._store, self._chat_title_of, self)
        self.count = TokenCount(services.engine, self)
        self.heading = ElidedLabel("", "title")
        self.notice = NoticeBar()
        self.find_bar = FindBar()
        self.empty = EmptyChat()
        self.thumbnails = Thumbnails(self._store.images, self)
        self.transcript = Transcript(Formulas(), self.thumbnails)
        self.composer = Composer(self.thumbnails)
        self.options = OptionsPanel()
        self.picker = ModelPicker(self)
        self._middle = QStackedWidget()
        self.deeds = MessageDeeds(self.desk, self._store, self.composer, self.transcript, self.notice, self)
        self.attach = AttachDeeds(self._store.images, self.composer, self.transcript, self.notice, self)
        self._ways_out = WaysOut(self.desk, self._queue, services.engine)
        self._has_opened = False
        self._early: Draft | None = None
        """Sent before the engine said which models there are."""
        QTimer.singleShot(_WARM_UP_MS, self, Formulas.warm_up)
        self._lay_out()
        self._wire()
        self._add_actions()

    @property
    def title(self) -> str:
        return self.desk.conversation.title or self.tr("New chat")

    def open(self) -> None:
        """The page is about to be seen. The first time it shows what was read last."""
        self.models.refresh()
        if not self._has_opened:
            self._has_opened = True
            last = self._store.last_opened_id()
            if last is not None:
                self.desk.open(last)
            else:
                self.desk.open_new()
        self.composer.text.setFocus()

    def open_conversation(self, conversation_id: str) -> None:
        """One that is gone opens a new chat."""
        self._has_opened = True
        wanted = int(conversation_id)
        if self._store.conversation(wanted) is None:
            self.desk.open_new()
        elif wanted != self.desk.id:
            self.composer.keep_draft()
            self.options.keep_if_waiting()
            self.desk.open(wanted)

    def new_chat(self) -> None:
        self._has_opened = True
        self.composer.keep_draft()
        self.options.keep_if_waiting()
        self.desk.open_new()
        self.composer.text.setFocus()

    # Putting together

    def _lay_out(self) -> None:
        look = tokens()
        head = QHBoxLayout()
        head.setContentsMargins(look.l, look.s, look.s, look.s)
        self._search = icon_button("search", self.tr("Find in this chat"), size=18)
        self._panel_button = icon_button("sliders", self.tr("Options of this chat"), size=18)
        self._panel_button.setCheckable(True)
        head.addWidget(self.heading, 1)
        head.addWidget(self._search)
        head.addWidget(self._panel_button)
        notices = QVBoxLayout()
        notices.setContentsMargins(look.l, 0, look.l, 0)
        notices.addWidget(self.notice)
        self._middle.addWidget(self.empty)
        self._middle.addWidget(self.transcript)
        foot = QHBoxLayout()
        foot.setContentsMargins(look.l, look.s, look.l, look.m)
        foot.addStretch(1)
        foot.addWidget(self.composer, 1000)
        foot.addStretch(1)
        self.composer.setMaximumWidth(look.reading_width + look.xl)
        middle = QWidget()
        centre = QVBoxLayout(middle)
        centre.setContentsMargins(0, 0, 0, 0)
        centre.setSpacing(0)
        centre.addLayout(head)
        centre.addWidget(self.find_bar)
        centre.addLayout(notices)
        centre.addWidget(self._middle, 1)
        centre.addLayout(foot)
        whole = QHBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        self.options.hide()
        whole.addWidget(SidePanel(middle, self.options, _NARROWEST))

    def _wire(self) -> None:
        self.desk.opened.connect(self._show_conversation)
        self.desk.changed.connect(self._show_changes)
        self.desk.options_changed.connect(self._show_options)
        self.desk.title_changed.connect(self._show_title)
        self.models.changed.connect(self._show_options)
        self.models.changed.connect(self._send_early)
        self.models.failed.connect(self._show_error)
        self._queue.model_changed.connect(self.models.take_loaded)
        self.count.counted.connect(self.composer.meter.show_tokens)
        self.live.text_arrived.connect(self.transcript.append_text)
        self._queue.answer_started.connect(self._refresh_message)
        self._queue.answer_finished.connect(self._take_end)
        self._queue.answer_failed.connect(self._take_failure)
        self._queue.queue_changed.connect(self._show_working)
        self.transcript.stop_asked.connect(self.desk.stop)
        self.transcript.link_chosen.connect(lambda address: follow_link(address, self))
        self.transcript.typed.connect(self.composer.text.type_text)
        self._wire_composer()
        self._wire_options()
        self._search.clicked.connect(self.find_bar.open_bar)
        self.find_bar.words_changed.connect(lambda words: self.find_bar.show_found(self.transcript.mark_words(words)))
        self.find_bar.message_wanted.connect(self.transcript.show_message)
        self.find_bar.closed.connect(self.transcript.setFocus)
        self.empty.example_chosen.connect(self.composer.text.set_text)
        self.empty.example_chosen.connect(self.composer.text.setFocus)
        self.empty.add_model_asked.connect(lambda: self.navigate.emit("wizard"))

    def _wire_composer(self) -> None:
        self.composer.send_asked.connect(self._send)
        self.composer.stop_asked.connect(self.desk.stop)
        self.composer.draft_changed.connect(self.desk.save_draft)
        self.composer.draft_changed.connect(self._count)
        self.composer.thinking_chosen.connect(self.desk.set_thinking)
        self.composer.model_button_pressed.connect(self.choose_model)
        self.picker.chosen.connect(self._choose_model)
        self.attach.model_wanted.connect(self.choose_model)
        self.picker.add_asked.connect(lambda: self.navigate.emit("wizard"))

    def _wire_options(self) -> None:
        self._panel_button.clicked.connect(lambda: self.options.setVisible(self._panel_button.isChecked()))
        self.options.closed.connect(self._close_options)
        self.options.system_prompt_changed.connect(self.desk.set_system_prompt)
        self.options.sampling_changed.connect(self.desk.set_sampling)
        self.options.preset_chosen.connect(self._apply_preset)
        self.options.preset_saved.connect(self._save_preset)
        self.options.preset_removed.connect(self._remove_preset)
        self.options.show_presets(self._store.presets())

    def _add_actions(self) -> None:
        add_action(self, "find_in_chat", self.find_bar.open_bar)
        add_action(self, "choose_model", self.choose_model)
        add_action(self, "stop", self._escape)
        add_action(self, "regenerate", self.desk.regenerate_last)
        add_action(self, "copy_last", self.deeds.copy_last)

    # Showing

    @Slot()
    def _show_conversation(self) -> None:
        """Another one was opened."""
        self.deeds.forget_deleted()
        self.notice.clear()
        self.attach.forget()
        self.composer.meter.show_tokens(None, None)
        if self.find_bar.isVisible():
            self.find_bar.close_bar()
        self.composer.set_draft(self.desk.draft())
        self.transcript.set_messages(self._messages(), self.live.progress)
        self._after_change()
        self._show_options()

    @Slot()
    def _show_changes(self) -> None:
        self.transcript.change_messages(self._messages(), self.live.progress)
        self._after_change()

    def _after_change(self) -> None:
        self._middle.setCurrentWidget(self.transcript if self.transcript.count else self.empty)
        self._show_title()
        self._search.setVisible(self.transcript.count > 0)
        self.attach.show_chat(self.desk.messages())
        self._show_working()
        self._count()

    @Slot()
    def _show_title(self) -> None:
        self.heading.set_text(self.title if self.transcript.count else "")
        self.title_changed.emit()

    def _messages(self) -> list[StoredMessage]:
        """With the words of a growing answer that are not on the disk yet."""
        return [
            each if (text := self.live.text_of(each.id)) is None else replace(each, text=text)
            for each in self.desk.messages()
        ]

    @Slot()
    def _show_options(self) -> None:
        conversation = self.desk.conversation
        name = conversation.model or self._default_model()
        info = self.models.find(name)
        title = model_title(info.title if info else name)
        self.composer.show_model(title)
        self.composer.set_can_send(bool(name))
        has_switch = info is not None and info.has_thinking_switch
        self.composer.show_thinking((conversation.thinking is not False) if has_switch else None)
        self.empty.show_model(title, is_known=self.models.is_known)
        self.attach.show_model(title, info.accepts_images if info else None)
        self.attach.show_chat(self.desk.messages())
        self.options.show_options(conversation.system_prompt, conversation.sampling)
        self._show_picker()
        self._count()

    def _show_picker(self) -> None:
        """With what a token took last time, or what it should take where that is not known."""
        paces = {
            each.name: self._store.measured_s_per_token(each.name) or self.models.predicted_s_per_token(each.name)
            for each in self.models.models
        }
        known = {name: pace for name, pace in paces.items() if pace is not None}
        name = self.desk.conversation.model or self._default_model()
        self.picker.show_models(self.models.models, name, known)

    @Slot()
    def _show_working(self) -> None:
        self.live.refresh_waiting()
        self.composer.set_working(self.desk.working_message is not None)

    @Slot(int)
    def _refresh_message(self, message_id: int) -> None:
        message = self._store.message(message_id)
        if message is not None and message.conversation_id == self.desk.id:
            text = self.live.text_of(message_id)
            self.transcript.update_message(message if text is None else replace(message, text=text))
            self._show_working()
            self._count()

    @Slot(int, object)
    def _take_end(self, message_id: int, result: object) -> None:
        self._refresh_message(message_id)

    @Slot(int, object)
    def _take_failure(self, message_id: int, error: EngineError) -> None:
        self._refresh_message(message_id)
        message = self._store.message(message_id)
        is_here = message is not None and message.conversation_id == self.desk.id
        if is_here and isinstance(error, ContextOverflow):
            model = self.models.find(self.desk.conversation.model or self._default_model())
            self._ways_out.offer(message_id, error, model, self)
        elif is_here and isinstance(error, CodeNotAllowed) and self.isVisible():
            self._ways_out.ask_about_code(message_id, error, self)

    def _count(self) -> None:
        """Tokens of the conversation with what is being written."""
        info = self.models.find(self.desk.conversation.model or self._default_model())
        self.count.ask(self.desk.conversation, self.desk.messages(), self.composer.draft, info)

    # Deeds

    def _send(self, draft: Draft) -> None:
        if not (self.desk.conversation.model or self._default_model()):
            self._wait_for_model(draft)
            return
        if self.attach.refuses(draft):
            return
        self.options.keep_if_waiting()
        self.composer.clear()
        self.desk.send(draft)
        self.transcript.jump_to_end()

    def _wait_for_model(self, draft: Draft) -> None:
        """Just after the start the engine is not asked yet; later, somebody without a model has to choose one."""
        if self.models.is_known:
            self.choose_model()
            return
        self._early = draft
        self.notice.show_notice(NoticeKind.INFO, self.tr("Your message is sent as soon as the engine is ready."))

    @Slot()
    def _send_early(self) -> None:
        """Unless it was changed since."""
        draft, self._early = self._early, None
        if draft is not None:
            self.notice.clear()
            if draft == self.composer.draft:
                self._send(draft)

    def _escape(self) -> None:
        """Leaves the innermost thing; with nothing to leave it stops the answer."""
        if self.picker.isVisible():
            self.picker.hide()
        elif self.find_bar.isVisible() and self.find_bar.field.hasFocus():
            self.find_bar.close_bar()
        elif self.composer.mode is not ComposerMode.WRITE:
            self.composer.cancel_edit()
        elif not self.transcript.clear_selection():
            self.desk.stop()

    def choose_model(self) -> None:
        """Opens the picker."""
        self.models.refresh()
        self.models.ask_plans()
        self._show_picker()
        self.picker.open_above(self.composer.model)

    def _choose_model(self, model: ModelInfo) -> None:
        self.desk.set_model(model.name)
        self.composer.text.setFocus()

    def _close_options(self) -> None:
        self.options.hide()
        self._panel_button.setChecked(False)
        self._panel_button.setFocus()

    def _apply_preset(self, preset: Preset) -> None:
        self.desk.set_system_prompt(preset.system_prompt)
        self.desk.set_sampling(preset.sampling)

    def _save_preset(self, name: str) -> None:
        self._store.save_preset(name, self.options.prompt.toPlainText(), self.options.sampling)
        self.options.show_presets(self._store.presets())

    def _remove_preset(self, preset_id: int) -> None:
        self._store.remove_preset(preset_id)
        self.options.show_presets(self._store.presets())

    @Slot(object)
    def _show_error(self, error: EngineError) -> None:
        self.notice.show_error(NoticeKind.WARNING, error)

    def showEvent(self, event: QShowEvent) -> None:
        """The chat goes on being read; it may have been deleted while another page was shown."""
        super().showEvent(event)
        if self.desk.id is None:
            return
        if self._store.conversation(self.desk.id) is None:
            self.desk.open_new()
        else:
            self._store.open_conversation(self.desk.id)

    def hideEvent(self, event: QHideEvent) -> None:
        """Nobody reads it now: an answer that ends meanwhile is a new one, and no chat is marked as open."""
        super().hideEvent(event)
        self.composer.keep_draft()
        self.options.keep_if_waiting()
        self._store.open_conversation(None)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        # Another scale comes with another style sheet.
        if event.type() is QEvent.Type.StyleChange:
            self.composer.setMaximumWidth(tokens().reading_width + tokens().xl)

    # What others ask

    def _default_model(self) -> str:
        found = self.models.first_ready()
        return found.name if found else ""

    def _is_blind(self, name: str) -> bool:
        """Known to read text only."""
        info = self.models.find(name)
        return info is not None and not info.accepts_images

    def _chat_title_of(self, message_id: int) -> str:
        message = self._store.message(message_id)
        conversation = self._store.conversation(message.conversation_id) if message else None
        return conversation.title if conversation else ""

    def _load_options(self) -> LoadOptions:
        settings = self._services.settings
        return LoadOptions(vram=settings.value(VRAM_BUDGET), ram=settings.value(RAM_BUDGET))
