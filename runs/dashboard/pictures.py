"""The geometry of pictures: where each bar stands. PURE. A template draws them as SVG, with a text
that says the same, and a table behind it. Units are those of the view box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SMALLEST = 2.0  # of a bar: what took no time at all is still to be seen


@dataclass(frozen=True)
class Bar:
    """A rectangle. `kind` names the class that colours it."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    mark: float | None = None  # where in it something was begun


@dataclass(frozen=True)
class Columns:
    """Bars side by side, the newest at the right, on a ground at `height`; `lines` are levels by
    name, from the top."""

    width: float
    height: float
    bars: list[Bar]
    lines: dict[str, float]


def columns(
    lengths: Sequence[tuple[float, str]], levels: dict[str, float], *, step: float, height: float
) -> Columns:
    """A bar for each length with its kind, the longest (of bars and levels) as high as there is
    room. Lengths are finite and not negative."""
    most = max([*(length for length, _ in lengths), *levels.values()], default=0.0) or 1.0
    bars = [
        _column(place * step, step, height, length / most, kind)
        for place, (length, kind) in enumerate(lengths)
    ]
    lines = {name: _rounded(height - height * level / most) for name, level in levels.items()}
    return Columns(_rounded(len(lengths) * step), height, bars, lines)


def _column(x: float, step: float, height: float, share: float, kind: str) -> Bar:
    tall = max(SMALLEST, height * share)
    return Bar(_rounded(x), _rounded(height - tall), _rounded(step - 2), _rounded(tall), kind)


@dataclass(frozen=True)
class Span:
    """From `start` to `end`, in seconds on one line; `mark` lies within."""

    start: float
    end: float
    kind: str
    mark: float | None = None


@dataclass(frozen=True)
class Gantt:
    """A bar on a row of its own for each span."""

    width: float
    height: float
    bars: list[Bar]


def gantt(spans: Sequence[Span], *, width: float, row: float) -> Gantt:
    """The earliest begins at the left, the latest ends at the right."""
    start = min((span.start for span in spans), default=0.0)
    length = max((span.end for span in spans), default=0.0) - start or 1.0

    def across(at: float) -> float:
        return _rounded((at - start) / length * width)

    bars = []
    for place, span in enumerate(spans):
        long = max(SMALLEST, across(span.end) - across(span.start))
        x = min(across(span.start), width - long)
        mark = None if span.mark is None else max(x, min(across(span.mark), x + long))
        bars.append(Bar(_rounded(x), place * row + 3, _rounded(long), row - 6, span.kind, mark))
    return Gantt(width, len(spans) * row, bars)


def _rounded(number: float) -> float:
    return round(number, 1)
