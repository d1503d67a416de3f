"""What is the matter with a job: one rule for the Overview, the list of jobs and the API.

Each is a condition that the database works out. Runs that are under way or rest are found by the
partial indexes on them, the newest outcome of a job by `runs_of_a_job`; history is never read.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, TypeVar

from django.db.models import (
    DateTimeField,
    DurationField,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Greatest, Now
from django.db.models.lookups import IsNull, LessThan

from jobs.models import Due, Hold
from runs.models import Run, Tried
from runs.states import State

OUTCOMES = (State.SUCCEEDED, State.CLOSED, State.DEAD, State.REVIEW)  # the runs that tell
_FENCE = 1_000_000  # of a subquery: more than there are; it is worked out by itself
_UNFINISHED = (State.REVIEW, State.DEAD, State.RETRYING)

Rows = TypeVar("Rows", bound=QuerySet[Any])


# Of each job the newest run that is bad, unless a good one has come after it. Bad ones are few,
# and one probe of `runs_of_a_job` each says the rest.
_FAILING = """
select bad.job_id
  from (select distinct on (job_id) job_id, id
          from (select job_id, id from runs_run where state = 'REVIEW'
                union all
                select job_id, id from runs_run where state = 'DEAD') each
         order by job_id, id desc) bad
 where (select o.state from runs_run o
         where o.job_id = bad.job_id and o.id > bad.id and o.state in ('SUCCEEDED', 'CLOSED')
         order by o.id desc limit 1) is null
"""


def failing(jobs: Rows) -> Rows:
    """The jobs whose newest run with an outcome died or is in review. What a person closed since,
    or what has succeeded since, tells otherwise."""
    found: Rows = jobs.filter(is_failing())
    return found


def is_failing() -> Q:
    """The same, of a job."""
    return Q(id__in=RawSQL(_FAILING, ()))  # noqa: S611 (our own words)


def is_new() -> Q:
    """Of a job: no run of it has had an outcome yet, so far as one is kept."""
    newest = Run.objects.filter(job=OuterRef("pk"), state__in=OUTCOMES).order_by("-id")
    return Q(IsNull(Subquery(newest.values("state")[:1]), True))


def is_known_as_tried() -> Q:
    """Of a job: that it is not new has been found out before."""
    return Q(id__in=Tried.objects.values("job_id"))


def late(jobs: Rows) -> Rows:
    """The jobs of which something is due and has not started within their `late_after`."""
    found: Rows = jobs.filter(is_late())
    return found


def is_late() -> Q:
    """Of a job: a run of it is late, or its moment is and has no run yet."""
    return Q(id__in=late_runs(Run.objects.all()).order_by().values("job_id")) | (
        Q(id__in=overdue(Due.objects.all()).values("job_id"))
    )


def late_runs(runs: Rows) -> Rows:
    """Those that have not started so long after their moment; one that waits for a hold waits
    because somebody said so. The same as runs/outbox.py tells of."""
    unstarted = Q(state__in=(State.CLAIMED, State.ENQUEUED)) | Q(state=State.WAITING, hold=None)
    found: Rows = runs.filter(
        unstarted, attempt=0, due_at__isnull=False, job__deleted_at=None
    ).filter(_past(Greatest(F("due_at"), F("not_before"))))
    return found


def late_of(runs: Rows) -> Rows:
    """Those of these runs that are late. Which are is found first, by the indexes on what has not
    started, and then whose they are: the other way round each job would be asked."""
    ids = late_runs(Run.objects.all()).order_by().values("id")
    found: Rows = runs.filter(id__in=ids[:_FENCE])
    return found


def overdue(dues: Rows) -> Rows:
    """The moments so long behind that no beat has claimed; the end of a pause is none."""
    found: Rows = dues.filter(job__paused=False, at__lt=Now()).filter(_past(F("at")))
    return found


def rests() -> Q:
    """Of a job: a run of it needs a person, or goes on after a failure."""
    found = Q()
    for state in _UNFINISHED:  # one partial index each
        found |= Q(id__in=Run.objects.filter(state=state).order_by().values("job_id"))
    return found


def held() -> Q:
    """Of a job: a hold of its team, or of the whole installation, is on. There are few, and often
    none: they are looked up first."""
    on = list(Hold.objects.filter(ended_at=None).values_list("team_id", flat=True))
    return Q(pk__isnull=False) if None in on else Q(team__in=on)


def _past(moment: Any) -> LessThan:
    """The moment of a run or a due row, and its job's `late_after` seconds, are over."""
    patience = ExpressionWrapper(
        F("job__late_after") * Value(timedelta(seconds=1), output_field=DurationField()),
        output_field=DurationField(),
    )
    return LessThan(ExpressionWrapper(moment + patience, output_field=DateTimeField()), Now())
