"""Model cards as people read them: written for a web page, shown without its markup."""

from __future__ import annotations

import pytest

from app.wizard.card_text import readable_card


@pytest.mark.parametrize(
    ("card", "text"),
    [
        ("---\nlicense: mit\ntags:\n- a\n---\n# Title\n\nText", "# Title\n\nText"),
        ("Text\n\n---\n\nMore", "Text\n\n---\n\nMore"),
        ('<p align="center">\n<img src="https://x/logo.png" width="40"/>\n</p>\n\nText', "Text"),
        ('<h1 align="center">Large <b>One</b></h1>\nText', "# Large One\n\nText"),
        ("![logo](logo.png) Text", "Text"),
        ("[![badge](https://x/b.svg)](https://x) Text", "Text"),
        ('See <a href="https://x/y">the <i>paper</i></a>.', "See [the paper](https://x/y)."),
        ('<a href="https://x"><img src="b.svg"></a>Text', "Text"),
        ("One<br>two", "One\n\ntwo"),
        ("<!-- hidden -->Text<!-- open", "Text"),
        ("<script>alert(1)</script>Text <style>p { }", "Text"),
        ("Caf&eacute; &amp; x &lt; y", "Café & x < y"),
        ("if a < b and c > d", "if a < b and c > d"),
        ("", ""),
        ("---\nlicense: mit\n---", ""),
    ],
)
def test_markup_of_a_web_page_is_left_out(card: str, text: str) -> None:
    assert readable_card(card) == text


def test_code_stays_as_it_is_written() -> None:
    code = "```html\n<p>A <b>bold</b> &amp; word</p>\n\n\n\n<!-- kept -->\n```"
    assert readable_card(f"<p>Text</p>\n{code}\n<b>More</b>") == f"Text\n\n{code}\n**More**"


def test_a_fence_that_never_ends_is_code_to_the_end() -> None:
    assert readable_card("Text\n~~~\n<p>x</p>") == "Text\n~~~\n<p>x</p>"
