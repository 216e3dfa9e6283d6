"""Translations: nothing is missing, and every placeholder of the English text is in the other one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QCoreApplication, QLocale
from PySide6.QtWidgets import QApplication

from app.paths import resources_dir
from app.settings import SETTINGS, Editor
from app.settings_page.editors import text_of
from app.shortcuts import SHORTCUTS, title
from app.translation import install_language, language_in_use

ROOT = Path(__file__).resolve().parents[3]
CHINESE = resources_dir() / "translations" / "strata_zh_CN.ts"


def messages() -> list[tuple[str, str, list[str]]]:
    found: list[tuple[str, str, list[str]]] = []
    for context in ElementTree.parse(CHINESE).getroot().iter("context"):
        for message in context.iter("message"):
            translation = message.find("translation")
            assert translation is not None
            forms = [each.text or "" for each in translation.iter("numerusform")] or [translation.text or ""]
            found.append((context.findtext("name") or "", message.findtext("source") or "", forms))
    return found


def placeholders(text: str) -> list[str]:
    return sorted(re.findall(r"\{[^{}]*\}|%n|%\d|\(\*\.?\w*\)|;;", text))


def test_every_placeholder_is_in_the_translation_too() -> None:
    wrong = [
        (source, form)
        for _, source, forms in messages()
        for form in forms
        if form and placeholders(source) != placeholders(form)
    ]
    assert wrong == []


@pytest.mark.slow
def test_no_text_of_the_program_is_without_translation() -> None:
    check = subprocess.run(
        [sys.executable, str(ROOT / "packaging" / "translations.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert check.returncode == 0, check.stdout + check.stderr


@pytest.fixture
def chinese(qapp: QApplication):
    before = QLocale()
    translators = install_language(qapp, "zh_CN")
    yield translators
    for each in translators:
        qapp.removeTranslator(each)
    QLocale.setDefault(before)


def test_declared_texts_are_found_by_their_context(chinese: list[object]) -> None:
    for setting in SETTINGS:
        if setting.editor is not Editor.NONE:
            assert text_of(setting.title) != setting.title
    for each in SHORTCUTS:
        assert title(each) != each.title


def test_texts_of_qt_are_translated_too(chinese: list[object]) -> None:
    assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "取消"


def test_a_chosen_language_wins_over_the_system() -> None:
    assert language_in_use("zh_CN") == "zh_CN"
    assert language_in_use("en") == "en"
    assert language_in_use("system") in ("en", "zh_CN")


def test_english_plurals_are_right(qapp: QApplication) -> None:
    translators = install_language(qapp, "en")
    try:
        one, two = (
            QCoreApplication.translate("CrashDialog", "%n more since; all are in the log.", "", n) for n in (1, 2)
        )
        assert one == "1 more since; it is in the log."
        assert two == "2 more since; all are in the log."
    finally:
        for each in translators:
            qapp.removeTranslator(each)
