"""Files and images on their way into a message: read in the background, kept once, refused with one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, QSize
from PySide6.QtGui import QColor, QImage, QImageWriter
from pytestqt.qtbot import QtBot

from app.chat.attaching import Attaching
from app.chat.text_files import MAX_BYTES
from app.chat.thumbnails import read_scaled
from app.conversations.images import ImageFolder
from app.conversations.records import Attachment, StoredImage
from engine.errors import EngineError


class Given:
    """What came of the files, in order."""

    def __init__(self, attaching: Attaching) -> None:
        self.things: list[Attachment | StoredImage | EngineError] = []
        for signal in (attaching.file_read, attaching.image_read, attaching.refused):
            signal.connect(self.things.append)


@pytest.fixture
def folder(tmp_path: Path) -> ImageFolder:
    return ImageFolder(tmp_path / "images")


@pytest.fixture
def attaching(folder: ImageFolder, qtbot: QtBot) -> Iterator[Attaching]:
    parent = QObject()
    made = Attaching(folder, parent)
    made.set_blind_model(None)
    yield made
    del parent


def picture(width: int = 40, height: int = 30) -> QImage:
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(QColor("teal"))
    return image


def save(path: Path, *, width: int = 40, height: int = 30) -> Path:
    assert picture(width, height).save(str(path))
    return path


def read(attaching: Attaching, qtbot: QtBot, *paths: Path) -> list[Attachment | StoredImage | EngineError]:
    given = Given(attaching)
    attaching.take_files(paths)
    qtbot.waitUntil(lambda: not attaching.is_busy)
    return given.things


def test_files_come_in_the_order_they_were_given_whatever_they_are(
    attaching: Attaching, folder: ImageFolder, tmp_path: Path, qtbot: QtBot
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_bytes("\ufeffGrüße\r\n你好".encode())
    photo = save(tmp_path / "photo.jpg")
    text, image = read(attaching, qtbot, notes, photo)
    assert text == Attachment("notes.txt", "Grüße\n你好")
    assert isinstance(image, StoredImage)
    assert (image.name, image.width, image.height) == ("photo.jpg", 40, 30)
    assert folder.path(image.file).read_bytes() == photo.read_bytes()


def test_an_image_that_models_are_not_given_as_it_is_becomes_a_png(
    attaching: Attaching, folder: ImageFolder, tmp_path: Path, qtbot: QtBot
) -> None:
    (image,) = read(attaching, qtbot, save(tmp_path / "old.bmp"))
    assert isinstance(image, StoredImage)
    assert image.file.endswith(".png")
    assert QImage(str(folder.path(image.file))) == picture().convertToFormat(QImage.Format.Format_RGB32)


def test_what_was_copied_is_kept_like_a_file(attaching: Attaching, folder: ImageFolder, qtbot: QtBot) -> None:
    given = Given(attaching)
    attaching.take_picture(picture())
    qtbot.waitUntil(lambda: bool(given.things))
    (image,) = given.things
    assert isinstance(image, StoredImage)
    assert folder.path(image.file).exists()


def test_a_photograph_is_as_wide_as_it_is_seen(attaching: Attaching, tmp_path: Path, qtbot: QtBot) -> None:
    path = tmp_path / "turned.jpg"
    writer = QImageWriter(str(path))
    writer.setTransformation(writer.transformation() | writer.transformation().TransformationRotate90)
    assert writer.write(picture(40, 30))
    (image,) = read(attaching, qtbot, path)
    assert isinstance(image, StoredImage)
    assert (image.width, image.height) == (30, 40)
    assert read_scaled(str(path), QSize(20, 20)).size() == QSize(15, 20)


@pytest.mark.parametrize("kind", ["damaged", "half", "no text", "long text", "gone"])
def test_what_cannot_be_sent_is_refused_with_a_sentence_that_names_it(
    attaching: Attaching, folder: ImageFolder, tmp_path: Path, qtbot: QtBot, kind: str
) -> None:
    path = tmp_path / "thing.png"
    whole = save(tmp_path / "whole.png", width=300, height=300).read_bytes()
    contents = {
        "damaged": whole[:33] + b"\0" * 200,
        "half": whole[:40],
        "no text": b"\x7fELF\x00\xff\xfe",
        "long text": b"x" * (MAX_BYTES + 1),
    }
    if kind in contents:
        path.write_bytes(contents[kind])
    (error,) = read(attaching, qtbot, path)
    assert isinstance(error, EngineError)
    assert "thing.png" in error.message


def test_a_model_that_reads_text_only_is_given_no_images(attaching: Attaching, tmp_path: Path, qtbot: QtBot) -> None:
    attaching.set_blind_model("SmolLM2")
    (error,) = read(attaching, qtbot, save(tmp_path / "photo.png"))
    assert isinstance(error, EngineError)
    assert error.message == "“photo.png” is an image, and SmolLM2 reads text only."


def test_what_was_being_read_for_another_message_does_not_come(
    attaching: Attaching, tmp_path: Path, qtbot: QtBot
) -> None:
    given = Given(attaching)
    attaching.take_files([save(tmp_path / "photo.png")])
    attaching.forget()
    qtbot.waitUntil(lambda: not attaching.is_busy)
    assert given.things == []
