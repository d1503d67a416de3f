"""What the page of a job shows of its runs: the pages of jobs know nothing of them themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django import template

from jobs import clock
from jobs.models import Job, Team
from runs.channels import messages
from runs.channels.messages import Kind
from runs.dashboard import marked
from runs.dashboard.events import events
from runs.dashboard.finding import refused
from runs.dashboard.job import activity, month, why
from runs.dashboard.job.activity import Activity
from runs.dashboard.job.why import Why
from runs.dashboard.stars import stars
from runs.models import Channel, Run
from runs.states import State

Told = tuple[Channel, list[str]]

LAST_ACTS = 30
MOST_UNDECIDED = 99

register = template.Library()


@register.simple_tag
def why_not(job: Job) -> Why:
    """Why the job has not run."""
    return why.of_job(job, clock.now())


@register.simple_tag
def undecided_of(job: Job) -> list[Run]:
    """Its runs that wait for a person, the oldest first: at most MOST_UNDECIDED and one more, by
    `runs_in_the_way`."""
    rows = Run.objects.filter(job=job, state=State.REVIEW).only("id", "review_at")
    return list(rows.order_by("review_at", "id")[: MOST_UNDECIDED + 1])


@register.simple_tag(takes_context=True)
def is_starred(context: Any, job: Job) -> bool:
    """Whether the reader has starred it."""
    return bool(stars.among(context["request"].user.id, [job.id]))


@register.simple_tag
def activity_of(job: Job) -> Activity:
    """Its newest runs as pictures."""
    return activity.of_job(job)


@register.simple_tag
def marked_over(job: Job, shown: Activity) -> marked.OfJob:
    """What changed while these runs ran."""
    return marked.over(job, shown)


@register.simple_tag
def hears(job: Job | None, teams: Mapping[str, Team]) -> list[tuple[Team, list[Told]]]:
    """Who hears of the job's trouble: the channels of its team, or of each team that a new one
    may go to, with what each is told of."""
    asked = [job.team] if job else list(teams.values())
    rows: dict[UUID | None, list[Told]] = {}
    for channel in Channel.objects.filter(team__in=asked):
        labels = [messages.WORDS[Kind(kind)].label for kind in channel.kinds]
        rows.setdefault(channel.team_id, []).append((channel, labels))
    return [(team, rows.get(team.id, [])) for team in asked]


@register.simple_tag
def anybody_hears(job: Job, kind: str) -> bool:
    """Whether any channel of the job's team is told of this kind of thing."""
    return Channel.objects.filter(team=job.team_id, kinds__contains=[Kind(kind)]).exists()


@register.simple_tag(takes_context=True)
def acts_on(context: Any, job: Job) -> list[events.Shown]:
    """The last acts on the job and its runs, of those that this person may read."""
    rows = events.of(context["request"].user).filter(job_id=job.id)
    return events.shown(list(rows[:LAST_ACTS]))


@register.simple_tag(takes_context=True)
def month_of(context: Any, job: Job) -> month.Month:
    """The month that `?month=` names, in the reader's zone."""
    asked = context["request"].GET.get("month", "")
    return month.of_job(job, clock.now(), context["reader_zone"], asked)


@register.simple_tag(takes_context=True)
def refused_of(context: Any) -> list[refused.Refused]:
    """What the page of a job did not understand of its address."""
    request, wrong = context["request"], {}
    tabs = [name for name, _ in context["tabs"]]
    if request.GET.get("tab", tabs[0]) not in tabs:
        wrong["tab"] = f"Choose from {', '.join(tabs)}; {context['tab']} is shown."
    if (asked := request.GET.get("month", "")) and month.read(asked) is None:
        wrong["month"] = "Give a month as 2026-11; the one of today is shown."
    return refused.of(request, beside=("tab", "month"), wrong=wrong)


@register.simple_tag(takes_context=True)
def refused_year(context: Any) -> list[refused.Refused]:
    """The same of the page of a calendar, which shows a year."""
    request, wrong = context["request"], {}
    if request.GET.get("year", str(context["year"])) != str(context["year"]):
        said = f"Give a year from 1970 to 2199; {context['year']} is shown."
        wrong = {"year": said}
    return refused.of(request, beside=("year",), wrong=wrong)
