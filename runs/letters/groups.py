"""Dead letters in groups: those of one job that died alike. Look at a group, choose out of it,
discard what was chosen.

Nobody acts on «all»: a choice is a list of runs, or the group as of an instant together with how
many were seen. Where that number is not the one there is, nothing is done and the new one is told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.db.models import Count, Max, Min, QuerySet
from django.db.models.functions import Coalesce, Now

from jobs import clock, events
from jobs.models import Job, User
from runs import decisions, error_groups, release, subjects, transitions
from runs.arrays import array
from runs.models import Decision, Run
from runs.states import State

MOST = 10_000  # runs that one choice takes: the oldest
BATCH = 500
ORDER = ("-last_at", "error_group")
_OF_WHAT = Coalesce("due_at", "created_at")

log = structlog.get_logger("onebeat.dead_letters")


class Differs(Exception):
    """There are `count` dead runs now, not as many as were seen."""

    def __init__(self, count: int, expected: int) -> None:
        self.count, self.expected = count, expected
        super().__init__(
            f"{expected} dead letter{'s' * (expected != 1)} were seen, {count} are there by now. "
            "Nothing was done: look again."
        )


@dataclass(frozen=True)
class Group:
    """Dead runs of `job` that died alike: how many, of when; `reason` is what the newest of them
    said, `run_id`. `succeeded_at`: a run of the job has succeeded since the last of them died."""

    id: UUID
    job: Job
    reason: str
    run_id: UUID | None
    count: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
    oldest_due_at: datetime | None = None
    succeeded_at: datetime | None = None

    @property
    def said(self) -> str:
        """What they all died of."""
        return error_groups.alike(self.reason)


@dataclass(frozen=True)
class Choice:
    """Dead runs of a group: these, or all that were dead `as_of` an instant. `expected`: how many
    the person saw; None for a list, which says it itself."""

    group: UUID
    as_of: datetime
    expected: int | None = None
    run_ids: tuple[UUID, ...] = ()

    @property
    def rows(self) -> QuerySet[Run]:
        """Those of them that are dead still, the oldest moment first."""
        dead = Run.objects.filter(
            error_group=self.group, state=State.DEAD, died_at__lte=self.as_of
        ).order_by(_OF_WHAT, "id")
        return dead.filter(id__in=self.run_ids) if self.run_ids else dead

    def check(self, count: int) -> None:
        """Raises Differs."""
        expected = len(self.run_ids) if self.expected is None else self.expected
        if count != expected:
            raise Differs(count, expected)


@dataclass(frozen=True)
class Preview:
    """What a choice holds now: how many runs, at most MOST of `total`; the first to go."""

    choice: Choice
    count: int
    more: bool
    first: Run | None
    last: Run | None

    def seconds(self, per_minute: int) -> int:
        """How long a replay of it takes at this pace, if nothing is in the way."""
        return max(0, self.count - 1) * 60 // per_minute


def groups(rows: QuerySet[Run]) -> QuerySet[Any, dict[str, Any]]:
    """The groups of the dead among these runs, to be paged by ORDER; `told` makes them Groups."""
    of: Any = rows.filter(state=State.DEAD).order_by().values("job_id", "error_group")
    found: QuerySet[Any, dict[str, Any]] = of.annotate(
        count=Count("id"),
        first_at=Min("died_at"),
        last_at=Max("died_at"),
        oldest_due_at=Min(_OF_WHAT),
    )
    return found


# What lists say of a job: its row is wide.
_OF_JOB = ("name", "schedule", "tags", "version", "deleted_at", "runbook", "team__slug")

# A run that was replayed counts for its group however old it is; else the newest of the job do.
_NEWEST = """
select g.id, newest.id, newest.reason, since.at
  from unnest(%(groups)s::uuid[], %(jobs)s::uuid[], %(lasts)s::timestamptz[])
       as g(id, job_id, last_at)
 cross join lateral (
   select id, reason from runs_run where error_group = g.id and state = 'DEAD'
    order by id desc limit 1) newest
 cross join lateral (
   select max(finished_at) as at from (
     (select state, finished_at from runs_run
       where job_id = g.job_id order by id desc limit 100)
     union all
     (select state, finished_at from runs_run
       where error_group = g.id and state = 'SUCCEEDED' order by id desc limit 100)) recent
    where state = 'SUCCEEDED' and finished_at > g.last_at) since
