"""How strongly a cell of a map is tinted. PURE. Cells say their number too, so that they read
without any tint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from runs.dashboard.upcoming.density import LocalDay, hours_of

LEVELS = 5


def levels(counts: Iterable[int]) -> dict[int, int]:
    """By count, from 0 for nothing to LEVELS: by its rank among the different counts, so that one
    very busy hour does not leave all others alike, and a week in which every hour is alike is pale.
    """
    found = sorted({count for count in counts if count > 0})
    steps = max(len(found), LEVELS)
    return {0: 0} | {count: 1 + rank * LEVELS // steps for rank, count in enumerate(found)}


@dataclass(frozen=True)
class Cell:
    """An hour of a day as its clock shows it, from `start` to before `end`; `count` None: it is
    over, or the clock leaves it out that day."""

    hour: int
    start: datetime | None = None
    end: datetime | None = None
    count: int | None = None
    level: int = 0


@dataclass(frozen=True)
class Row:
    """A day and its 24 hours."""

    day: date
    cells: list[Cell]

    @property
    def total(self) -> int:
        """Of the whole day, as far as it is to come."""
        return sum(cell.count or 0 for cell in self.cells)


def rows(
    days: tuple[LocalDay, ...], zone: str, since: datetime, within: Callable[..., int]
) -> list[Row]:
    """The map of these days; `within(start, end)` counts. Hours that end by `since` are over."""
    found = [(day.date, _by_hour(_cells(day, zone, since, within))) for day in days]
    by_count = levels(cell.count or 0 for _, cells in found for cell in cells)
    return [Row(day, [_tinted(cell, by_count) for cell in cells]) for day, cells in found]


@dataclass(frozen=True)
class Step:
    """A tint, and the counts that have it."""

    level: int
    least: int
    most: int


def legend(shown: Sequence[Row]) -> list[Step]:
    """What each tint of a map stands for, the palest first."""
    counts: dict[int, set[int]] = {}
    for cell in (cell for row in shown for cell in row.cells if cell.count):
        counts.setdefault(cell.level, set()).add(cell.count or 0)
    return [Step(level, min(having), max(having)) for level, having in sorted(counts.items())]


def _cells(day: LocalDay, zone: str, since: datetime, within: Callable[..., int]) -> Iterator[Cell]:
    for hour, start, end in hours_of(day, zone):
        if end > since:
            yield Cell(hour, start, end, within(start, end))


def _by_hour(cells: Iterator[Cell]) -> list[Cell]:
    """24 cells; of an hour that the clock shows twice both are in one."""
    found = [Cell(hour) for hour in range(24)]
    for cell in cells:
        before = found[cell.hour]
        count = (before.count or 0) + (cell.count or 0)
        found[cell.hour] = replace(cell, start=before.start or cell.start, count=count)
    return found


def _tinted(cell: Cell, by_count: dict[int, int]) -> Cell:
    return replace(cell, level=by_count[cell.count or 0])
