"""The chat page with a real store and queue and a fake engine: everything one does in a conversation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from app.background import wait_for_background
from app.chat.composer import ComposerMode
from app.chat.footer_view import MessageAction
from app.chat.overflow_dialog import OverflowDialog, larger_context
from app.conversations.records import AnswerState, Attachment, Draft
from engine.api import Message, ModelPlan
from engine.errors import ContextOverflow
from engine.events import Finished, Outcome, StopReason, TokenArrived
from tests.helpers.chat_page import Chat
from tests.helpers.chat_services import MODEL, add_chat, answer_request, chat_services, model_info
from tests.helpers.fake_engine import generation_result, layer_progress


@pytest.fixture
def chat(tmp_path: Path, qtbot: QtBot) -> Iterator[Chat]:
    with chat_services(tmp_path) as (services, engine):
        shown = Chat(services, engine, qtbot)
        yield shown
        shown.close()


def test_a_question_is_answered_and_both_are_kept(chat: Chat) -> None:
    chat.engine.answer_with("An oak is a tree")
    chat.write("Name a tree")
    chat.wait_for_end()
    assert chat.texts() == ["Name a tree", "An oak is a tree"]
    assert chat.page.title == "Name a tree"
    assert chat.page.transcript.message_at(1).state is AnswerState.DONE
    assert chat.page.composer.text.toPlainText() == ""


def test_something_changes_at_once_when_a_question_is_sent(chat: Chat) -> None:
    chat.write("Name a tree")
    assert chat.page.transcript.count == 2
    assert chat.page.composer.send.accessibleName() == "Stop the answer"


def test_the_live_line_and_the_words_follow_the_engine(chat: Chat) -> None:
    chat.write("Name a tree")
    request = chat.wait_for_request()
    chat.engine.send(request, layer_progress(2, 30, token_index=0))
    chat.engine.send(request, TokenArrived(0, 7, "An oak"))
    chat.page.transcript.flush_text()
    message_id = chat.page.desk.working_message
    assert message_id is not None
    assert chat.page.live.progress[message_id].line().startswith("Token 2")
    assert chat.page.transcript.message_at(1).text == "An oak"


def test_leaving_and_coming_back_loses_no_word_of_a_growing_answer(chat: Chat) -> None:
    chat.write("Name a tree")
    request = chat.wait_for_request()
    first = chat.page.desk.id
    chat.engine.send(request, TokenArrived(0, 7, "An "))
    chat.page.new_chat()
    chat.engine.send(request, TokenArrived(1, 8, "oak "))
    chat.page.open_conversation(str(first))
    chat.engine.send(request, TokenArrived(2, 9, "tree"))
    chat.page.transcript.flush_text()
    assert chat.page.transcript.message_at(1).text == "An oak tree"


def test_escape_stops_and_what_arrived_is_kept(chat: Chat) -> None:
    chat.write("Name a tree")
    request = chat.wait_for_request()
    chat.engine.send(request, TokenArrived(0, 7, "An oak"))
    chat.qtbot.keyClick(chat.page.composer.text, Qt.Key.Key_Escape)
    chat.wait_for_end()
    assert chat.texts() == ["Name a tree", "An oak"]
    assert chat.page.desk.messages()[-1].state is AnswerState.STOPPED


def test_another_chat_waits_for_the_first_one_by_name(chat: Chat) -> None:
    chat.write("First question")
    chat.wait_for_request()
    chat.page.new_chat()
    chat.write("Second question")
    waiting = chat.page.desk.working_message
    assert waiting is not None
    assert chat.page.live.progress[waiting].line() == "Waits for the answer in “First question”"


def test_answering_again_makes_a_version_and_the_arrows_walk_them(chat: Chat) -> None:
    chat.engine.answer_with("Oak")
    chat.write("Name a tree")
    chat.wait_for_end()
    chat.engine.answer_with("Elm")
    chat.page.desk.regenerate_last()
    chat.wait_for_end()
    last = chat.page.desk.messages()[-1]
    assert (last.text, last.version, last.versions) == ("Elm", 2, 2)
    chat.page.transcript.action_chosen.emit(last.id, MessageAction.OLDER)
    assert chat.texts()[-1] == "Oak"


def test_up_edits_the_last_question_into_a_new_version(chat: Chat) -> None:
    chat.engine.answer_with("Oak")
    chat.write("Name a tree")
    chat.wait_for_end()
    chat.qtbot.keyClick(chat.page.composer.text, Qt.Key.Key_Up)
    assert chat.page.composer.mode is ComposerMode.EDIT_QUESTION
    assert chat.page.composer.text.toPlainText() == "Name a tree"
    chat.engine.answer_with("Rose")
    chat.write("Name a flower")
    chat.wait_for_end()
    assert chat.texts() == ["Name a flower", "Rose"]
    assert chat.page.desk.messages()[0].versions == 2


def test_an_edit_that_is_given_up_leaves_the_draft_as_it_was(chat: Chat) -> None:
    conversation, messages = add_chat(chat.store, "Name a tree", "Oak")
    chat.page.open_conversation(str(conversation))
    chat.page.composer.text.set_text("half a thought")
    chat.page.transcript.action_chosen.emit(messages[0].id, MessageAction.EDIT)
    chat.qtbot.keyClick(chat.page.composer.text, Qt.Key.Key_Escape)
    assert chat.page.composer.text.toPlainText() == "half a thought"
    assert chat.texts() == ["Name a tree", "Oak"]


def test_an_edited_answer_is_a_version_and_nothing_is_asked(chat: Chat) -> None:
    conversation, messages = add_chat(chat.store, "Name a tree", "Oak")
    chat.page.open_conversation(str(conversation))
    chat.page.transcript.action_chosen.emit(messages[1].id, MessageAction.EDIT)
    chat.write("Elm, rather")
    assert chat.texts() == ["Name a tree", "Elm, rather"]
    assert chat.engine.asked("answer") == []


def test_a_deleted_message_comes_back_with_undo(chat: Chat) -> None:
    conversation, messages = add_chat(chat.store, "Name a tree", "Oak")
    chat.page.open_conversation(str(conversation))
    chat.page.transcript.action_chosen.emit(messages[1].id, MessageAction.DELETE)
    assert chat.texts() == ["Name a tree"]
    chat.page.notice.action_chosen.emit()
    assert chat.texts() == ["Name a tree", "Oak"]


def test_a_draft_is_kept_while_typing_and_found_again(chat: Chat) -> None:
    chat.page.composer.text.set_text("half a thought")
    chat.page.composer.files.add(Attachment("notes.txt", "abc"))
    chat.qtbot.waitUntil(lambda: chat.page.desk.id is not None)
    wait_for_background()
    again = chat.new_page()
    assert again.composer.draft == Draft("half a thought", (Attachment("notes.txt", "abc"),))


def test_the_next_start_shows_what_was_read_last(chat: Chat) -> None:
    add_chat(chat.store, "One", "1")
    conversation, _ = add_chat(chat.store, "Two", "2")
    add_chat(chat.store, "Three", "3")
    chat.page.open_conversation(str(conversation))
    assert chat.new_page().title == "Two"


def test_files_dropped_or_pasted_go_with_the_question(chat: Chat, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,2")
    picture = tmp_path / "photo.png"
    picture.write_bytes(b"\x89PNG\x00\x00")
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)), QUrl.fromLocalFile(str(picture))])
    chat.page.composer.text.insertFromMimeData(mime)
    chat.qtbot.waitUntil(lambda: "photo.png" in chat.page.notice.message())
    chat.write("Sum it up")
    chat.wait_for_request()
    (sent,) = answer_request(chat.engine).args[0]
    assert sent == Message("user", "File “data.csv”:\n```\na,b\n1,2\n```\n\nSum it up")


def test_shift_enter_begins_a_line_and_sends_nothing(chat: Chat) -> None:
    edit = chat.page.composer.text
    edit.set_text("one")
    height = edit.height()
    chat.qtbot.keyClick(edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert edit.toPlainText() == "one\n"
    assert edit.height() > height
    assert chat.engine.asked("answer") == []


def test_tokens_are_counted_after_a_pause(chat: Chat) -> None:
    chat.page.composer.text.set_text("one two three")
    chat.qtbot.waitUntil(chat.page.composer.meter.isVisible)
    assert chat.page.composer.meter.accessibleName() == "3 of 8192 tokens of the context are used"


@pytest.mark.qt_log_ignore("This plugin does not support grabbing the keyboard", extend=True)
def test_the_picker_finds_and_chooses_a_model(chat: Chat) -> None:
    other = model_info("owner--huge@01234567", "owner/Huge-70B")
    broken = model_info("owner--cut@01234567", "owner/Cut", state="unfinished")
    chat.engine.reply("list_models", [model_info(), other, broken])
    chat.page.models.refresh()
    chat.qtbot.waitUntil(lambda: len(chat.page.models.models) == 3)
    picker = chat.page.picker
    picker.search.setText("70b")
    assert [picker.list.item(row).text() for row in range(picker.list.count())] == ["Huge-70B"]
    chat.qtbot.keyClick(picker.search, Qt.Key.Key_Return)
    assert chat.page.desk.conversation.model == other.name
    assert "Huge-70B" in chat.page.composer.model.text()
    chat.page.choose_model()
    chat.qtbot.keyClick(picker.search, Qt.Key.Key_Escape)
    assert picker.isHidden()
    picker.search.setText("cut")
    chat.qtbot.keyClick(picker.search, Qt.Key.Key_Return)
    assert chat.page.desk.conversation.model == other.name


def test_the_thinking_switch_is_there_only_where_the_model_has_one(chat: Chat) -> None:
    assert chat.page.composer.thinking.isHidden()
    chat.engine.reply("list_models", [model_info(has_thinking_switch=True)])
    chat.page.models.refresh()
    chat.qtbot.waitUntil(lambda: not chat.page.composer.thinking.isHidden())
    chat.page.composer.thinking.click()
    chat.write("Quick")
    chat.wait_for_request()
    assert answer_request(chat.engine).kwargs["thinking"] is False


def test_without_a_model_the_page_says_so_and_leads_to_one(chat: Chat) -> None:
    chat.engine.reply("list_models", [])
    chat.page.models.refresh()
    chat.qtbot.waitUntil(lambda: not chat.page.models.models)
    with chat.qtbot.waitSignal(chat.page.navigate) as went:
        chat.page.empty.add_model.click()
    assert went.args == ["wizard"]
    chat.page.composer.text.set_text("Hello")
    assert not chat.page.composer.send.isEnabled()


def test_options_are_this_chats_own(chat: Chat) -> None:
    first, _ = add_chat(chat.store, "One", "1")
    second, _ = add_chat(chat.store, "Two", "2")
    chat.page.open_conversation(str(first))
    chat.page.options.rows["temperature"].box.setValue(0.3)
    chat.page.options.rows["seed"].box.setValue(7)
    chat.page.options.prompt.setPlainText("Be brief.")
    chat.page.open_conversation(str(second))
    assert chat.page.options.prompt.toPlainText() == ""
    assert chat.page.options.sampling.temperature is None
    chat.page.open_conversation(str(first))
    kept = chat.page.desk.conversation
    assert (kept.system_prompt, kept.sampling.temperature, kept.sampling.seed) == ("Be brief.", 0.3, 7)
    chat.page.options.rows["temperature"].reset.click()
    assert chat.page.desk.conversation.sampling.temperature is None


def test_a_preset_brings_its_prompt_and_sampling(chat: Chat) -> None:
    chat.page.options.prompt.setPlainText("Be brief.")
    chat.page.options.rows["top_k"].box.setValue(5)
    chat.page.options.preset_saved.emit("Terse")
    chat.page.new_chat()
    chat.page.options._choose_preset(1)
    conversation = chat.page.desk.conversation
    assert (conversation.system_prompt, conversation.sampling.top_k) == ("Be brief.", 5)


def overflow(chat: Chat) -> OverflowDialog:
    conversation, _ = add_chat(chat.store, *[f"text {number}" for number in range(8)])
    chat.page.open_conversation(str(conversation))
    chat.engine.reply("answer", ContextOverflow("Too long.", need=9000, have=8192))
    chat.write("The last question")
    chat.qtbot.waitUntil(lambda: bool(chat.page.findChildren(OverflowDialog)))
    return chat.page.findChildren(OverflowDialog)[-1]


def test_a_full_context_drops_nothing_before_it_was_chosen(chat: Chat) -> None:
    dialog = overflow(chat)
    assert chat.page.desk.conversation.context_start_id is None
    chat.engine.reply_nothing("answer")
    dialog._decide()
    chat.wait_for_request()
    sent = answer_request(chat.engine).args[0]
    assert sent[0] != Message("user", "text 0")
    assert sent[-1] == Message("user", "The last question")
    assert len(chat.texts()) == 10


def test_a_full_context_goes_on_in_a_new_chat_with_the_edited_summary(chat: Chat) -> None:
    dialog = overflow(chat)
    old = chat.page.desk.id
    chat.engine.reply_nothing("answer")
    dialog.fresh.setChecked(True)
    dialog.summary.setPlainText("We spoke of trees.")
    dialog._decide()
    chat.wait_for_request()
    assert chat.page.desk.id != old
    assert answer_request(chat.engine).args[0] == (Message("user", "We spoke of trees.\n\nThe last question"),)


def test_more_room_is_offered_with_its_price_and_loads_the_model_anew(chat: Chat) -> None:
    chat.engine.reply("plan", lambda request: larger_plan(request.args[1].context))
    chat.engine.reply("answer", ContextOverflow("Too long.", need=5000, have=4096))
    chat.write("A long question")
    chat.qtbot.waitUntil(lambda: bool(chat.page.findChildren(OverflowDialog)))
    dialog = chat.page.findChildren(OverflowDialog)[-1]
    chat.qtbot.waitUntil(dialog.larger.isVisible)
    assert dialog.larger.text() == "Make room for 7,168 tokens"
    assert "1.50 GB" in dialog._larger_price.text()
    assert "2.0 s" in dialog._larger_price.text()
    chat.engine.answer_with("An oak")
    dialog.larger.setChecked(True)
    dialog._decide()
    chat.wait_for_end()
    assert chat.texts() == ["A long question", "An oak"]
    assert [request.args[1].context for request in chat.engine.asked("load")] == [None, 7168]


def test_more_room_is_not_offered_where_the_model_itself_holds_no_more(chat: Chat) -> None:
    dialog = overflow(chat)
    chat.qtbot.wait(20)
    assert not chat.engine.asked("plan")
    assert dialog.larger.isHidden()


@pytest.mark.parametrize(
    ("need", "have", "limit", "tokens"),
    [(5000, 4096, None, 7168), (5000, 4096, 6000, 6000), (5000, 4096, 5000, None), (9000, 8192, 8192, None)],
)
def test_more_room_holds_the_conversation_and_an_answer(
    need: int, have: int, limit: int | None, tokens: int | None
) -> None:
    assert larger_context(need, have, limit) == tokens


def larger_plan(context: int) -> ModelPlan:
    return ModelPlan(
        MODEL, "LlamaForCausalLM", "bfloat16", 32, True, 0, 0, 0, 10**12, "cpu", 0, 0, 0, 0, 1_500_000_000, context,
        1e9, 2.0,
    )  # fmt: skip


def test_a_dead_engine_costs_no_word(chat: Chat) -> None:
    chat.write("Name a tree")
    request = chat.wait_for_request()
    chat.engine.send(request, TokenArrived(0, 7, "An "))
    chat.engine.die()
    chat.qtbot.waitUntil(lambda: len(chat.engine.asked("answer")) == 2)
    again = chat.wait_for_request()
    chat.engine.send(again, TokenArrived(1, 8, "oak"))
    tokens = [TokenArrived(1, 8, "oak")]
    chat.engine.send(
        again, Finished(Outcome.DONE, generation_result(tokens, StopReason.STOP_TOKEN, (7,), text="An oak"))
    )
    chat.wait_for_end()
    assert chat.texts() == ["Name a tree", "An oak"]


def test_a_link_is_shown_before_it_is_opened(chat: Chat) -> None:
    chat.page.transcript.link_chosen.emit("https://example.org/long/address")
    (question,) = chat.page.findChildren(QMessageBox)
    assert "https://example.org/long/address" in question.informativeText()
    question.reject()


def test_keys_of_the_page_do_what_the_table_says(chat: Chat) -> None:
    conversation, _ = add_chat(chat.store, "Name a tree", "<think>hm</think>\n\nOak")
    chat.page.open_conversation(str(conversation))
    actions = {each.objectName(): each for each in chat.page.actions()}
    actions["copy_last"].trigger()
    assert QGuiApplication.clipboard().text() == "Oak"
    actions["find_in_chat"].trigger()
    assert chat.page.find_bar.isVisible()
    chat.page.find_bar.field.setText("oak")
    chat.qtbot.keyClick(chat.page.find_bar.field, Qt.Key.Key_Escape)
    assert not chat.page.find_bar.isVisible()
    actions["regenerate"].trigger()
    assert chat.page.desk.working_message is not None


def test_every_control_has_a_name(chat: Chat) -> None:
    from PySide6.QtWidgets import QAbstractButton, QComboBox, QLineEdit, QPlainTextEdit

    conversation, _ = add_chat(chat.store, "Name a tree", "```python\nx = 1\n```")
    chat.page.open_conversation(str(conversation))
    for kind in (QAbstractButton, QLineEdit, QComboBox, QPlainTextEdit):
        for each in chat.page.findChildren(kind):
            if each.objectName() not in {"qt_spinbox_lineedit", "qt_toolbar_ext_button"} and each.isVisibleTo(
                chat.page
            ):
                assert each.accessibleName(), each


def test_the_model_of_an_answer_is_remembered(chat: Chat) -> None:
    chat.engine.answer_with("Oak")
    chat.write("Name a tree")
    chat.wait_for_end()
    assert chat.page.desk.messages()[-1].model == MODEL
