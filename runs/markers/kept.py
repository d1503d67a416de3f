"""Which markers concern a job or some teams: each answer is one look along `markers_of_a_team`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet

from jobs.models import Job
from runs.models import Attempt, Marker
from runs.outcomes import Kind

MOST = 20  # in one picture, the newest
SHORTLY = timedelta(hours=1)  # before a failure: what is older is not shown beside it
_NEAR = 3
_WELL = ("", Kind.SUCCEEDED, Kind.LATER, Kind.ACCEPTED)


def of_teams(teams: Collection[UUID], since: datetime, until: datetime) -> list[Marker]:
    """The last MOST and one more of these teams in [since, until), the newest first."""
    rows = Marker.objects.filter(team__in=list(teams), at__gte=since, at__lt=until)
    return list(rows.select_related("team").order_by("-at", "-id")[: MOST + 1])


def of_job(job: Job, since: datetime) -> list[Marker]:
    """The last MOST and one more that concern the job, from then on, the newest first."""
    return list(_concerning(job).filter(at__gte=since)[: MOST + 1])


@dataclass(frozen=True)
class Near:
    """A marker shortly before a failure: how long before it, or within it after its beginning."""

    marker: Marker
    gap: timedelta
    within: bool = False


def before_failure(job: Job, attempts: Sequence[Attempt]) -> list[Near]:
    """The last few in the hour before the first failed attempt of a run of the job, and while
    that was under way, the newest first. Without a failed attempt nothing is asked."""
    failed = next((one for one in attempts if one.ended_at and one.outcome not in _WELL), None)
    if failed is None or failed.ended_at is None:
        return []
    began = failed.started_at
    rows = _concerning(job).filter(at__gte=began - SHORTLY, at__lte=max(began, failed.ended_at))
    return [Near(one, abs(began - one.at), within=one.at > began) for one in rows[:_NEAR]]


def before(job: Job, at: datetime) -> list[Near]:
    """The last few that concern the job in the hour before an instant, the newest first."""
    rows = _concerning(job).filter(at__gte=at - SHORTLY, at__lte=at)
    return [Near(one, at - one.at) for one in rows[:_NEAR]]


def _concerning(job: Job) -> QuerySet[Marker]:
    rows = Marker.objects.filter(Q(tag="") | Q(tag__in=job.tags), team=job.team_id)
    return rows.order_by("-at", "-id")