"""


def told(found: Sequence[dict[str, Any]]) -> list[Group]:
    """The groups, each with its newest run and whether its cause seems gone; one that was emptied
    meanwhile is left out."""
    ids, jobs = [row["error_group"] for row in found], {row["job_id"] for row in found}
    lasts = [row["last_at"] for row in found]
    given = {"groups": array(ids), "jobs": array([row["job_id"] for row in found])}
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST, {**given, "lasts": array(lasts).replace(" ", "T")})
        newest = {group: rest for group, *rest in cursor.fetchall()}
    of = Job.objects.select_related("team").only(*_OF_JOB).in_bulk(jobs)
    return [
        _group(of, row, *newest[row["error_group"]])
        for row in found
        if row["error_group"] in newest
    ]


def _group(
    of: dict[UUID, Job], row: dict[str, Any], run_id: UUID, reason: str, since: datetime | None
) -> Group:
    numbers = {name: row[name] for name in ("count", "first_at", "last_at", "oldest_due_at")}
    job = of[row["job_id"]]
    return Group(row["error_group"], job, reason, run_id, **numbers, succeeded_at=since)


def group(rows: QuerySet[Run], group_id: UUID) -> Group | None:
    """The group, out of these runs; one of which none is dead any more has a count of none. None
    where no run of them ever died like this."""
    of = rows.filter(error_group=group_id)
    if found := told(list(groups(of))):
        return found[0]
    known = of.select_related("job__team").order_by("-id").first()
    return Group(group_id, known.job, _died_of(known), None) if known else None


def _died_of(run: Run) -> str:
    """What a run said as it died, that may have been told something else since."""
    failed = run.attempts.exclude(outcome="succeeded").exclude(reason="")
    reasons = failed.order_by("-number").values_list("reason", flat=True)
    alike = (text for text in reasons if error_groups.group_of(run.job_id, text) == run.error_group)
    return next(alike, run.reason)


def choose(group_id: UUID, run_ids: Iterable[UUID] = ()) -> Choice:
    """These runs of the group, or all that are dead just now."""
    return Choice(group_id, clock.now(), run_ids=tuple(dict.fromkeys(run_ids)))


def look(choice: Choice) -> Preview:
    """What the choice holds."""
    found = choice.rows[: MOST + 1].count()
    count = min(found, MOST)
    shown = choice.rows.select_related("job", "job__team").defer("snapshot")
    last = shown[count - 1 : count].first() if count else None
    return Preview(choice, count, found > MOST, shown.first(), last)


@dataclass(frozen=True)
class Discarded:
    """How many were closed, and how many somebody had moved meanwhile."""

    discarded: int
    passed_over: int


def discard(choice: Choice, *, note: str, by: User) -> Discarded:
    """The chosen dead runs closed for good, with the reason. Raises NoteMissing, Differs."""
    note = decisions.required(note)
    chosen = list(choice.rows.values_list("id", "job_id")[:MOST])
    choice.check(len(chosen))
    closed = 0
    ids = sorted(run_id for run_id, _ in chosen)
    for start in range(0, len(ids), BATCH):
        closed += _discard(chosen[0][1], ids[start : start + BATCH], note, by)
    log.info("dead_letters.discarded", group=str(choice.group), runs=closed)
    return Discarded(closed, len(ids) - closed)


@transaction.atomic
def _discard(job_id: UUID, ids: Sequence[UUID], note: str, by: User) -> int:
    job = release.lock(job_id)
    dead = Run.objects.select_for_update().filter(id__in=ids, state=State.DEAD).order_by("id")
    found = list(dead.defer("snapshot"))
    reason = f"Discarded: {note}"
    transitions.move_dead([run.id for run in found], State.CLOSED, reason=reason)
    record("discard", job, found, State.CLOSED, note=note, by=by)
    return len(found)


def record(
    decision: str,
    job: Job,
    moved: Collection[Run],
    to: State,
    *,
    note: str,
    by: User | None,
    second: User | None = None,
) -> None:
    """Write down for each run of the job, as it was when it was dead, who moved it and why.
    `second` approved what `by` asked for."""
    about = [subjects.of_run(run, job) for run in moved]
    events.record_each(f"run.{decision}", about, by=by, reason=note)
    Decision.objects.bulk_create(
        Decision(
            run_id=run.id,
            by=by,
            second=second,
            at=Now(),
            decision=decision,
            note=note,
            from_state=State.DEAD,
            to_state=to,
            attempt=run.attempt,
        )
        for run in moved
    )
