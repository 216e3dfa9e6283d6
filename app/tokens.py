"""The look as numbers and names: colours, spacing, radii and type sizes, for light and for dark.

Owns every colour, distance and font size of the program. Must not know Qt: the palette and the style sheet are
made from these in ``app.theme`` and ``app.stylesheet``. Contrast of each pair is tested (WCAG 2.2, 4.5:1 for text).
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Tokens:
    """One theme at one font scale. Colours are ``#rrggbb``; distances and sizes are device-independent pixels.

    ``window`` is the page, ``surface`` the sidebar and panels beside it, ``raised`` what lies on top (cards, inputs,
    menus). ``*_soft`` are backgrounds for a notice of that kind; the plain colour is readable on them as text.
    """

    is_dark: bool

    window: str
    surface: str
    raised: str
    hover: str
    pressed: str
    line: str
    line_strong: str
    text: str
    text_muted: str
    text_faint: str
    accent: str
    accent_hover: str
    accent_pressed: str
    accent_soft: str
    accent_text: str
    danger: str
    danger_soft: str
    danger_text: str
    warning: str
    warning_soft: str
    success: str
    success_soft: str
    selection: str
    code_background: str
    shadow: str

    xs: int = 4
    s: int = 8
    m: int = 16
    l: int = 24  # noqa: E741
    xl: int = 32
    xxl: int = 48
    radius_small: int = 6
    radius: int = 8
    radius_large: int = 12
    control_height: int = 36
    icon: int = 18
    reading_width: int = 760
    """The widest a column of prose gets."""

    font_small: int = 12
    font_body: int = 14
    font_title: int = 16
    font_heading: int = 20
    font_display: int = 28


LIGHT = Tokens(
    is_dark=False,
    window="#fcfbf9",
    surface="#f4f2ee",
    raised="#ffffff",
    hover="#ebe8e2",
    pressed="#e1ddd5",
    line="#e6e2db",
    line_strong="#8f8a82",
    text="#1f1d1a",
    text_muted="#57534c",
    text_faint="#6b665e",
    accent="#0f6e66",
    accent_hover="#0b5c55",
    accent_pressed="#084a45",
    accent_soft="#dcefeb",
    accent_text="#ffffff",
    danger="#ad1f16",
    danger_soft="#fcebe9",
    danger_text="#ffffff",
    warning="#7f4f06",
    warning_soft="#fbf0db",
    success="#226b35",
    success_soft="#e4f3e6",
    selection="#c5e5df",
    code_background="#f4f2ee",
    shadow="#1f1d1a",
)

DARK = Tokens(
    is_dark=True,
    window="#1c1b1a",
    surface="#161514",
    raised="#272523",
    hover="#2c2a28",
    pressed="#383532",
    line="#353230",
    line_strong="#7d776f",
    text="#edeae5",
    text_muted="#b8b2a9",
    text_faint="#9d968d",
    accent="#55bdb2",
    accent_hover="#6dcbc1",
    accent_pressed="#86d7ce",
    accent_soft="#1d3a37",
    accent_text="#06201d",
    danger="#f39189",
    danger_soft="#3d2320",
    danger_text="#2a0806",
    warning="#e8bb55",
    warning_soft="#382f1a",
    success="#84cb93",
    success_soft="#1e3424",
    selection="#245650",
    code_background="#141312",
    shadow="#000000",
)

FONT_SCALES = (0.85, 0.92, 1.0, 1.1, 1.2, 1.35, 1.5)
"""The steps of Ctrl+plus and Ctrl+minus."""


def scaled(tokens: Tokens, font_scale: float) -> Tokens:
    """The same theme with larger or smaller type, and controls and icons that hold it."""

    def sized(pixels: int) -> int:
        return max(round(pixels * font_scale), 9)

    return replace(
        tokens,
        font_small=sized(tokens.font_small),
        font_body=sized(tokens.font_body),
        font_title=sized(tokens.font_title),
        font_heading=sized(tokens.font_heading),
        font_display=sized(tokens.font_display),
        control_height=max(sized(tokens.control_height), 32),
        icon=sized(tokens.icon),
        reading_width=max(sized(tokens.reading_width), tokens.reading_width),
    )
