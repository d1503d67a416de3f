"""A backfill: the moments of a range that have no run are run afterwards, a few at a time.

`begin` stores it, any beat carries it on (`advance`), one run a moment, each with the key of its
moment. A backfill gives way: what is due is claimed first, and where a run or a review is in
the way of its next moment it makes none, so that no moment of the schedule is ever dropped for
one that waits. Locks: the backfill, then the job's, as everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.db import IntegrityError, connection, transaction
from django.db.models import Count
from django.db.models.functions import Now

from jobs import clock, editing, events, holds
from jobs.models import Due, Job, User
from jobs.schedules.errors import ScheduleError
from runs import insert, moments, overlap, release, snapshots, standing, subjects, transitions
from runs.backfills.span import Range, preview
from runs.birth import Birth
from runs.models import Backfill, Run
from runs.models.backfill import Progress
from runs.moments import TICK
from runs.overlap import Standing
from runs.states import UNDER_WAY, Origin, State

TAKEN_BACK = "Its backfill was stopped before it started."
_LOOK = 100  # moments looked at in one turn

log = structlog.get_logger("onebeat.backfill")


class AlreadyOpen(Exception):
    """The job has a backfill that is not over: `backfill`."""

    def __init__(self, backfill: Backfill) -> None:
        self.backfill = backfill
        super().__init__(
            f"Backfill {backfill.id} of this job is not over. Wait until it is, or stop it."
        )


def begin(
    job_id: UUID, asked: Range, *, by: User | None, reverse: bool = False, max_active: int = 1
) -> Backfill:
    """A backfill of the range, carried on by the beats from now on. Raises DefinitionError,
    AlreadyOpen, editing.Gone."""
    job = Job.objects.filter(id=job_id, deleted_at=None).first()
    if job is None:
        raise editing.Gone
    found = preview(job, asked)
    try:
        with transaction.atomic():
            backfill = Backfill.objects.create(
                job=job,
                since=asked.since,
                until=asked.until,
                reverse=reverse,
                max_active=max_active,
                by=by,
                created_at=clock.now(),
                cursor=asked.until + TICK if reverse else asked.since - TICK,
                moments=found.moments,
            )
            events.record("backfill.begun", subjects.of_backfill(backfill, job), by=by)
    except IntegrityError as error:
        raise _open_one(job, error) from None
    log.info("backfill.begun", **_told(backfill), moments=found.moments)
    return backfill


def stop(backfill_id: UUID, *, by: User | None) -> Backfill:
    """The backfill stopped: it makes no more runs. Those of it that no worker has started are
    skipped, so that a later backfill may make up for them; those under way go on. One that is
    over already stays as it is."""
    with transaction.atomic():
        backfill = Backfill.objects.select_for_update(of=("self",)).get(id=backfill_id)
        job = release.lock(backfill.job_id)
        if backfill.state == Progress.OPEN:
            who = f" by {by.get_username()}" if by else ""
            _end(backfill, Progress.STOPPED, f"Stopped{who}.")
            events.record("backfill.stopped", subjects.of_backfill(backfill, job), by=by)
            _take_back(backfill)
            release.waiting(job)
    return backfill


def counts(backfill: Backfill) -> dict[str, int]:
    """How many of its runs are in each state."""
    rows = Run.objects.filter(backfill=backfill).order_by().values_list("state")
    found = dict(rows.annotate(runs=Count("id")))
    return {state.value: found[state] for state in State if state in found}


def _open_one(job: Job, error: IntegrityError) -> Exception:
    """What the refusal of a second open backfill means."""
    there = Backfill.objects.filter(job=job, state=Progress.OPEN).first()
    return AlreadyOpen(there) if there and "one_open_backfill_of_a_job" in str(error) else error


# ── carried on ───────────────────────────────────────────────────────────────────────────

_OPEN = """
select b.id, (select count(*) from runs_run r
               where r.backfill_id = b.id and r.state = any(%(under_way)s)) < b.max_active
  from runs_backfill b
 where b.state = 'open'
 order by b.id limit 500
