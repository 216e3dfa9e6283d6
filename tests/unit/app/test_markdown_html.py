"""Markdown as drawn: raw HTML is text, money is no formula, links keep their address, code its colours."""

from __future__ import annotations

import pytest

from app.chat.code_colours import coloured_runs, language_title
from app.chat.markdown_html import COPY_SCHEME, decode_copy, prose_html
from app.tokens import DARK, LIGHT


def html(source: str) -> str:
    return prose_html(source, LIGHT, lambda latex, alone: f"[{'block' if alone else 'inline'}:{latex}]", "Copy")


def test_raw_html_comes_out_as_text() -> None:
    drawn = html('<img src="http://x/y.png"> <script>alert(1)</script>\n\n<div>block</div>')
    assert "<script" not in drawn
    assert "<img" not in drawn
    assert "&lt;div&gt;" in drawn


def test_an_image_is_a_link_and_nothing_is_fetched() -> None:
    drawn = html("![a cat](http://example.org/cat.png)")
    assert "<img" not in drawn
    assert 'href="http://example.org/cat.png"' in drawn


@pytest.mark.parametrize("address", ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x"])
def test_only_web_and_mail_addresses_are_links(address: str) -> None:
    assert f'href="{address}"' not in html(f"[x]({address})")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("$E = mc^2$", "[inline:E = mc^2]"),
        (r"\(a_1\)", "[inline:a_1]"),
        ("so $$x$$ it is", "[block:x]"),
        (r"\[y\]", "[block:y]"),
        ("$a_1 * b_2 * c$", "[inline:a_1 * b_2 * c]"),
    ],
)
def test_formulas_are_found(source: str, expected: str) -> None:
    assert expected in html(source)


@pytest.mark.parametrize("source", ["costs $5 and $10", "a $ b $ c", "only one $ here", "`$x$`", r"\$x\$"])
def test_money_and_code_are_no_formulas(source: str) -> None:
    assert "[inline" not in html(source)


def test_nested_code_can_be_copied_whole() -> None:
    drawn = html("- item\n\n  ```python\n  a = '<b>'\n  ```\n")
    address = drawn.split(f'href="{COPY_SCHEME}')[1].split('"')[0]
    assert decode_copy(COPY_SCHEME + address) == "a = '<b>'"


def test_code_is_coloured_within_its_bounds_in_both_themes() -> None:
    code = "def f(x):\n    return 'a' + str(x)  # why\n"
    for look in (LIGHT, DARK):
        runs = coloured_runs(code, "python", look)
        assert runs
        assert all(each.start >= 0 and each.start + each.length <= len(code) for each in runs)
    assert coloured_runs(code, "no-such-language", LIGHT) == []
    assert language_title("py") == "Python"


def test_a_table_keeps_its_alignment() -> None:
    drawn = html("| a | b |\n|--:|:-:|\n| 1 | 2 |")
    assert 'align="right"' in drawn
    assert 'align="center"' in drawn
