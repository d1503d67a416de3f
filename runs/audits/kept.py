"""The audits that were made, team by team, as they are kept and shown."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now

from jobs import clock
from jobs.api_shapes import instant
from jobs.models import Team
from jobs.roles import Act
from runs.audits import audit
from runs.audits.audit import Report
from runs.models import AuditReport

_COUNTS = ("jobs", "due", "runs", "skipped", "pruned")


def kept(since: datetime) -> Report:
    """An audit of each team's jobs since then, each kept as a row; all of them as one. Rows that
    are older than the runs that are kept go."""
    AuditReport.objects.filter(made_at__lt=Now() - timedelta(days=settings.KEEP_RUNS_DAYS)).delete()
    whole = Report(since, clock.now() - audit.SETTLED)
    for team in Team.objects.order_by("id"):
        found = audit.report(since, team=team.id)
        _keep(team, found)
        whole.until = found.until
        whole.gaps += found.gaps
        for name in _COUNTS:
            setattr(whole, name, getattr(whole, name) + getattr(found, name))
    return whole


def of(user_id: int | None) -> QuerySet[AuditReport]:
    """The audits of the teams in which this person may read, the newest first."""
    teams = Team.objects.where(user_id, Act.READ)
    return AuditReport.objects.filter(team__in=teams).select_related("team").order_by("-id")


def as_json(kept: AuditReport) -> dict[str, Any]:
    """A kept audit as the API shows it."""
    return {
        "id": kept.id,
        "team": kept.team.slug,
        "made_at": instant(kept.made_at),
        "since": instant(kept.since),
        "until": instant(kept.until),
        **{name: getattr(kept, name) for name in _COUNTS},
        "gaps": kept.gaps,
    }


def _keep(team: Team, found: Report) -> None:
    counts = {name: getattr(found, name) for name in _COUNTS}
    gaps = [gap.as_json() for gap in found.gaps]
    window = {"since": found.since, "until": found.until}
    AuditReport.objects.create(team=team, made_at=Now(), gaps=gaps, **window, **counts)
