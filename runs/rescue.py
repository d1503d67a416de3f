"""Find the runs that nobody works on: messages that were lost, workers that fell silent.

Every beat looks; SKIP LOCKED keeps them apart, and each move is guarded like any other.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection, transaction

from jobs import clock
from jobs.schedules.instants import canonical_instant
from runs import release, settle
from runs.channels import outbox
from runs.channels.messages import Kind
from runs.enqueue import mark_sent, publish
from runs.faults import fault
from runs.publishing.publisher import BrokerAway, Publisher

BATCH = 500
OVERDUE_ALARM_TICKS = 10
ABREAST = timedelta(seconds=5)  # batches of several beats may reach the broker in any order
NOBODY_STARTS_AFTER = timedelta(seconds=60)

_told: dict[str, datetime] = {}  # when this process raised the alarm for a queue: once a minute

log = structlog.get_logger("onebeat.rescue")


def silent_workers() -> int:
    """Settle every RUNNING run whose lease is over; how many went on."""
    settled = 0
    while silent := settle.silent_runs(BATCH):
        # One by one: the lock of a run's job comes before that of the run.
        moved = [run for run in silent if settle.lost(*run)]
        settled += len(moved)
        for run_id, attempt in moved:
            log.warning("rescue.worker_lost", run=str(run_id), attempt=attempt)
        if not moved or len(silent) < BATCH:  # other beats have the rest
            break
    return settled


def missed_wake_ups() -> int:
    """Let go the waiting runs whose turn has come unnoticed; how many."""
    return release.missed_wake_ups()


_LOCK_UNSTARTED = """
select id, queue, sent_at from runs_run
 where state = 'ENQUEUED' and send_at <= %(now)s
 order by send_at limit %(limit)s
   for update skip locked
"""
# How far each queue has been worked through: the newest sending among the runs that were
# started last. Read from the newest attempts alone, never from the whole history. A run that was
# sent more often than it was started says nothing: the message that started it may be an older
# one than the last, and to believe it would send all that wait again, over and over.
_WORKED_THROUGH = """
select r.queue, max(r.sent_at) filter (where r.sends <= latest.number), max(r.started_at)
  from (select run_id, number from runs_attempt order by id desc limit 200) latest
  join runs_run r on r.id = latest.run_id
 where r.sent_at is not null
 group by r.queue
"""
_LOOK_LATER = """
update runs_run set send_at = clock_timestamp() + %(resend)s * interval '1 second'
 where id = any(%(ids)s) and state = 'ENQUEUED'
"""


def lost_messages(now: datetime, publisher: Publisher) -> int:
    """Send runs again whose message is gone; how many were.

    A long queue is no loss: a message counts as lost when younger ones of its queue were
    started already, or when the broker says that it holds none.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LOCK_UNSTARTED, {"now": now, "limit": BATCH})
        rows = cursor.fetchall()
        if not rows:
            return 0
        gone = _without_message(cursor, rows, publisher, now)
        confirmed, away = publish(publisher, [(run_id, queue) for run_id, queue, _ in gone])
        fault("rescue.before_mark")
        mark_sent(cursor, confirmed)
        waiting = {run_id for run_id, _, _ in rows} - set(confirmed)
        cursor.execute(_LOOK_LATER, {"ids": list(waiting), "resend": settings.RESEND})
    if confirmed or away:
        log.warning("rescue.sent_again", runs=len(confirmed), waiting=len(waiting), why=away)
    return len(confirmed)


_Unstarted = tuple[UUID, str, datetime]


def _without_message(
    cursor: Any, rows: list[_Unstarted], publisher: Publisher, now: datetime
) -> list[_Unstarted]:
    cursor.execute(_WORKED_THROUGH)
    latest = {queue: (sent, started) for queue, sent, started in cursor.fetchall()}
    worked_through = {queue: sent for queue, (sent, _) in latest.items() if sent}
    _alarm_if_nobody_starts(rows, {queue: started for queue, (_, started) in latest.items()}, now)
    empty = {queue: _is_empty(publisher, queue) for queue in {row[1] for row in rows}}
    return [
        row
        for row in rows
        if empty[row[1]] or (row[1] in worked_through and row[2] < worked_through[row[1]] - ABREAST)
    ]


def _alarm_if_nobody_starts(
    rows: list[_Unstarted], last_start: dict[str, datetime | None], now: datetime
) -> None:
    """Say so when runs of a queue have waited long and none of it was started meanwhile: its
    workers are gone, or hang."""
    for queue in {queue for _, queue, _ in rows}:
        oldest = min(sent for _, of, sent in rows if of == queue)
        since = max(oldest, last_start.get(queue) or oldest)
        if now - since > NOBODY_STARTS_AFTER < now - _told.get(queue, since):
            _told[queue] = now
            log.error("rescue.nobody_starts", queue=queue, since=str(since))
            said = f"Queue {queue}, since {canonical_instant(since)}."
            outbox.of_installation(Kind.UNSTARTED, f"{queue}:{since.isoformat()}", said)


def _is_empty(publisher: Publisher, queue: str) -> bool:
    try:
        return publisher.waiting(queue, within=2.0) == 0
    except BrokerAway:
        return False  # then nothing can be sent either


def given_up_messages(publisher: Publisher) -> int:
    """Raise the alarm for messages that the broker delivers no more; how many."""
    try:
        run_ids = publisher.given_up(within=2.0)
    except BrokerAway:
        return 0
    for run_id in run_ids:
        log.error("rescue.message_given_up", run=run_id)
        outbox.of_installation(Kind.GIVEN_UP, run_id, f"Its run: {run_id}.")
    return len(run_ids)


_LONG_OVERDUE = """
select count(*), min(at) from (
  select at from jobs_due where at < clock_timestamp() - %(ticks)s * interval '1 second'
   order by at limit 1000) overdue
"""


def alarm_for_overdue() -> int:
    """Say so when due rows lie unclaimed for ten ticks; how many (counted up to 1,000)."""
    with connection.cursor() as cursor:
        cursor.execute(_LONG_OVERDUE, {"ticks": OVERDUE_ALARM_TICKS})
        count, oldest = cursor.fetchone()
    if count:
        log.error("rescue.overdue", due=count, oldest=str(oldest))
        said = f"At least {count} moments, the oldest of {canonical_instant(oldest)}."
        outbox.of_installation(Kind.OVERDUE, f"{clock.now():%Y-%m-%dT%H}", said)
    return int(count)
