"""The theme in use: light, dark or as the system has it, at one font scale, put onto the application.

Owns the QPalette, the application font and when the style sheet is replaced. Must not know who stores the user's
choice. ``theme.tokens()`` gives the values in use; ``theme.changed`` tells those who paint by themselves. Widgets
without access to the services call the function ``tokens()`` below and repaint in ``changeEvent`` on a palette change.
"""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from app.stylesheet import stylesheet
from app.tokens import DARK, LIGHT, Tokens, scaled

_TOKENS_PROPERTY = "strata_tokens"


class ThemeChoice(StrEnum):
    """What the user asked for."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


def tokens() -> Tokens:
    """The values in use in this application; light ones where no theme was applied yet."""
    app = QApplication.instance()
    kept = app.property(_TOKENS_PROPERTY) if app is not None else None
    return kept if isinstance(kept, Tokens) else LIGHT


class Theme(QObject):
    """Lives in the GUI thread. ``changed`` follows every change of colours or sizes."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._choice = ThemeChoice.SYSTEM
        self._font_scale = 1.0
        self._tokens = LIGHT
        self._app: QApplication | None = None

    def tokens(self) -> Tokens:
        return self._tokens

    def choose(self, choice: ThemeChoice) -> None:
        self._choice = choice
        self._ask_system()
        self._refresh()

    def set_font_scale(self, scale: float) -> None:
        self._font_scale = scale
        self._refresh()

    def apply(self, app: QApplication) -> None:
        """Puts the theme on the application, and follows the system's from now on."""
        self._app = app
        app.setStyle("Fusion")
        app.styleHints().colorSchemeChanged.connect(self._refresh)
        self._ask_system()
        self._refresh()

    def _ask_system(self) -> None:
        """Native title bars and dialogs follow the scheme that is asked for here."""
        if self._app is None:
            return
        hints = self._app.styleHints()
        if self._choice is ThemeChoice.SYSTEM:
            hints.unsetColorScheme()
        else:
            hints.setColorScheme(Qt.ColorScheme.Dark if self._choice is ThemeChoice.DARK else Qt.ColorScheme.Light)

    def _refresh(self) -> None:
        if self._app is None:
            return
        fresh = scaled(DARK if self._wants_dark() else LIGHT, self._font_scale)
        if fresh == self._tokens and self._app.property(_TOKENS_PROPERTY) == fresh:
            return
        self._tokens = fresh
        self._app.setProperty(_TOKENS_PROPERTY, fresh)
        # One sheet in place of another takes Qt 6.11 ten times as long as none and then the other: 1.0 s for the 470
        # widgets of three pages, instead of 0.15 s.
        self._app.setStyleSheet("")
        self._app.setFont(body_font(fresh))
        self._app.setPalette(palette(fresh))
        self._app.setStyleSheet(stylesheet(fresh))
        self.changed.emit()

    def _wants_dark(self) -> bool:
        if self._choice is ThemeChoice.SYSTEM:
            return QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
        return self._choice is ThemeChoice.DARK


def body_font(tokens: Tokens) -> QFont:
    """The system's interface font at the body size."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    font.setPixelSize(tokens.font_body)
    return font


def mono_font(tokens: Tokens) -> QFont:
    """The system's fixed-pitch font, a touch smaller than the body as it looks larger."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPixelSize(max(tokens.font_body - 1, 9))
    return font


def palette(tokens: Tokens) -> QPalette:
    """For what the style sheet does not reach: native parts, rich text, items painted by delegates."""
    result = QPalette()
    role = QPalette.ColorRole
    colours = {
        role.Window: tokens.window,
        role.WindowText: tokens.text,
        role.Base: tokens.raised,
        role.AlternateBase: tokens.surface,
        role.Text: tokens.text,
        role.PlaceholderText: tokens.text_faint,
        role.Button: tokens.raised,
        role.ButtonText: tokens.text,
        role.BrightText: tokens.danger,
        role.Highlight: tokens.selection,
        role.HighlightedText: tokens.text,
        role.Accent: tokens.accent,
        role.Link: tokens.accent,
        role.LinkVisited: tokens.accent,
        role.ToolTipBase: tokens.raised,
        role.ToolTipText: tokens.text,
        role.Light: tokens.raised,
        role.Midlight: tokens.hover,
        role.Mid: tokens.line,
        role.Dark: tokens.line_strong,
        role.Shadow: tokens.shadow,
    }
    for each, value in colours.items():
        result.setColor(each, QColor(value))
    disabled = QPalette.ColorGroup.Disabled
    for each in (role.WindowText, role.Text, role.ButtonText):
        result.setColor(disabled, each, QColor(tokens.line_strong))
    return result
