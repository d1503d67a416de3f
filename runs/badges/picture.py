"""A badge as a picture: a name, and a glyph, a word and a colour for the state. PURE.

Plain SVG that loads nothing and runs nothing. Fonts differ from reader to reader, so each text is
told how long it is to be; the width is reckoned by the number of its letters.
"""

from __future__ import annotations

import unicodedata
from html import escape

from runs.dashboard.stances.stances import Stance

HEIGHT = 20
UNKNOWN = "unknown"
_NARROW, _WIDE, _PAD, _GLYPH = 6.6, 11.5, 6, 18
_NAMED = "#24292f"
_GREY = "#57606a"
COLOURS: dict[Stance | None, str] = {
    Stance.REVIEW: "#7a3fd0",
    Stance.FAILING: "#b42318",
    Stance.LATE: "#8a5a00",
    Stance.DEAD: "#b42318",
    Stance.RETRYING: "#8a5a00",
    Stance.FINE: "#1a7f37",
}
# In a box of 14 × 14: each state has a shape of its own, so that it is told without colour.
GLYPHS: dict[Stance | None, str] = {
    Stance.REVIEW: "M7 1.5L12.5 7 7 12.5 1.5 7z",
    Stance.FAILING: "M3.4 3.4l7.2 7.2M10.6 3.4l-7.2 7.2",
    Stance.LATE: "M3 2h8M3 12h8M4 2.4c0 2.8 2.2 3.2 3 4.6.8-1.4 3-1.8 3-4.6"
    "M4 11.6c0-2.8 2.2-3.2 3-4.6.8 1.4 3 1.8 3 4.6",
    Stance.DEAD: "M1.8 3.2h10.4v7.6H1.8zM1.8 3.6L7 7.6l5.2-4",
    Stance.RETRYING: "M12 7.6A5.2 5.2 0 1 1 10.4 3M12.4 1v3.2H9.2",
    Stance.PAUSED: "M4.6 2.6v8.8M9.4 2.6v8.8",
    Stance.HELD: "M4.6 2.6v8.8M9.4 2.6v8.8M1.6 2.6v8.8M12.4 2.6v8.8",
    Stance.NEW: "M7 2a5 5 0 1 1 0 10 5 5 0 1 1 0-10z",
    Stance.ENDED: "M3.2 1.8v10.6M3.2 2.6h7.6l-2 2.5 2 2.5H3.2",
    Stance.FINE: "M2.8 7.4l2.8 2.8 5.6-6.2",
    None: "M3 7h8",
}


def svg(label: str, words: str, stance: Stance | None) -> str:
    """The picture: `label` left, the glyph and the words of its state right; `stance` None for
    what is not known. Without a label the state stands alone."""
    left = round(_width(label) + 2 * _PAD) if label else 0
    right = round(_width(words) + _GLYPH + 2 * _PAD)
    whole, said = left + right, escape(f"{label}: {words}" if label else words)
    named = _text(label, _PAD) if label else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="{HEIGHT}" '
        f'viewBox="0 0 {whole} {HEIGHT}" role="img" aria-label="{said}"><title>{said}</title>'
        f'<rect width="{left}" height="{HEIGHT}" fill="{_NAMED}"/>'
        f'<rect x="{left}" width="{right}" height="{HEIGHT}" fill="{COLOURS.get(stance, _GREY)}"/>'
        f'<path transform="translate({left + _PAD} 3)" d="{GLYPHS[stance]}" fill="none" '
        'stroke="#fff" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round"/>'
        f"{named}{_text(words, left + _PAD + _GLYPH)}</svg>\n"
    )


def _text(text: str, x: float) -> str:
    return (
        f'<text x="{x:g}" y="14" fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" '
        f'font-size="11" textLength="{_width(text):g}" lengthAdjust="spacingAndGlyphs">'
        f"{escape(text)}</text>"
    )


def _width(text: str) -> float:
    """In pixels, a little more than a usual font takes."""
    return round(sum(_WIDE if _is_wide(char) else _NARROW for char in text), 1)


def _is_wide(char: str) -> bool:
    return unicodedata.east_asian_width(char) in "WF" or char in "MWmw@%"
