"""The colours of states differ for everybody, and text can be read, in both themes.

Distances are in OKLab, times 100, of colours as seen with normal, protan, deutan and tritan vision
(the matrices of Machado, Oliveira and Fernandes, 2009, at full severity, in linear RGB).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations
from math import dist
from pathlib import Path

import pytest

CSS = (Path(__file__).resolve().parent.parent / "static" / "app.css").read_text()
Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]

VISION: dict[str, Matrix] = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
TO_LMS: Matrix = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
TO_LAB: Matrix = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)
STATES = ("ok", "run", "late", "bad", "ask", "quiet")
TEXTS = ("ink", "ink-2", "ink-3", "accent", "bad-ink", "ask-ink")
GROUNDS = ("ground", "raised", "sunken")
THEMES = {"light": 0, "dark": 1}


def colour(token: str, theme: str) -> Vector:
    """A token's colour in linear RGB, 0 to 1."""
    found = re.search(rf"--{token}: light-dark\((#[0-9a-f]{{6}}), (#[0-9a-f]{{6}})\)", CSS)
    assert found, token
    return linear(found.groups()[THEMES[theme]])


def linear(colour: str) -> Vector:
    """`#1a7f37` in linear RGB, 0 to 1."""
    digits = colour[1:]
    red, green, blue = (int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return _linear(red), _linear(green), _linear(blue)


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def times(matrix: Matrix, vector: Vector) -> Vector:
    one, two, three = (sum(a * b for a, b in zip(line, vector, strict=True)) for line in matrix)
    return one, two, three


def oklab(linear: Vector) -> Vector:
    one, two, three = (max(part, 0.0) ** (1 / 3) for part in times(TO_LMS, linear))
    return times(TO_LAB, (one, two, three))


def seen(vision: str) -> Callable[[Vector], Vector]:
    """Linear RGB as it looks with this vision, in OKLab."""

    def look(linear: Vector) -> Vector:
        one, two, three = (min(max(part, 0.0), 1.0) for part in times(VISION[vision], linear))
        return oklab((one, two, three))

    return look


def contrast(one: Vector, other: Vector) -> float:
    """As WCAG 2 defines it."""
    light, dark = sorted(
        (0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in (one, other)),
        reverse=True,
    )
    return (light + 0.05) / (dark + 0.05)


def test_the_arithmetic_knows_what_is_published() -> None:
    white, black, red = (1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)
    assert contrast(white, black) == pytest.approx(21)
    assert oklab(white) == pytest.approx((1, 0, 0), abs=1e-3)
    assert oklab(red) == pytest.approx((0.628, 0.225, 0.126), abs=1e-3)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize(("theme", "least", "ok_to_bad"), [("light", 12, 23), ("dark", 14, 35)])
def test_no_two_states_look_alike(theme: str, vision: str, least: float, ok_to_bad: float) -> None:
    look = seen(vision)
    apart = {
        pair: 100 * dist(*(look(colour(token, theme)) for token in pair))
        for pair in combinations(STATES, 2)
    }
    assert min(apart.values()) >= least, min(apart, key=lambda pair: apart[pair])
    assert apart["ok", "bad"] >= ok_to_bad


@pytest.mark.parametrize("theme", THEMES)
def test_a_glyph_stands_out_from_its_ground(theme: str) -> None:
    for token in STATES:
        assert contrast(colour(token, theme), colour("ground", theme)) >= 3, token


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ground", GROUNDS)
def test_text_can_be_read_on_every_ground(theme: str, ground: str) -> None:
    for token in TEXTS:
        found = contrast(colour(token, theme), colour(ground, theme))
        assert found >= 4.5, (token, found)
    assert contrast(colour("accent-ink", theme), colour("accent", theme)) >= 4.5
