"""A beat locks due rows, writes their runs and moves the rows on: one short transaction.

Set-based from end to end: at most eight statements a batch, eleven under a hold, whatever its size
(one more for calendars that this process has never read; up to four where moments were not fired,
or not in time, to tell of them). `SKIP LOCKED` keeps replicas out of each other's way; the unique
index on (job, moment) is the last line against a double; a row that cannot be worked out pauses its
own job and holds up no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import connection, transaction

from jobs.calendars import kept as kept_calendars
from jobs.schedules import local_times, zones
from jobs.schedules.catch_up import Fates, Policy, fates, under_hold
from jobs.schedules.timeline import Timeline, Version
from runs import allowance, claim_rows, insert, placing, snapshots
from runs.birth import Birth
from runs.channels import outbox
from runs.channels.messages import Kind
from runs.faults import fault
from runs.holds import holding
from runs.states import UNDER_WAY, State

BATCH = 500
MOST_RUNS = 5_000  # in one transaction, when many jobs catch up at once
_ONE_OFF_HAS_NO_WINDOW = None

log = structlog.get_logger("onebeat.claim")


@dataclass(frozen=True)
class Claimed:
    """What one batch did. `full`: there may be more."""

    jobs: int = 0
    runs: int = 0
    full: bool = False


def due_jobs(
    now: datetime,
    *,
    shards: Sequence[int],
    above: datetime,
    zone_data: Sequence[str] | None = None,
) -> Claimed:
    """Claim the jobs due at `now` (the database's clock), oldest first, at most a batch.

    `shards`: those of this beat; what is overdue by more than a second is anyone's. `above`: the
    lower bound of the scan. `zone_data`: see `zone_data.claimable`; whatever it says, a moment at
    local time that other zone data worked out is left. Raises the database's errors; nothing is
    half done then.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        due = claim_rows.lock_due(
            cursor, now, shards=shards, above=above, limit=BATCH, zone_data=zone_data
        )
        if not due:
            return Claimed()
        fault("claim.selected")
        there = claim_rows.read_jobs(cursor, due)
        ours = [job for job in there if _is_ours(job)]
        births, moved, stopped = _settle_all(cursor, ours, due, now)
        births, runs = _write(cursor, births, {job.id: job for job in ours}, now)
        moved |= dict.fromkeys(due.keys() - {job.id for job in there})
        counted = {job.id: job for job in ours if job.has_allowance and job.id in moved}
        moved |= dict.fromkeys(allowance.spend(cursor, counted, births, now))
        claim_rows.move(cursor, list(moved.items()))
        _tell(births, now)
        fault("claim.before_commit")
    fault("claim.commit_unknown")
    if len(births) != runs:
        log.warning("claim.moment_had_a_run", births=len(births), runs=runs)
    log.info("claim.batch", jobs=len(moved), runs=runs, left=len(there) - len(ours))
    _log_not_fired(births)
    fault("claim.after_commit")
    return Claimed(len(moved), runs, full=stopped or (len(due) == BATCH and bool(moved)))


def _settle_all(
    cursor: Any, jobs: Sequence[claim_rows.DueJob], due: Mapping[UUID, datetime], now: datetime
) -> tuple[list[Birth], dict[UUID, datetime | None], bool]:
    """The births of the jobs, where their due rows go, and whether it stopped for their number."""
    births: list[Birth] = []
    moved: dict[UUID, datetime | None] = {}
    kept_calendars.read(job.calendar_use for job in jobs if job.calendar_use)
    for job in jobs:
        try:
            born, onward = _settle_due(cursor, job, due[job.id], now)
        except Exception as error:
            _give_up(cursor, job.id, error)
            continue
        births += allowance.limited(job, born) if job.has_allowance else born
        moved[job.id] = onward
        if len(births) >= MOST_RUNS:
            return births, moved, True
    return births, moved, False


def _write(
    cursor: Any, births: list[Birth], jobs: Mapping[UUID, claim_rows.DueJob], now: datetime
) -> tuple[list[Birth], int]:
    """The births, placed and stored, and how many became runs."""
    rules = {job.id: rule for job in jobs.values() if (rule := job.rule)}
    held = {job.id: (job.hold, _policy(job)) for job in jobs.values() if job.hold is not None}
    holding.give_way(cursor, holding.surplus(births, held), now)
    births = placing.placed(cursor, births, rules, now)
    to_fill = [birth for birth in births if jobs[birth.job_id].fills(birth.version)]
    filled = snapshots.of_births(cursor, to_fill)
    local = [birth for birth in births if jobs[birth.job_id].zone_data]
    offsets = {birth.id: ahead for birth in local if (ahead := _offset(jobs, birth)) is not None}
    return births, insert.births(cursor, births, now, snapshots=filled, offsets=offsets)


def _is_ours(job: claim_rows.DueJob) -> bool:
    """Whether its next moment comes from our zone data, and no beat has newer ones. Asked under
    the lock of the due row: a newer beat works it out anew under the same lock."""
    if not job.zone_data:
        return True
    ours = zones.version()
    newest = zones.rank(job.newest_zone_data)
    return job.zone_data == ours and newest <= zones.rank(ours)


def _offset(jobs: Mapping[UUID, claim_rows.DueJob], birth: Birth) -> int | None:
    job = jobs[birth.job_id]
    if birth.version != job.version:  # what its zone was then is not looked up
        return None
    return local_times.offset_of(
        kept_calendars.plan(job.plan).schedules, birth.skipped_until or birth.due_at
    )


def _tell(births: Sequence[Birth], now: datetime) -> None:
    """Messages to those who want to know of what was not fired, or not in time. A batch that is
    fired as it falls due costs nothing here."""
    missed = [birth.id for birth in births if birth.missed]
    dropped = [
        birth.id for birth in births if birth.state is State.SKIPPED and birth.id not in {*missed}
    ]
    outbox.of_runs(missed, skipped_as=Kind.MISSED)
    outbox.of_runs(dropped)
    if any(birth.due_at < now - _ON_TIME for birth in births if birth.state in UNDER_WAY):
        outbox.late()


def _log_not_fired(births: Sequence[Birth]) -> None:
    """An event for each record of moments that were not fired."""
    for birth in births:
        facts = {"run": str(birth.id), "job": str(birth.job_id), "moment": str(birth.due_at)}
        if birth.state is State.SKIPPED:
            until, moments = str(birth.skipped_until), birth.skipped_count
            log.warning("run.skipped", until=until, moments=moments, why=birth.reason, **facts)
        elif birth.state is State.REVIEW:
            log.warning("run.missed", why=birth.reason, **facts)


def _settle_due(
    cursor: Any, job: claim_rows.DueJob, due: datetime, now: datetime
) -> tuple[list[Birth], datetime | None]:
    """The births of a due row and where the row goes next (None: nowhere)."""
    plan = kept_calendars.plan(job.plan)
    if job.paused or job.version_began_at >= due:
        with transaction.atomic():  # a savepoint: what fails here fails for this job alone
            return _by_history(cursor, job, due, now)
    onward = plan.next(due)
    if job.hold is None and due > now - _ON_TIME and (onward is None or onward > now):
        return [_fire(job, job.version, due)], onward
    line = Timeline([Version(job.version, job.version_began_at, plan)])
    return _births(job, line, due, now), plan.next(now)


_ON_TIME = timedelta(seconds=10)


def _by_history(
    cursor: Any, job: claim_rows.DueJob, due: datetime, now: datetime
) -> tuple[list[Birth], datetime | None]:
    """An overdue row of a job that was edited or paused since: each moment goes by the version
    in force at that moment. The end of a pause is written as a version first."""
    if job.paused and job.paused_until is not None and job.paused_until <= now:
        job = claim_rows.end_pause(cursor, job)
    versions = claim_rows.versions_since(cursor, job.id, due)
    line = Timeline(
        [
            Version(number, began_at, None if idle else kept_calendars.plan(text))
            for number, began_at, idle, text in versions
        ]
    )
    births = _births(job, line, due, now)
    if job.paused:
        return births, job.paused_until
    return births, kept_calendars.plan(job.plan).next(now)


def _births(job: claim_rows.DueJob, line: Timeline, due: datetime, now: datetime) -> list[Birth]:
    policy = _policy(job)
    if job.hold is None:
        found = fates(line, due=due, now=now, policy=policy)
    else:
        waiting = job.hold.waiting
        found = under_hold(line, due=due, now=now, policy=policy, waiting=waiting)
    return _each(job, line, found)


def _each(job: claim_rows.DueJob, line: Timeline, found: Fates) -> list[Birth]:
    fired = [_fire(job, line.version_at(at), at) for at in found.fire]
    asked = [Birth.ask(job.id, line.version_at(at), at) for at in found.ask]
    skipped = [Birth.skip(job.id, line.version_at(row.last), row) for row in found.skipped]
    return [*skipped, *asked, *fired]


def _fire(job: claim_rows.DueJob, version: int, due: datetime) -> Birth:
    later = due + timedelta(seconds=job.start_delay) if job.start_delay else None
    birth = Birth.fire(job.id, version, due, idempotent=job.idempotent, not_before=later)
    return birth if job.hold is None else birth.under(job.hold)


def _policy(job: claim_rows.DueJob) -> Policy:
    one_off = kept_calendars.plan(job.plan).one_off
    window = _ONE_OFF_HAS_NO_WINDOW if one_off else timedelta(seconds=job.catch_up_window)
    return Policy(job.catch_up_policy, window, job.catch_up_limit)


def _give_up(cursor: Any, job_id: UUID, error: Exception) -> None:
    log.exception("claim.schedule_error", job=str(job_id))
    claim_rows.pause_broken(cursor, job_id, f"The schedule could not be worked out: {error}")
