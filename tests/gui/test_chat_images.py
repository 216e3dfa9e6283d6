"""Images in a chat: pasted and dropped, kept with the draft, shown, sent, but not to a model that reads text only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QColor, QDragEnterEvent, QDropEvent, QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.background import wait_for_background
from app.chat.composer import ComposerMode
from app.chat.footer_view import MessageAction
from app.chat.image_views import ImageButton, ImageDialog
from app.conversations.records import StoredImage
from engine.api import Message
from tests.helpers.chat_page import Chat
from tests.helpers.chat_services import MODEL, answer_request, chat_services, model_info

SEEING = replace(model_info(), accepts_images=True)


@pytest.fixture
def chat(tmp_path: Path, qtbot: QtBot) -> Iterator[Chat]:
    with chat_services(tmp_path) as (services, engine):
        engine.reply("list_models", [SEEING])
        shown = Chat(services, engine, qtbot)
        yield shown
        shown.close()


def photo(path: Path, colour: str = "teal") -> Path:
    image = QImage(400, 300, QImage.Format.Format_RGB32)
    image.fill(QColor(colour))
    assert image.save(str(path))
    return path


def drop(chat: Chat, *paths: Path) -> tuple[StoredImage, ...]:
    """Onto the composer; what it holds when all are read."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    chat.page.composer.take_from(data)
    chat.qtbot.waitUntil(lambda: not chat.page.attach.attaching.is_busy)
    return chat.page.composer.draft.images


def pictures(chat: Chat) -> list[ImageButton]:
    return [each for each in chat.page.transcript.findChildren(ImageButton) if each.isVisible()]


def test_a_dropped_image_is_sent_shown_and_kept(chat: Chat, tmp_path: Path) -> None:
    (image,) = drop(chat, photo(tmp_path / "boat.png"))
    chat.write("What is this?")
    chat.wait_for_request()
    asked = answer_request(chat.engine).args[0]
    assert asked == (Message("user", "What is this?", (chat.store.images.path(image.file),)),)
    assert chat.page.desk.messages()[0].images == (image,)
    assert [each.image for each in pictures(chat)] == [image]
    assert pictures(chat)[0].accessibleName() == "Image boat.png"
    assert chat.page.composer.draft.is_empty


def test_an_image_alone_is_a_question(chat: Chat, tmp_path: Path) -> None:
    drop(chat, photo(tmp_path / "boat.png"))
    chat.page.composer.send.click()
    chat.wait_for_request()
    assert chat.page.title == "boat.png"
    assert chat.texts()[0] == ""


def test_a_pasted_picture_is_attached_and_pasted_text_stays_text(chat: Chat, tmp_path: Path) -> None:
    picture, text = QMimeData(), QMimeData()
    picture.setImageData(QImage(str(photo(tmp_path / "boat.png"))))
    text.setText("words")
    text.setImageData(QImage(str(tmp_path / "boat.png")))
    chat.page.composer.text.insertFromMimeData(text)
    chat.page.composer.text.insertFromMimeData(picture)
    chat.qtbot.waitUntil(lambda: len(chat.page.composer.draft.images) == 1)
    assert chat.page.composer.draft.text == "words"
    assert chat.page.composer.draft.images[0].name == "Pasted image"


def test_nothing_is_sent_while_a_file_is_still_being_read(chat: Chat, tmp_path: Path) -> None:
    chat.page.composer.attach_files([photo(tmp_path / "boat.png")])
    chat.write("What is this?")
    assert chat.page.transcript.count == 0
    chat.qtbot.waitUntil(lambda: bool(chat.page.composer.draft.images))
    chat.qtbot.keyClick(chat.page.composer.text, Qt.Key.Key_Return)
    assert len(chat.page.desk.messages()[0].images) == 1


def test_an_image_can_be_taken_off_and_the_same_one_is_there_once(chat: Chat, tmp_path: Path) -> None:
    (image,) = drop(chat, photo(tmp_path / "boat.png"), tmp_path / "boat.png")
    chat.page.composer.files.remove(image)
    assert chat.page.composer.draft.images == ()


def test_a_draft_keeps_its_images_over_a_restart(chat: Chat, tmp_path: Path) -> None:
    images = drop(chat, photo(tmp_path / "boat.png"), photo(tmp_path / "sea.png", "navy"))
    chat.page.composer.keep_draft()
    wait_for_background()
    again = chat.new_page()
    assert again.composer.draft.images == images
    assert len(images) == 2


def test_a_question_is_edited_with_its_images(chat: Chat, tmp_path: Path) -> None:
    chat.engine.answer_with("A boat")
    (image,) = drop(chat, photo(tmp_path / "boat.png"))
    chat.write("What is this?")
    chat.wait_for_end()
    chat.page.transcript.action_chosen.emit(chat.page.desk.messages()[0].id, MessageAction.EDIT)
    assert chat.page.composer.mode is ComposerMode.EDIT_QUESTION
    assert chat.page.composer.draft.images == (image,)
    chat.write("And this?")
    chat.wait_for_end()
    assert chat.page.desk.messages()[0].images == (image,)
    assert chat.page.desk.messages()[0].version == 2


def test_pressing_an_image_shows_it_larger(chat: Chat, tmp_path: Path) -> None:
    drop(chat, photo(tmp_path / "boat.png"))
    chat.write("What is this?")
    pictures(chat)[0].click()
    dialog = chat.page.findChild(ImageDialog)
    assert isinstance(dialog, ImageDialog)
    chat.qtbot.waitUntil(lambda: not dialog.view._picture.isNull())
    assert dialog.windowTitle() == "boat.png"
    chat.qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    chat.qtbot.waitUntil(lambda: chat.page.findChild(ImageDialog) is None)


def test_a_model_that_reads_text_only_is_not_asked_about_an_image(chat: Chat, tmp_path: Path) -> None:
    drop(chat, photo(tmp_path / "boat.png"))
    chat.engine.reply("list_models", [model_info()])
    chat.page.models.refresh()
    chat.qtbot.waitUntil(lambda: chat.page.models.find(MODEL) == model_info())
    chat.write("What is this?")
    assert chat.page.transcript.count == 0
    assert chat.page.notice.message() == "tiny reads text only."


def test_earlier_images_are_left_out_for_a_model_that_reads_text_only_and_that_is_said(
    chat: Chat, tmp_path: Path
) -> None:
    chat.engine.answer_with("A boat")
    drop(chat, photo(tmp_path / "boat.png"))
    chat.write("What is this?")
    chat.wait_for_end()
    chat.engine.reply("list_models", [model_info()])
    chat.page.models.refresh()
    chat.qtbot.waitUntil(lambda: chat.page.composer.hint != "")
    assert "not given the images" in chat.page.composer.hint
    chat.engine.reply_nothing("answer")
    chat.write("Sure?")
    chat.wait_for_request()
    assert [each.images for each in answer_request(chat.engine).args[0]] == [(), (), ()]
    unfinished = chat.store.unfinished_answers()
    assert [each.images for each in unfinished[0].messages] == [(), (), ()]


def test_files_can_be_dropped_anywhere_on_the_page(chat: Chat, tmp_path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(photo(tmp_path / "boat.png")))])
    how = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    entered = QDragEnterEvent(QPoint(10, 10), *how)
    QApplication.sendEvent(chat.page, entered)
    assert entered.isAccepted()
    QApplication.sendEvent(chat.page, QDropEvent(QPointF(10, 10), *how))
    chat.qtbot.waitUntil(lambda: len(chat.page.composer.draft.images) == 1)
