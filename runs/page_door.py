"""Which runs a page may show or act on: the counterpart of jobs/page_door.py."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, QueryDict
from django.shortcuts import get_object_or_404

from jobs.page_door import demand, person
from jobs.roles import Act
from runs.models import Run
from runs.models.run import RunQuerySet

# What a list shows of a run and its job: not the snapshot, the widest column of the widest table.
_OF_RUN = (
    *("id", "key", "due_at", "skipped_until", "skipped_count", "state", "effect", "review_class"),
    *("reason", "blocked_by", "origin", "idempotent", "attempt", "failures", "max_attempts"),
    *("created_at", "started_at", "finished_at", "review_at", "error_group", "died_at"),
)
_LISTED = (
    *_OF_RUN,
    *("job__name", "job__schedule", "job__deleted_at", "job__runbook", "job__team__slug"),
)
# What tells whether a row of a list differs: an edit of a job makes a version.
SEEN = (*_OF_RUN, "job__name", "job__version", "job__deleted_at", "job__team__slug")


def runs_of(request: HttpRequest) -> RunQuerySet:
    """The runs of this person's teams."""
    return Run.objects.where(person(request).id)


def listed(request: HttpRequest) -> RunQuerySet:
    """The same for a list, newest first."""
    return runs_of(request).only(*_LISTED).order_by("-id")


def run_for(request: HttpRequest, run_id: UUID, act: Act = Act.READ) -> Run:
    """The run, for this. Another team's is 404, as if it were not there; without leave, 403."""
    run = get_object_or_404(runs_of(request), id=run_id)
    demand(request, run.job.team_id, act)
    return run


def address(request: HttpRequest, /, **changed: object) -> str:
    """This page's address with other parameters, of any name; an empty one is left out."""
    parameters: QueryDict = request.GET.copy()
    for name, value in changed.items():
        parameters.pop(name, None)
        if value:
            parameters[name] = str(value)
    return f"?{parameters.urlencode()}"
