"""What the engine says, in the window: every sentence of it has its words there, and none of the command line's."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QApplication

import engine.errors
from app.engine_texts import is_known, shown_text
from app.translation import install_language
from tests.helpers.sentences import Sentences

ROOT = Path(__file__).resolve().parents[3]
# The window gives no sizes to read, no devices and no token ids.
ONLY_FROM_THE_COMMAND_LINE = (
    "engine/command_line/",
    "engine/backends/torch_backend.py",
    "engine/generation/token_ids.py",
    "engine/quantities.py",
)
_SITUATIONS = {
    name
    for name, kind in vars(engine.errors).items()
    if inspect.isclass(kind) and issubclass(kind, engine.errors.EngineError)
} | {"StoreError"}
_SAYING = _SITUATIONS | {"Notice", "hold", "pause", "_damaged"}


def said() -> Iterator[tuple[str, str]]:
    """Where, and a sentence as it may be said: every error's message and next step, every notice."""
    files = [*(ROOT / "engine").rglob("*.py"), *(ROOT / "app" / "conversations").rglob("*.py")]
    sentences = Sentences(files)
    for file in sorted(files):
        place = file.relative_to(ROOT).as_posix()
        if place.startswith(ONLY_FROM_THE_COMMAND_LINE):
            continue
        for line, name, texts in sentences.of_calls(file, _SAYING):
            yield from ((f"{place}:{line} {name}", text) for text in texts)


def test_every_sentence_of_the_engine_has_words_in_the_window() -> None:
    unknown = [f"{place}: {text}" for place, text in said() if not is_known(text)]
    assert unknown == []


def test_the_sentences_are_found_at_all() -> None:
    found = [text for _, text in said()]
    assert len(found) > 150
    assert "Try again later; what is already there is kept." in found


def test_no_advice_in_the_window_names_the_command_line() -> None:
    words = re.compile(r"--\w|verify \S+|\bdownload \S+ --|“list”|dev\.py|pip install")
    assert [text for _, text in said() if words.search(shown_text(text))] == []


@pytest.fixture
def chinese(qapp: QApplication) -> Iterator[None]:
    before = QLocale()
    translators = install_language(qapp, "zh_CN")
    yield
    for each in translators:
        qapp.removeTranslator(each)
    QLocale.setDefault(before)


@pytest.mark.parametrize(
    ("english", "shown"),
    [
        ("This computer is offline.", "这台电脑没有联网。"),
        ("The connection to hf.co broke off. Trying again in 4 min.", "与 hf.co 的连接中断了。4 分钟后重试。"),
        (
            "The conversation has 5,000 tokens; there is room for 4,096. "
            "Shorten it, start a new conversation, or allow a larger context.",
            "对话有 5,000 个词元，而空间只够 4,096 个。请缩短它、开始新的对话，或允许更大的上下文。",
        ),
        (
            "2 files are damaged or missing in Org--Tiny@1: a, b. It cannot be repaired: /data/x is empty.",
            "Org--Tiny@1 中有 2 个文件损坏或缺失：a, b。无法修复：/data/x 是空的。",
        ),
    ],
)
def test_sentences_are_chinese_with_their_numbers(chinese: None, english: str, shown: str) -> None:
    assert shown_text(english) == shown


def test_what_nobody_knows_is_shown_as_it_is(chinese: None) -> None:
    for text in ("", "Something of a newer engine: {odd} braces. 42.", "已经是中文。"):
        assert shown_text(text) == text


def test_a_name_with_braces_or_a_dot_keeps_them(qapp: QApplication) -> None:
    assert shown_text("/data/{model} v1.5 x is empty.") == "/data/{model} v1.5 x is empty."
    assert shown_text("Repair just it: verify Org--A.B@1 --repair").startswith("Repair just this file")
