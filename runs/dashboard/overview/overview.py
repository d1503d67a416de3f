"""The Overview, region by region: what each shows, for the page, for its polls and for the API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Lower
from django.urls import reverse

from jobs import clock
from jobs.models import Due, Hold, Job, Team, User
from jobs.roles import Act
from jobs.schedules.schedules import canonical_instant
from runs import members, old_snapshots
from runs.audits import kept as audits
from runs.dashboard import bars, marked, windows
from runs.dashboard.overview import (
    attention,
    first_steps,
    machinery,
    numbers,
    standing,
    tiles,
)
from runs.dashboard.overview.numbers import IN_FLIGHT, PARTS, Numbers
from runs.dashboard.stances import job_stances, outcomes
from runs.dashboard.stars import stars
from runs.dashboard.windows import LENGTHS, USUAL, Window

NEXT = 10  # moments to come
STARRED = 10  # jobs
_FEW_JOBS = 5  # with no more than these a team is new


@dataclass
class Reader:
    """Who looks, and what of: the things of the teams that they read."""

    user: User
    now: datetime = field(default_factory=clock.now)
    teams: list[UUID] = field(default_factory=list)
    only: str = ""  # the slug of the one team that is looked at, of several

    def __post_init__(self) -> None:
        if not self.teams:
            rows = Team.objects.where(self.user.id, Act.READ)
            self.teams = list(rows.values_list("id", flat=True))


def summary(reader: Reader) -> dict[str, Any]:
    """Is anything wrong, and six numbers."""
    found = standing.lately(reader.teams, reader.now)
    ours = Q(team=None) | Q(team__in=reader.teams)
    held = Hold.objects.where(reader.user.id).filter(ours, ended_at=None).exists()
    may_register = Team.objects.where(reader.user.id, Act.EDIT).exists()
    few = found.jobs.total <= _FEW_JOBS and bool(reader.teams) and not reader.only
    return {
        "standing": found,
        "tiles": tiles.of(found, held=held, team=reader.only),
        "may_register": may_register,
        "steps": first_steps.of(reader.user) if few else None,
    }


@dataclass(frozen=True)
class Part:
    """A part of what was due, and the list of exactly these runs."""

    name: str
    count: int
    href: str

    @property
    def number(self) -> str:
        """How many, for people."""
        return f"{self.count:,}"

    @property
    def words(self) -> str:
        """What it is called."""
        return self.name.replace("_", " ")


def counted(reader: Reader, length: str = USUAL) -> dict[str, Any]:
    """What was due of late, and what has become of it; `length`: of the window."""
    window = windows.ending(LENGTHS.get(length, LENGTHS[USUAL]), reader.now)
    found = numbers.lately(reader.teams, window, reader.now)
    steps = bars.steps(window.starts, found.steps)
    return {
        "numbers": found,
        "due": f"{found.due:,}",
        "most": f"{numbers.MOST:,}",
        "parts": _parts(found, reader.only),
        "all": _runs(window, team=reader.only),
        "steps": steps,
        "layers": bars.LAYERS,
        "base": bars.BASE,
        "marks": window.starts[:: window.length.marks],
        "width": bars.WIDTH * len(steps),
        "label": bars.label(steps, window.length.each),
        "lengths": LENGTHS.values(),
        "audited": _audited(reader),
    }


def counted_and_marked(reader: Reader, length: str = USUAL) -> dict[str, Any]:
    """The same with what changed meanwhile."""
    found = counted(reader, length)
    shown = marked.in_window(reader.teams, found["numbers"].window, found["steps"])
    return {**found, "marked": shown}


def _parts(found: Numbers, team: str) -> list[Part]:
    states = {name: [IN_FLIGHT] if name == IN_FLIGHT else list(of) for name, of in PARTS.items()}
    return [
        Part(name, count, _runs(found.window, *states[name], team=team))
        for name, count in found.parts.items()
        if count
    ]


def _runs(window: Window, *states: str, team: str) -> str:
    since = canonical_instant(window.since)
    href = f"{reverse('runs')}?{''.join(f'state={state}&' for state in states)}since={since}"
    return tiles.within(href, team)


@dataclass(frozen=True)
class Audited:
    """The last audits of the teams: when the newest was made, and how many gaps they found."""

    at: datetime
    gaps: int


def _audited(reader: Reader) -> Audited | None:
    newest = list(audits.of(reader.user.id).filter(team__in=reader.teams)[: len(reader.teams)])
    of_team = {report.team_id: report for report in reversed(newest)}
    if not of_team:
        return None
    made = max(report.made_at for report in of_team.values())
    return Audited(made, sum(len(report.gaps) for report in of_team.values()))


def needed(reader: Reader) -> dict[str, Any]:
    """What needs somebody."""
    return {"lines": attention.lines(reader.teams, reader.now), "each": attention.EACH}


def coming(reader: Reader) -> dict[str, Any]:
    """The next moment of each of the jobs that are due next."""
    rows = Due.objects.filter(
        job__team__in=reader.teams, job__paused=False, job__deleted_at=None, at__gt=reader.now
    )
    return {"dues": list(rows.select_related("job__team").order_by("at", "job_id")[:NEXT])}


def at_hand(reader: Reader) -> dict[str, Any]:
    """The jobs that the reader has starred, by name: how each stands, its last runs, its next
    moment. One narrow look where there are none."""
    mine = Job.objects.filter(stars.is_starred(reader.user.id), team__in=reader.teams)
    rows = mine.filter(deleted_at=None).select_related("due").order_by(Lower("name"), "id")
    jobs = list(rows.only("id", "name", "paused", "due")[: STARRED + 1])
    if not jobs:
        return {"starred": [], "more": False}
    shown = jobs[:STARRED]
    stands = job_stances.of(job.id for job in shown)
    past = outcomes.past(job.id for job in shown)
    rows_shown = [(job, stands[job.id], past[job.id]) for job in shown if job.id in stands]
    return {"starred": rows_shown, "more": len(jobs) > STARRED}


def works(reader: Reader) -> dict[str, Any]:
    """Beats, workers, the queue; to the platform's staff also what holds them up."""
    is_staff = reader.user.is_staff
    held = old_snapshots.oldest() if is_staff else None
    is_old = held is not None and held.seconds > old_snapshots.OLD.total_seconds()
    return {
        "machinery": machinery.look(),
        "behind": members.behind() if is_staff else [],
        "snapshot": held if is_old else None,
    }


@dataclass(frozen=True)
class Region:
    """A part of the page that is asked for by itself, every so many seconds."""

    shows: Callable[..., dict[str, Any]]  # of a Reader, and the length of a window
    template: str
    every: int


REGIONS = {
    "summary": Region(summary, "dashboard/_summary.html", 10),
    "attention": Region(needed, "dashboard/_attention.html", 10),
    "numbers": Region(counted_and_marked, "dashboard/_numbers.html", 60),
    "starred": Region(at_hand, "dashboard/_starred.html", 10),
    "next": Region(coming, "dashboard/_next.html", 10),
    "machinery": Region(works, "dashboard/_machinery.html", 10),
}
