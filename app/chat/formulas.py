"""LaTeX as images: ziamath typesets to SVG, Qt draws it. What cannot be typeset is shown as its source.

Owns a bounded cache of images by formula, size and colour. GUI thread only.
"""

from __future__ import annotations

import importlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from html import escape

from PySide6.QtCore import QByteArray, QRectF, QUrl
from PySide6.QtGui import QGuiApplication, QImage, QPainter, QTextDocument
from PySide6.QtSvg import QSvgRenderer

from app.chat.markdown_html import FORMULA_SCHEME
from app.tokens import Tokens

_CACHED = 500
_MAX_LENGTH = 4000


@dataclass(frozen=True, slots=True)
class _Drawn:
    image: QImage
    width: float
    height: float
    is_centred: bool


class Formulas:
    """Gives documents their formulas. One for the program: formulas repeat."""

    def __init__(self) -> None:
        self._cache: OrderedDict[tuple[str, bool, int, str, float], _Drawn | None] = OrderedDict()

    @staticmethod
    def warm_up() -> None:
        """Loads the typesetter in a thread, so that the first formula does not hold up the window."""
        threading.Thread(target=_load_typesetter, name="formulas", daemon=True).start()

    def html(self, document: QTextDocument, latex: str, stands_alone: bool, tokens: Tokens) -> str:
        """An ``img`` whose picture is put into ``document``, or the source as code."""
        drawn = self._drawn(latex, stands_alone, tokens)
        if drawn is None:
            return f'<code style="background-color:{tokens.code_background};">{escape(latex)}</code>'
        name = f"{FORMULA_SCHEME}{abs(hash((latex, stands_alone)))}"
        document.addResource(QTextDocument.ResourceType.ImageResource.value, QUrl(name), drawn.image)
        align = ' style="vertical-align:middle;"' if drawn.is_centred else ""
        # The source is the text of a copied formula.
        image = (
            f'<img src="{name}" width="{drawn.width:.0f}" height="{drawn.height:.0f}" alt="{escape(latex)}"{align}/>'
        )
        return f"<center>{image}</center>" if stands_alone else image

    def _drawn(self, latex: str, stands_alone: bool, tokens: Tokens) -> _Drawn | None:
        ratio = QGuiApplication.primaryScreen().devicePixelRatio() if QGuiApplication.primaryScreen() else 1.0
        key = (latex, stands_alone, tokens.font_body, tokens.text, ratio)
        if key in self._cache:
            self._cache.move_to_end(key)
            return self._cache[key]
        drawn = _draw(latex, stands_alone, tokens, ratio)
        self._cache[key] = drawn
        if len(self._cache) > _CACHED:
            self._cache.popitem(last=False)
        return drawn


def _draw(latex: str, stands_alone: bool, tokens: Tokens, ratio: float) -> _Drawn | None:
    if len(latex) > _MAX_LENGTH:
        return None
    svg = _typeset(latex, stands_alone, tokens)
    if svg is None:
        return None
    renderer = QSvgRenderer(QByteArray(svg.encode()))
    size = renderer.viewBoxF().size()
    descent = max(renderer.viewBoxF().bottom(), 0.0)
    if not renderer.isValid() or size.isEmpty():
        return None
    # Qt puts an image on the base line, or its middle half an x-height above it. For a formula that reaches below
    # the line, margins move the middle to where its own base line then fits.
    half_x = tokens.font_body * 0.26
    ascent = size.height() - descent
    is_centred = not stands_alone and descent > 1.5
    below = max(descent, ascent - 2 * half_x) if is_centred else descent
    height = 2 * below + 2 * half_x if is_centred else size.height()
    image = QImage(
        max(round(size.width() * ratio), 1), max(round(height * ratio), 1), QImage.Format.Format_ARGB32_Premultiplied
    )
    image.fill(0)
    painter = QPainter(image)
    top = (height - below - ascent) * ratio
    renderer.render(painter, QRectF(0, top, size.width() * ratio, size.height() * ratio))
    painter.end()
    return _Drawn(image, size.width(), height, is_centred)


def _load_typesetter() -> None:
    importlib.import_module("ziamath.zmath")


def _typeset(latex: str, stands_alone: bool, tokens: Tokens) -> str | None:
    """SVG with the base line at 0; None where it is no LaTeX that can be set."""
    from latex2mathml import exceptions
    from ziamath import zmath  # 0.2 s, and most chats have no formula
    from ziamath.config import config

    # Neither library has a common base for its errors, and a model writes anything.
    refusals = tuple(
        each for each in vars(exceptions).values() if isinstance(each, type) and issubclass(each, Exception)
    )
    config.svg2 = False
    try:
        formula = zmath.Latex(latex, size=tokens.font_body + 3, color=tokens.text, inline=not stands_alone)
        return str(formula.svg())
    except (
        *refusals,
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        SyntaxError,
        TypeError,
        ValueError,
    ):
        return None
