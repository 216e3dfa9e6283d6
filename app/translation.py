"""The language of the program: which one, and its translator put onto the application.

Owns the marker for texts that are declared in one place and translated in another. English is the source; a language
is one compiled file of ``resources/translations``.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from app.paths import resources_dir

LANGUAGES = ("en", "zh_CN")


def QT_TRANSLATE_NOOP(context: str, text: str) -> str:
    """Marks ``text`` for lupdate, which finds it by this name. Qt's own is the same, but typed as ``object``."""
    return text


def language_in_use(choice: str) -> str:
    """``choice`` is the setting: "system" or a language. Any Chinese system gets Simplified Chinese."""
    if choice in LANGUAGES:
        return choice
    return "zh_CN" if QLocale.system().language() is QLocale.Language.Chinese else "en"


def install_language(app: QCoreApplication, language: str) -> list[QTranslator]:
    """Sets the locale, and our texts (in English plurals only) over Qt's own. Returns what was installed."""
    QLocale.setDefault(QLocale(language))
    ours = resources_dir() / "translations"
    qts = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    installed: list[QTranslator] = []
    for name, folder in (("qtbase", qts), ("strata", str(ours))):
        translator = QTranslator(app)
        if translator.load(f"{name}_{language}", folder):
            app.installTranslator(translator)
            installed.append(translator)
    return installed
