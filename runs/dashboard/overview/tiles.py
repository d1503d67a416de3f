"""The six tiles of the Overview: a number each, and the list that holds exactly these."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from django.urls import reverse

from runs.dashboard.overview.standing import Resting, Standing
from runs.states import State


@dataclass(frozen=True)
class Tile:
    """`kind` colours it where its number is not none. `said` stands under the number, and then
    `since`."""

    glyph: str
    kind: str
    label: str
    number: str
    said: str
    href: str
    since: datetime | None = None

    @property
    def is_quiet(self) -> bool:
        """Whether there is nothing behind it."""
        return self.number == "0"


def of(found: Standing, *, held: bool, team: str = "") -> list[Tile]:
    """The tiles, what costs money first. `held`: a hold is on; `team`: the one of several that is
    looked at."""
    return [replace(tile, href=within(tile.href, team)) for tile in _tiles(found, held=held)]


def within(href: str, team: str) -> str:
    """The address of a list, of this team alone if it is named."""
    return f"{href}{'&' if '?' in href else '?'}team={team}" if team else href


def _tiles(found: Standing, *, held: bool) -> list[Tile]:
    jobs, review, dead = found.jobs, found.review, found.dead
    return [
        _review(review),
        Tile(
            *("failed", "bad", "Failing jobs", f"{jobs.failing:,}", f"of {jobs.total:,}"),
            _jobs("failing"),
        ),
        _late(jobs.late, review.missed),
        Tile("dead", "bad", "Dead letters", dead.words, _groups(dead), reverse("dead-letters")),
        _in_flight(found),
        Tile(
            *("paused", "", "Paused jobs", f"{jobs.paused:,}"),
            *("a hold is on" if held else "no hold is on", _jobs("paused")),
        ),
    ]


def _review(review: Resting) -> Tile:
    said = "oldest" if review.oldest else "nothing waits"
    about = ("review", "ask", "Needs review", review.words, said)
    return Tile(*about, reverse("review"), since=review.oldest)


def _late(late: int, missed: int) -> Tile:
    said = f"{late:,} late now" + (f", {missed:,} missed, in review" if missed else "")
    href = _jobs("late") if late or not missed else f"{reverse('review')}?class=missed"
    return Tile("waiting", "late", "Late or missed", f"{late + missed:,}", said, href)


def _in_flight(found: Standing) -> Tile:
    running = found.runs.get(State.RUNNING, Resting())
    retrying = found.runs.get(State.RETRYING, Resting())
    said = f"{running.words} running" + (f", {retrying.words} retrying" if retrying.count else "")
    href = f"{reverse('runs')}?state=in_flight"
    return Tile("running", "run", "In flight", found.in_flight.words, said, href)


def _groups(dead: Resting) -> str:
    return f"in {dead.groups:,} group{'s' * (dead.groups != 1)}" if dead.count else "none wait"


def _jobs(state: str) -> str:
    return f"{reverse('jobs')}?state={state}"
