"""One block of Markdown as the HTML subset that QTextDocument draws, in the theme's colours.

Raw HTML in an answer is text and comes out as text. Links keep their address; who opens them asks first. Formulas
become images of the scheme ``formula:``, drawn by ``app.chat.formulas``. Knows no widgets.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from app.chat.code_colours import code_html
from app.tokens import Tokens

COPY_SCHEME = "copy:"
FORMULA_SCHEME = "formula:"

FormulaHtml = Callable[[str, bool], str]
"""LaTeX and whether it stands by itself → HTML: an image, or the source where it cannot be drawn."""

_ALLOWED_SCHEMES = ("http://", "https://", "mailto:")


def prose_html(source: str, tokens: Tokens, formula_html: FormulaHtml, copy_text: str) -> str:
    """HTML without html, head or body. Colours are written in, so a change of theme needs it made anew.

    ``copy_text`` is the word on the link that copies code inside a list or a quote.
    """
    return _Renderer(tokens, formula_html, copy_text).render(source)


def decode_copy(address: str) -> str:
    """The code behind a ``copy:`` link."""
    return base64.urlsafe_b64decode(address.removeprefix(COPY_SCHEME)).decode()


class _Renderer:
    def __init__(self, tokens: Tokens, formula_html: FormulaHtml, copy_text: str) -> None:
        self._tokens = tokens
        self._formula_html = formula_html
        self._copy_text = copy_text
        self._markdown = _parser()
        renderer = self._markdown.renderer
        assert isinstance(renderer, RendererHTML)
        rules: dict[str, Any] = {
            "fence": self._fence,
            "code_block": self._fence,
            "code_inline": self._code_inline,
            "formula": self._formula,
            "image": self._image,
            "hr": self._rule_line,
            "table_open": self._table_open,
            "blockquote_open": self._quote_open,
            "blockquote_close": self._quote_close,
            "link_open": self._link_open,
        }
        renderer.rules |= rules

    def render(self, source: str) -> str:
        tokens = self._markdown.parse(source)
        self._style(tokens)
        return self._markdown.renderer.render(tokens, self._markdown.options, {})

    def _style(self, tokens: Sequence[Token]) -> None:
        look = self._tokens
        heading_sizes = {"h1": look.font_heading, "h2": look.font_heading - 2, "h3": look.font_title}
        for token in tokens:
            if token.type == "heading_open":
                size = heading_sizes.get(token.tag, look.font_body + 1)
                token.attrSet("style", f"font-size:{size}px; font-weight:600; margin-top:8px; margin-bottom:2px;")
                # Qt enlarges h1 to h6 by steps of its own.
                token.tag = "p"
            elif token.type == "heading_close":
                token.tag = "p"
            elif token.type == "paragraph_open":
                token.attrSet("style", "line-height:150%; margin-top:0px; margin-bottom:0px;")
                token.hidden = False
            elif token.type == "paragraph_close":
                token.hidden = False
            elif token.type in {"bullet_list_open", "ordered_list_open"}:
                token.attrSet("style", "margin-top:0px; margin-bottom:0px;")
            elif token.type == "list_item_open":
                token.attrSet("style", "line-height:150%; margin-top:2px; margin-bottom:4px;")
            elif token.type in {"th_open", "td_open"}:
                self._style_cell(token)

    def _style_cell(self, token: Token) -> None:
        look = self._tokens
        align = "right" if "right" in str(token.attrGet("style")) else "left"
        align = "center" if "center" in str(token.attrGet("style")) else align
        background = f"background-color:{look.surface};" if token.tag == "th" else ""
        weight = "font-weight:600;" if token.tag == "th" else ""
        token.attrs.pop("style", None)
        token.attrSet("align", align)
        token.attrSet("style", f"padding:6px 12px; border:1px solid {look.line}; {background}{weight}")

    def _fence(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """A fence inside a list or a quote; one at the top level is a part of its own, see ``source_blocks``."""
        token = tokens[index]
        look = self._tokens
        language = token.info.split()[0] if token.info.strip() else ""
        code = token.content.rstrip("\n")
        address = COPY_SCHEME + base64.urlsafe_b64encode(code.encode()).decode()
        body = code_html(code, language, look)
        background = f'style="background-color:{look.code_background};"'
        link = f"color:{look.text_muted}; text-decoration:none; font-size:{look.font_small}px;"
        return (
            f'<table width="100%" cellpadding="8" cellspacing="0" style="margin-top:4px; margin-bottom:8px;">'
            f'<tr><td {background}><pre style="line-height:135%; margin:0px;">{body}'
            f'</pre></td><td align="right" width="48" {background}>'
            f'<a href="{address}" style="{link}">{escape(self._copy_text)}</a></td></tr></table>'
        )

    def _code_inline(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        look = self._tokens
        return f'<code style="background-color:{look.code_background};">{escape(tokens[index].content)}</code>'

    def _formula(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        return self._formula_html(tokens[index].content, bool(tokens[index].meta.get("stands_alone")))

    def _image(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Nothing is fetched: an image is the link to it."""
        address = str(tokens[index].attrGet("src") or "")
        text = tokens[index].content or address
        return f'<a href="{escape(address)}" style="color:{self._tokens.accent};">{escape(text)}</a>'

    def _rule_line(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        cell = f'<td height="1" style="background-color:{self._tokens.line}; font-size:1px;"></td>'
        return f'<table width="100%" cellspacing="0" cellpadding="0"><tr>{cell}</tr></table>'

    def _table_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        return '<table cellspacing="0" style="border-collapse:collapse; margin-top:4px; margin-bottom:4px;">'

    def _quote_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        look = self._tokens
        bar = f'<td width="3" style="background-color:{look.line};"></td>'
        return (
            f'<table cellspacing="0" style="margin-top:4px; margin-bottom:4px;"><tr>{bar}'
            f'<td style="padding-left:12px; color:{look.text_muted};">'
        )

    def _quote_close(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        return "</td></tr></table>"

    def _link_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        address = str(tokens[index].attrGet("href") or "")
        shown = escape(address) if address.startswith(_ALLOWED_SCHEMES) else ""
        return f'<a href="{shown}" title="{shown}" style="color:{self._tokens.accent};">'


def _parser() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": False}).enable(
        ["table", "strikethrough"]
    )
    markdown.inline.ruler.before("escape", "formula", _formula_rule)
    return markdown


def _formula_rule(state: StateInline, silent: bool) -> bool:
    r"""``$x$``, ``$$x$$``, ``\(x\)`` and ``\[x\]``; a lone dollar before a digit is money."""
    source, start = state.src, state.pos
    for opening, closing, stands_alone in (
        ("$$", "$$", True),
        ("\\[", "\\]", True),
        ("\\(", "\\)", False),
        ("$", "$", False),
    ):
        if not source.startswith(opening, start):
            continue
        begin = start + len(opening)
        end = source.find(closing, begin)
        content = source[begin:end] if end > begin else ""
        if not content.strip() or (opening == "$" and not _is_formula(content, source[end + 1 : end + 2])):
            continue
        if not silent:
            token = state.push("formula", "", 0)
            token.content = content.strip()
            token.meta = {"stands_alone": stands_alone}
        state.pos = end + len(closing)
        return True
    return False


def _is_formula(content: str, following: str) -> bool:
    return not (content[0].isspace() or content[-1].isspace() or following.isdigit() or "\n\n" in content)