"""


@dataclass(frozen=True)
class Carried:
    """What one look did: backfills that are open, and moments dealt with."""

    open: int = 0
    moments: int = 0


@dataclass
class Turn:
    """What one turn of a backfill does: runs that are born, moments passed over, how far it has
    come, and what is in the way of the next."""

    cursor: datetime
    births: list[Birth] = field(default_factory=list)
    passed: int = 0
    waits: str = ""
    over: bool = False  # there is no moment left


def advance_all() -> Carried:
    """Carry on every open backfill that has room."""
    with connection.cursor() as cursor:
        cursor.execute(_OPEN, {"under_way": [state.value for state in UNDER_WAY]})
        found = cursor.fetchall()
    dealt = sum(advance(backfill_id) for backfill_id, has_room in found if has_room)
    return Carried(len(found), dealt)


@transaction.atomic
def advance(backfill_id: UUID) -> int:
    """The next runs of a backfill, as many as there is room for; none where another beat has it,
    or where something of its job is due: the claim comes first. How many moments it dealt with:
    made into runs, or passed over."""
    mine = Backfill.objects.select_for_update(of=("self",), skip_locked=True)
    backfill = mine.filter(id=backfill_id, state=Progress.OPEN).first()
    if backfill is None:
        return 0
    job, now = release.lock(backfill.job_id), clock.now()
    if job.deleted_at is not None:
        _end(backfill, Progress.STOPPED, "Stopped: its job was deleted.")
        return 0
    if Due.objects.filter(job=job, at__lte=now).exists():
        return 0
    under_way = Run.objects.filter(backfill=backfill, state__in=UNDER_WAY).count()
    try:
        turn = _turn(backfill, job, room=backfill.max_active - under_way)
    except ScheduleError as error:
        _end(backfill, Progress.STOPPED, f"Stopped: its moments cannot be worked out. {error}")
        return 0
    if turn.over and not under_way:
        _end(backfill, Progress.DONE, "")
        return 0
    return _written(backfill, turn, now)


def _turn(backfill: Backfill, job: Job, *, room: int) -> Turn:
    turn = Turn(backfill.cursor)
    if hold := holds.over(job.team_id):
        turn.waits = hold.words
        return turn
    history = moments.of_job(job.id, backfill.since)
    batch = _batch(backfill, history)
    there = moments.there(job.id, batch)
    situation = standing.of_locked(job)
    for moment in batch:
        if moment in there:
            turn.passed += 1
        elif len(turn.births) >= room:
            return turn
        elif waits := overlap.in_the_way(moment, release.rule_of(job), situation):
            turn.waits = "" if turn.births else waits.reason
            return turn
        else:
            birth = _birth(backfill, history.line.version_at(moment), moment)
            turn.births.append(birth)
            situation = situation.with_active(Standing(birth.id, moment))
        turn.cursor = moment
    turn.over = not batch
    return turn


def _batch(backfill: Backfill, history: moments.History) -> list[datetime]:
    """The next moments in its direction."""
    if backfill.reverse:
        return history.newest(backfill.since, backfill.cursor - TICK, _LOOK)
    return history.between(backfill.cursor + TICK, backfill.until, _LOOK)


def _birth(backfill: Backfill, version: int, moment: datetime) -> Birth:
    return Birth(
        backfill.job_id,
        version,
        moment,
        State.CLAIMED,
        origin=Origin.BACKFILL,
        backfill_id=backfill.id,
    )


def _written(backfill: Backfill, turn: Turn, now: datetime) -> int:
    """Write the runs and how far the backfill has come; nothing where nothing has changed."""
    with connection.cursor() as cursor:
        filled = snapshots.of_births(cursor, turn.births)
        written = insert.births(cursor, turn.births, now, snapshots=filled)
    changes: dict[str, Any] = {
        "cursor": turn.cursor,
        "made": backfill.made + written,
        "passed": backfill.passed + turn.passed + len(turn.births) - written,
        "reason": turn.waits,
    }
    if any(getattr(backfill, name) != value for name, value in changes.items()):
        Backfill.objects.filter(id=backfill.id).update(**changes)
    if written:
        log.info("backfill.advanced", **_told(backfill), runs=written)
    return len(turn.births) + turn.passed


def _end(backfill: Backfill, state: Progress, reason: str) -> None:
    Backfill.objects.filter(id=backfill.id).update(state=state, reason=reason, finished_at=Now())
    backfill.refresh_from_db()
    log.info(f"backfill.{state}", **_told(backfill), made=backfill.made, reason=reason)


def _take_back(backfill: Backfill) -> None:
    """Skip the runs that no worker has started. Not cancelled: a moment that was never carried
    out stays free to be run."""
    unstarted = Run.objects.filter(backfill=backfill, attempt=0, state__in=UNDER_WAY)
    for run_id in unstarted.order_by("id").values_list("id", flat=True):
        transitions.move(run_id, State.SKIPPED, token=0, skipped_count=1, reason=TAKEN_BACK)


def _told(backfill: Backfill) -> dict[str, str]:
    return {"backfill": str(backfill.id), "job": str(backfill.job_id)}
