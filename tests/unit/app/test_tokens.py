"""Both themes can be read: contrast by WCAG 2.2, section 1.4.3 and 1.4.11."""

from __future__ import annotations

import pytest

from app.stylesheet import stylesheet
from app.tokens import DARK, FONT_SCALES, LIGHT, Tokens, scaled

BACKGROUNDS = ("window", "surface", "raised", "hover", "code_background")
TEXTS = ("text", "text_muted", "text_faint")


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
class TestContrast:
    @pytest.mark.parametrize("background", BACKGROUNDS)
    @pytest.mark.parametrize("text", TEXTS)
    def test_text_can_be_read(self, tokens: Tokens, text: str, background: str) -> None:
        assert contrast(getattr(tokens, text), getattr(tokens, background)) >= 4.5

    @pytest.mark.parametrize("kind", ["accent", "danger", "warning", "success"])
    def test_a_coloured_text_can_be_read_on_its_own_soft_ground_and_on_the_page(
        self, tokens: Tokens, kind: str
    ) -> None:
        for background in (getattr(tokens, f"{kind}_soft"), tokens.window, tokens.raised):
            assert contrast(getattr(tokens, kind), background) >= 4.5

    @pytest.mark.parametrize("ground", ["accent", "accent_hover", "accent_pressed"])
    def test_the_text_of_a_primary_button_can_be_read(self, tokens: Tokens, ground: str) -> None:
        assert contrast(tokens.accent_text, getattr(tokens, ground)) >= 4.5

    def test_selected_text_can_be_read(self, tokens: Tokens) -> None:
        assert contrast(tokens.text, tokens.selection) >= 4.5

    def test_the_edge_of_a_control_can_be_seen(self, tokens: Tokens) -> None:
        assert contrast(tokens.line_strong, tokens.raised) >= 3


def test_a_larger_scale_enlarges_type_and_leaves_colours_and_spacing() -> None:
    large = scaled(LIGHT, 1.5)
    assert large.font_body == 21
    assert (large.text, large.m) == (LIGHT.text, LIGHT.m)


def test_the_usual_size_is_one_of_the_steps() -> None:
    assert 1.0 in FONT_SCALES
    assert scaled(LIGHT, 1.0) == LIGHT


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
def test_the_style_sheet_has_every_value_filled_in(tokens: Tokens) -> None:
    assert "$" not in stylesheet(tokens)
