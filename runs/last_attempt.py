"""What a list of runs asks of the last attempt of each."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import OuterRef, Subquery

from runs.ages import lasted
from runs.models import Attempt, Run
from runs.models.run import RunQuerySet


def with_end(runs: RunQuerySet) -> RunQuerySet:
    """The same runs, each with when its last attempt ended as `ended`: for the few of a page."""
    last = Attempt.objects.filter(run=OuterRef("pk")).order_by("-number")
    return runs.annotate(ended=Subquery(last.values("ended_at")[:1]))


def length(run: Run) -> timedelta | None:
    """How long the last attempt of one of these took, once that has ended: what a person decides
    later is no part of it."""
    return lasted(run.started_at, getattr(run, "ended", None))
